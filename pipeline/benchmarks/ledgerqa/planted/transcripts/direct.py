"""One prompt and its reply: the passages that were read, and others, then the question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.benchmarks.ledgerqa.planted.steps import Note, Range, Revise, Search, Trajectory
from pipeline.benchmarks.ledgerqa.planted.tables import Tables


def transcript(trajectory: Trajectory, tables: Tables, episode: str) -> Iterator[dict[str, Any]]:
    """Yield the user's message and the assistant's."""
    passages = "\n\n".join(
        f"[{number}] {where.document}, characters {where.start} to {where.end}\n{tables.text(where)}"
        for number, where in enumerate(shown(trajectory, tables), 1)
    )
    question = f"Passages from the collection follow.\n\n{passages}\n\nQuestion: {trajectory.question}"
    yield {"role": "user", "content": f"{question}\nEnd with a line `ANSWER:` and the answer."}
    yield {
        "role": "assistant",
        "content": "\n".join([*_said(trajectory), f"ANSWER: {trajectory.answer.text}"]),
    }


def shown(trajectory: Trajectory, tables: Tables) -> list[Range]:
    """The passages of the prompt, by document and place: what was read, and their issues' contents."""
    read = sorted(trajectory.read)
    beside = {opening for where in read if (opening := _contents(where.document, tables))}
    return sorted({*read, *beside})


def _contents(document: str, tables: Tables) -> Range | None:
    """The opening of an issue, if it has no figures."""
    first = tables.corpus.passage(f"{document}#0")
    if first is None:
        return None
    opening = Range(document, first.start, first.end)
    text = tables.text(opening)
    return opening if "\nContents\n" in text and "|" not in text else None


def _said(trajectory: Trajectory) -> Iterator[str]:
    """What is said of the figures, without what was done to find them."""
    for step in trajectory.steps:
        match step.act:
            case Note(statements):
                yield from (statement.text for statement in statements)
            case Revise(_, new):
                yield step.thought
                yield new.text
            case Search():
                continue
    yield from (step.thought for step in trajectory.steps[-2:] if not isinstance(step.act, Note | Revise))
