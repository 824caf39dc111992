"""What no table answers: the policy ends in the form asked for, with what comes nearest, told as a guess."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from pipeline.backbone.reference.nearest import Statement, choose, nearest, options, statements
from pipeline.backbone.reference.observation import Served
from pipeline.backbone.reference.reading import stitch
from pipeline.corpus import Corpus
from pipeline.harness.config import Profile
from pipeline.protocols import AnswerFormat, TaskView
from tests.backbone.episodes import corpus_of
from tests.backbone.reference.episodes import episode

LIGHTHOUSE = "The keeper painted the lighthouse in green after the storm of 1931."
OTHERS = "The harbour was dredged for 40 boats. No ship was lost. Gulls nested on the pier."
QUESTION = "In which colour did the keeper paint the lighthouse?"
CHOICES = f"{QUESTION}\n\n(A) White and red\n(B) Green\n(C) It was dredged\n(D) None was painted"


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    texts = {"harbour.txt": OTHERS, "light.txt": f"Annals.\n\n{LIGHTHOUSE} It rained.\n"}
    return corpus_of(texts, tmp_path_factory.mktemp("harbour"))


VARIANTS = ["full", "append_only", "no_state", "no_coevolution", "no_guidance", "notes"]


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("variant", VARIANTS)
async def test_a_letter_is_the_option_that_the_documents_support(
    harbour: Corpus, variant: str, profile: Profile
) -> None:
    view = TaskView("letter", CHOICES, AnswerFormat("letter"))
    outcome, backbone = await episode(view, harbour, variant, profile=profile)
    assert (outcome.status, outcome.answer) == ("answered", "B")
    assert len(backbone.replies) <= 5


@pytest.mark.parametrize("variant", VARIANTS)
async def test_a_free_text_is_what_the_documents_say_nearest_to_it(harbour: Corpus, variant: str) -> None:
    view = TaskView("text", QUESTION, AnswerFormat("text"))
    outcome, backbone = await episode(view, harbour, variant)
    assert outcome.status == "answered" and outcome.answer
    assert outcome.answer.startswith(LIGHTHOUSE)
    assert len(backbone.replies) <= 4


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", [None, 3])
async def test_a_figure_that_is_not_found_is_guessed_in_the_form_asked_for(
    harbour: Corpus, variant: str, profile: Profile, length: int | None
) -> None:
    form: Literal["list", "number"] = "list" if length else "number"
    view = TaskView("figure", "How many boats fit the harbour?", AnswerFormat(form, 2, length=length))
    outcome, _ = await episode(view, harbour, variant, profile=profile)
    assert outcome.status == "answered"
    assert outcome.answer == ("[40, 40, 40]" if length else "40.00")


async def test_a_guess_is_told_as_a_hypothesis_with_its_evidence(harbour: Corpus) -> None:
    view = TaskView("text", QUESTION, AnswerFormat("text"))
    _, backbone = await episode(view, harbour)
    *_, admission, final = (json.loads(reply) for reply in backbone.replies)
    statement = admission["operation"]["upsert"][0]["statement"]
    assert statement == f"Nearest to the question, light.txt says: {LIGHTHOUSE}"
    assert final["conclusion"]["established"] == []
    assert {"claim": LIGHTHOUSE, "evidence": ["e1"]} in final["conclusion"]["hypotheses"]
    assert "e1" in final["operation"]["evidence"]


async def test_without_any_hit_the_form_is_kept(harbour: Corpus) -> None:
    view = TaskView("none", "Zyzzyva qwfp?\n(A) Xylem\n(B) Qoph", AnswerFormat("letter"))
    outcome, _ = await episode(view, harbour)
    assert (outcome.status, outcome.answer) == ("answered", "A")


def test_options_are_read_in_the_usual_spellings() -> None:
    for spelling in ("({}) ", "{}. ", "{}) ", "{}: "):
        lines = [spelling.format(letter) + text for letter, text in zip("ABCD", "wxyz", strict=True)]
        assert options("Which?\n" + "\n".join(lines)) == dict(zip("ABCD", "wxyz", strict=True))
    assert options("What is plan B. And plan C?") == {}


def test_an_option_of_words_that_all_share_is_not_preferred() -> None:
    question = "Who won?\n(A) The Reds of Kent\n(B) The Blues of Kent"
    said = [Statement("The Blues won in Kent.", "a", "s1"), Statement("Kent is of the south.", "a", "s1")]
    assert choose(question, said) == ("B", said[0])


def test_statements_are_sentences_with_their_sources() -> None:
    texts = stitch([Served("s1", "a", 0, 40, "It cost $1.5 million. Nobody paid.\nTrue.\n", None)])
    found = statements(texts)
    assert [(each.text, each.source) for each in found] == [
        ("It cost $1.5 million.", "s1"),
        ("Nobody paid.", "s1"),
    ]
    assert found[0].numbers == ("1.5",)
    assert nearest("Who paid?", found)[0].text == "Nobody paid."
