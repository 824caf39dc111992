"""The ablations (contract, section 6): six variants are six settings of the same switches, and nothing else.

The golden files show prompts, schemas and one scripted episode of all six side by side. A column has a mark
where the variant has the line; the switches that a line hangs on stand behind it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from difflib import SequenceMatcher
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipeline.errors import ConfigError
from pipeline.harness import Turn
from pipeline.harness.config import (
    ActionMode,
    ConclusionForm,
    HarnessConfig,
    Profile,
    SwitchesConfig,
    check,
)
from pipeline.harness.prompt import sent_schema, sent_tools, system_prompt
from pipeline.harness.schema import Schema
from pipeline.harness.state import State
from tests.harness.conftest import (
    OF_JUNE,
    SPAN,
    Opener,
    compute,
    final,
    golden,
    op,
    read,
    revise,
    search,
    upsert,
)
from tests.variants import VARIANTS, variant

SWITCHES = tuple(field.name for field in fields(SwitchesConfig))
ABLATIONS = [name for name in VARIANTS if name != "full"]
Setting = tuple[Any, ...]
Lines = tuple[str, ...]
Compared = Callable[..., Lines]

# What the contract's table says of each switch: the words of its subject, one of which every line of the
# prompt that it changes has; the sections of the prompt that it may change; and the paths of the schema.
TABLE: dict[str, tuple[str, tuple[str, ...], str]] = {
    "evidence_bank": (
        r"evidence|rests on",
        ("Role", "Protocol", "Operations"),
        r"operation(: |/(evidence|compute|final)\b)",
    ),
    "revise": (r'["`]revise["`]', ("Operations",), r"operation(: |/evidence\.revise\b)"),
    "conclusion": (
        r"conclusion|notes|claim|not yet reflected|may be left out",
        ("Role", "Protocol", "Strategy"),
        r"(conclusion|notes)\b",
    ),
    "guidance": (r"guide|gap", ("Strategy",), r"(?!)"),
}


def settings() -> list[Setting]:
    """Every setting of the switches that is a runtime, the variants' among them."""
    flags = (False, True)
    legal = []
    for setting in itertools.product(flags, flags, ConclusionForm, flags):
        try:
            check(HarnessConfig(switches=SwitchesConfig(*setting)))
        except ConfigError:
            continue
        legal.append(setting)
    return legal


def of(name: str) -> Setting:
    return tuple(getattr(VARIANTS[name], switch) for switch in SWITCHES)


def apart(one: Setting, other: Setting) -> tuple[str, ...]:
    """The switches in which two settings differ."""
    return tuple(s for s, a, b in zip(SWITCHES, one, other, strict=True) if a != b)


def steps() -> Iterator[tuple[str, Setting, Setting]]:
    """Yield all pairs of settings that one switch tells apart, with that switch."""
    for one, other in itertools.combinations(settings(), 2):
        if len(switches := apart(one, other)) == 1:
            yield switches[0], one, other


# --- Prompt and schema as lines that are compared


@cache
def prompt_lines(
    setting: Setting, mode: ActionMode = ActionMode.json_schema, profile: Profile = Profile.paper
) -> Lines:
    """The prompt's sentences, bullets and operations, each behind its section: `Protocol| One operation …`.

    The schema that the text mode repeats is left out: it is compared as schema.
    """
    config = HarnessConfig(switches=SwitchesConfig(*setting), profile=profile)
    config.action.mode = mode
    section, lines = "Role", list[str]()
    for block in re.split(r"\n{2,}", system_prompt(config)):
        if block.startswith("# "):
            section = block.removeprefix("# ")
        elif section == "Role":
            lines += [f"{section}| {sentence}" for sentence in re.split(r"(?<=\.) ", block)]
        elif block.startswith("- "):
            lines += [f"{section}| {bullet}" for bullet in block.removeprefix("- ").split("\n- ")]
        elif not section.startswith("JSON schema"):
            lines.append(f"{section}| {' ⏎ '.join(block.splitlines())}")
    return tuple(lines)


@cache
def schema_lines(
    setting: Setting, mode: ActionMode = ActionMode.json_schema, profile: Profile = Profile.paper
) -> Lines:
    """The schema's nodes, one a line: `operation/search/query: string, minLength 1`; `?` is not required."""
    schema = sent_schema(HarnessConfig(switches=SwitchesConfig(*setting), profile=profile))
    assert schema
    return tuple(_nodes(schema, "response", required=True))


def _nodes(node: Schema, path: str, *, required: bool) -> Iterator[str]:
    choices = node.get("anyOf", [node])
    forms = [choice for choice in choices if "properties" in choice]
    said = [_tag(choice) if len(forms) > 1 and choice in forms else _said(choice) for choice in choices]
    yield f"{path}{'' if required else '?'}: {' or '.join(said)}"
    for choice in choices:
        inner = path
        if len(forms) > 1 and choice in forms:
            inner = f"{path}/{_tag(choice)}"
            yield f"{inner}: {_said(choice)}"
        for name, each in choice.get("properties", {}).items():
            below = name if inner == "response" else f"{inner}/{name}"
            yield from _nodes(each, below, required=name in choice.get("required", ()))
        if "items" in choice:
            yield from _nodes(choice["items"], f"{inner}[]", required=True)


def _said(node: Schema) -> str:
    """A node without what stands in lines of its own, or behind a name as `?`."""
    own = {key: each for key, each in node.items() if key not in ("properties", "items", "required", "type")}
    closed = own.pop("additionalProperties", None) is False
    kind = "closed object" if closed else node.get("type")
    return ", ".join(filter(None, [kind, *(f"{key} {json.dumps(own[key])}" for key in sorted(own))]))


def _tag(form: Schema) -> str:
    """What tells a form from the others: `search`, `evidence.upsert`, `passage`."""
    name = form["properties"].get("name", {}).get("const")
    required = [key for key in form["required"] if key != "name"]
    if name != "evidence":
        return name or required[0]
    several = ".batch" if form["properties"].get("revise", {}).get("type") == "array" else ""
    return f"{name}.{required[0]}{several}"


def hunks(one: Lines, other: Lines) -> Iterator[tuple[str, str]]:
    """Yield what differs, line by line: before and after, one of them empty where nothing is in its place."""
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from itertools.zip_longest(one[a:b], other[c:d], fillvalue="")


@cache
def hung_on(lines: Compared, *how: Any) -> Mapping[str, frozenset[str]]:
    """For each switch, the lines that come or go when it alone is turned, whatever the others are."""
    found: dict[str, set[str]] = {switch: set() for switch in SWITCHES}
    for switch, one, other in steps():
        found[switch] |= set(lines(one, *how)) ^ set(lines(other, *how))
    return {switch: frozenset(changed) for switch, changed in found.items()}


# --- They differ where the table says


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("mode", ActionMode)
def test_6_a_switch_changes_only_what_its_column_speaks_of_in_the_prompt(
    mode: ActionMode, profile: Profile
) -> None:
    for switch, one, other in steps():
        subject, sections, _ = TABLE[switch]
        for before, after in hunks(prompt_lines(one, mode, profile), prompt_lines(other, mode, profile)):
            changed = f"{switch} changes {before!r} to {after!r}"
            assert (before or after).partition("|")[0] in sections, changed
            assert re.search(subject, f"{before} {after}", re.IGNORECASE), changed


@pytest.mark.parametrize("profile", Profile)
def test_6_a_switch_changes_only_its_own_paths_of_the_schema(profile: Profile) -> None:
    for switch, lines in hung_on(schema_lines, ActionMode.json_schema, profile).items():
        assert [line for line in lines if not re.match(TABLE[switch][2], line)] == []


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("name", ABLATIONS)
def test_6_a_variant_differs_from_full_by_its_switches_alone(name: str, profile: Profile) -> None:
    compared: list[tuple[Compared, ActionMode]] = [(prompt_lines, mode) for mode in ActionMode]
    for lines, mode in [*compared, (schema_lines, ActionMode.json_schema)]:
        changes = hung_on(lines, mode, profile)
        explained = {line for switch in apart(of("full"), of(name)) for line in changes[switch]}
        differing = set(lines(of("full"), mode, profile)) ^ set(lines(of(name), mode, profile))
        assert differing <= explained
        assert differing or (lines, name) == (schema_lines, "no_guidance")  # that is of the prompt alone


def test_6_the_lines_tell_all_of_a_schema() -> None:
    schemas = [sent_schema(HarnessConfig(switches=SwitchesConfig(*setting))) for setting in settings()]
    lines = [schema_lines(setting) for setting in settings()]
    for one, other in itertools.combinations(range(len(lines)), 2):
        assert (schemas[one] == schemas[other]) == (lines[one] == lines[other])


def test_6_the_variants_are_told_apart_by_their_switches() -> None:
    assert {name: apart(of("full"), of(name)) for name in ABLATIONS} == {
        "no_state": ("evidence_bank", "revise", "conclusion", "guidance"),
        "no_coevolution": ("conclusion", "guidance"),
        "append_only": ("revise",),
        "no_guidance": ("guidance",),
        "notes": ("conclusion",),
    }


# --- Side by side


def side_by_side(lines: Compared) -> str:
    """All six in one list: a mark for each variant that has a line, and the switches that it hangs on."""
    columns = {name: lines(of(name)) for name in VARIANTS}
    order: list[str] = []
    for column in columns.values():
        merged: list[str] = []
        for _, a, b, c, d in SequenceMatcher(None, order, column, autojunk=False).get_opcodes():
            merged += order[a:b] + [line for line in column[c:d] if line not in order]
        order = merged
    sections = list(dict.fromkeys(line.partition("|")[0] for line in order if "| " in line))
    if sections:
        order.sort(key=lambda line: sections.index(line.partition("|")[0]))
    rows = [f" {'│ ' * at}┌ {name}" for at, name in enumerate(VARIANTS)]
    for line in order:
        marks = " ".join("x" if line in column else "·" for column in columns.values())
        on = [switch for switch in SWITCHES if line in hung_on(lines)[switch]]
        rows.append(f" {marks}  {line}{f'  ← {chr(44).join(on)}' if on else ''}")
    return "\n".join(["~~~text", *rows, "~~~", ""])


def test_6_the_prompts_side_by_side_are_as_reviewed() -> None:
    golden("variants_prompt.md", side_by_side(prompt_lines))


def test_6_the_schemas_side_by_side_are_as_reviewed() -> None:
    golden("variants_schema.md", side_by_side(schema_lines))


# --- What a variant lacks

OPERATIONS: dict[str, dict[str, Any]] = {
    "search": search(),
    "read": read(),
    "upsert": upsert("a"),
    "revise": revise("e1", "b"),
    "revise to nothing": revise("e1"),
    "compute": compute("1 + 1"),
    "final": final("x"),
}
LACKS = {
    "no_state": {"upsert", "revise", "revise to nothing"},
    "append_only": {"revise", "revise to nothing"},
}
UPDATES: dict[str, Any] = {"conclusion": {"unresolved": ["which month?"]}, "notes": "which month?"}
HAS = {"no_state": None, "no_coevolution": None, "notes": "notes"}  # else: conclusion
SILENT_ON = {  # of the words that full has
    "no_state": ("upsert", '"revise"', "conclusion", "gap", "evidence", "e1"),
    "no_coevolution": ("conclusion", "gap", "refute", "hypothes"),
    "append_only": ('"revise"', "replacement", "Replaces"),
    "no_guidance": ("gap", "refute", "pursue"),
    "notes": ('"established"',),
}


def told(name: str, mode: ActionMode) -> str:
    """All that begins a variant's prompts: the system message, and the schema or the tools."""
    config = variant(name)
    config.action.mode = mode
    return system_prompt(config) + json.dumps([sent_schema(config), sent_tools(config)])


@pytest.mark.parametrize("mode", ActionMode)
@pytest.mark.parametrize("name", ABLATIONS)
def test_6_in_every_mode_a_variant_is_silent_on_what_it_lacks(name: str, mode: ActionMode) -> None:
    full, ablated = told("full", mode), told(name, mode)
    assert [word for word in SILENT_ON[name] if word not in full or word in ablated] == []


@pytest.mark.parametrize("name", VARIANTS)
def test_6_a_lacking_operation_is_in_neither_schema_nor_prompt_and_not_available(
    episode: Opener, name: str
) -> None:
    schema = Draft202012Validator(sent_schema(variant(name)))
    for called, sent in OPERATIONS.items():
        lacking = called in LACKS.get(name, ())
        if name == "no_state":
            sent = without_bank(sent)
        assert schema.is_valid(sent) == (not lacking)
        for mode in ActionMode:
            assert (f'"{called.partition(" ")[0]}"' in told(name, mode)) == (not lacking)
        opened = episode(name)
        opened.send(read())
        if lacking:
            assert opened.refused(sent) == "operation_not_available"
        else:
            error = opened.send(sent).error
            assert error is None or error.code == "unknown_evidence"


def without_bank(sent: dict[str, Any]) -> dict[str, Any]:
    """A compute or final as it is without an EvidenceBank: on sources."""
    operation = dict(sent["operation"])
    if operation.pop("evidence", None):
        operation["sources"] = ["s1"]
    return {**sent, "operation": operation}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("field", UPDATES)
def test_6_a_lacking_update_is_in_neither_schema_nor_prompt_and_invalid(
    episode: Opener, name: str, field: str
) -> None:
    has = HAS.get(name, "conclusion") == field
    sent = {**search(), field: UPDATES[field]}
    assert Draft202012Validator(sent_schema(variant(name))).is_valid(sent) == has
    for mode in ActionMode:
        assert (f"`{field}`" in told(name, mode)) == (f'"{field}"' in told(name, mode)) == has
    opened = episode(name)
    if has:
        assert opened.send(sent).valid
    else:
        assert opened.refused(sent) == "invalid_arguments"


# --- One script, six variants

GAP = {"unresolved": ["June?"]}
CLAIM = {"established": [{"claim": "May was 4,100", "evidence": ["e1"]}]}
SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("search", search("May 1942 expenditures")),
    ("read s1 and s2", read(SPAN, OF_JUNE)),
    ("search, conclusion", search("June", conclusion=GAP)),
    ("search, notes", search("June", notes="June?")),
    ("upsert", upsert("May was 4,100")),
    ("upsert of nothing, conclusion", upsert("June was 4,531", sources=("s9",), conclusion=GAP)),
    ("upsert of nothing, notes", upsert("June was 4,531", sources=("s9",), notes="May known")),
    ("compute on e1", compute("4100 / 2")),
    ("compute on s1", op("compute", expression="4100 / 2", sources=["s1"])),
    ("search, claim on e1", search("May", conclusion=CLAIM)),
    ("revise e1", revise("e1", "May was 4,400", sources=("s2",))),
    ("search, claim on e1", search("May", conclusion=CLAIM)),
    ("compute on e1", compute("4100 / 2")),
    ("no operation", {"answer": "4,100"}),
    ("final on e1", final("4,100")),
    ("final on s2", op("final", answer="4,400", sources=["s2"])),
    ("final on e2", final("4,400", ("e2",))),
]
# What a reply has to do with for its outcome to differ from that in `full`.
TOUCHED = {
    "no_state": r"upsert|revise|conclusion|claim|on [es]\d",
    "no_coevolution": r"conclusion|claim",
    "append_only": r"revise|on e1",
    "no_guidance": r"(?!)",
    "notes": r"conclusion|claim|notes",
}


def outcome(turn: Turn) -> str:
    """What became of a reply: an error's code, or `ok`, with what became of the update beside it."""
    if turn.error:
        return turn.error.code
    events = [event["event"] for event in turn.log]
    became = [word for word in ("merged", "deferred") if f"conclusion_{word}" in events]
    return ", ".join(["ok", *became, *(["not merged"] if turn.conclusion_error else [])])


def played(episode: Opener, name: str) -> tuple[list[State], list[Turn]]:
    """The script in a variant up to its accepted answer: the state before each turn, and the turn."""
    opened = episode(name)
    states, turns = list[State](), list[Turn]()
    for _, reply in SCRIPT:
        if opened.state.status == "running":
            states.append(opened.state)
            turns.append(opened.send(reply))
    return states, turns


def test_6_one_script_in_all_variants_goes_as_reviewed(episode: Opener) -> None:
    rows = [f"| turn | sent | {' | '.join(VARIANTS)} |", f"|{' --- |' * (2 + len(VARIANTS))}"]
    outcomes = {name: list(map(outcome, played(episode, name)[1])) for name in VARIANTS}
    for at, (sent, _) in enumerate(SCRIPT):
        cells = [column[at] if at < len(column) else "–" for column in outcomes.values()]
        rows.append(f"| {at + 1} | {sent} | {' | '.join(cells)} |")
    golden("variants_episode.md", "\n".join(rows) + "\n")


@pytest.mark.parametrize("name", ABLATIONS)
def test_6_outcomes_differ_only_where_a_reply_has_to_do_with_what_is_lacking(
    episode: Opener, name: str
) -> None:
    pairs = zip(SCRIPT, played(episode, "full")[1], played(episode, name)[1], strict=False)
    differing = [sent for (sent, _), full, ablated in pairs if outcome(full) != outcome(ablated)]
    assert [sent for sent in differing if not re.search(TOUCHED[name], sent)] == []
    assert differing or name == "no_guidance"


@pytest.mark.parametrize(("name", "least"), [
    ("no_state", 2), ("no_coevolution", 6), ("append_only", 7), ("no_guidance", 10), ("notes", 6),
])  # fmt: skip
def test_6_an_operation_that_both_have_does_the_same_from_the_same_state(
    episode: Opener, name: str, least: int
) -> None:
    def facts(state: State) -> tuple[Any, ...]:
        return state.evidence, state.sources, state.computes, state.accepted

    compared = 0
    full, ablated = played(episode, "full"), played(episode, name)
    for before, turn, other_before, other in zip(*full, *ablated, strict=False):
        same = outcome(turn).partition(",")[0] == outcome(other).partition(",")[0] == "ok"
        if same and facts(before) == facts(other_before):
            compared += 1
            assert turn.result == other.result
            assert facts(turn.state) == facts(other.state)
            beside = ("conclusion", "claim")  # an update's line and events are of what the variants differ in
            assert [e for e in turn.log if not e["event"].startswith(beside)] == (
                [e for e in other.log if not e["event"].startswith(beside)]
            )
    assert compared >= least


def test_6_guidance_changes_the_prompt_alone(episode: Opener) -> None:
    assert played(episode, "no_guidance") == played(episode, "full")
