"""A REPL over the documents: messages with code, their outputs, and an answer in one of the two protocols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.benchmarks.ledgerqa.planted.steps import Answer, Compute, Read, Search, Trajectory
from pipeline.benchmarks.ledgerqa.planted.tables import Tables
from pipeline.benchmarks.ledgerqa.planted.transcripts import telling

CUT = 20_000
"""Characters of a block's output that come back."""

TURNS = 30
_SYSTEM = (
    "You have a Python REPL. `context` is a sequence of documents, each with `id` and `text`. Code in "
    "```repl blocks is run, and what it prints comes back. When you know the answer, set "
    'answer["content"] to it and answer["ready"] to True, or write FINAL(answer).'
)


def transcript(trajectory: Trajectory, tables: Tables, episode: str) -> Iterator[dict[str, Any]]:
    """Yield the messages. The episode's id decides which protocol ends it."""
    yield {"role": "system", "content": _SYSTEM}
    corpus = tables.corpus
    total = sum(corpus.length(number) for number in range(len(corpus.document_ids)))
    about = f"The context is a list of {len(corpus.document_ids)} documents, {total} characters in all."
    yield {"role": "user", "content": f"Answer the following: {trajectory.question}\n\n{about}"}
    for turn, (said, act) in enumerate(telling.narrated(trajectory), 1):
        yield {"role": "user", "content": f"Turn {turn} of {TURNS}. What is your next step?"}
        if isinstance(act, Answer):
            yield {"role": "assistant", "content": f"{said}\n\n{_ended(act.text, int(episode, 16) % 2 == 0)}"}
            return
        code, output = _block(act, tables)
        yield {"role": "assistant", "content": f"{said}\n\n```repl\n{code}\n```"}
        yield {"role": "user", "content": f"REPL output:\n{output[:CUT]}"}


def _ended(text: str, by_variable: bool) -> str:
    if not by_variable:
        return f"FINAL({text})"
    return f'```repl\nanswer["content"] = {text!r}\nanswer["ready"] = True\n```'


def _block(act: Search | Read | Compute, tables: Tables) -> tuple[str, str]:
    """Code for an act, and what it prints."""
    match act:
        case Search(query, documents, _):
            return _find(telling.title_of(query, tables, documents), documents, tables)
        case Read(ranges):
            code = ["documents = {d.id: d.text for d in context}"]
            code += [f"print(documents[{where.document!r}][{where.start}:{where.end}])" for where in ranges]
            return "\n".join(code), "".join(f"{tables.text(where)}\n" for where in ranges)
        case Compute(expression, _):
            code_line = f'import math, statistics\nprint(f"{{{telling.python(expression)}:.4f}}")'
            return code_line, f"{telling.value(expression)}\n"


def _find(title: str, documents: tuple[str, ...], tables: Tables) -> tuple[str, str]:
    """Where a title stands in the documents, or in how many of all it does."""
    if not documents:
        code = f"print([d.id for d in context if {title!r} in d.text][:{telling.NAMED}])"
        return code, f"{telling.holding(title, tables)!r}\n"
    code = (
        "import re\nfor d in context:\n"
        f"    if d.id in {documents!r}:\n"
        f"        print(d.id, [m.start() for m in re.finditer(re.escape({title!r}), d.text)])"
    )
    output = ""
    for document in sorted(documents):
        output += f"{document} {_starts(title, telling.whole(document, tables))!r}\n"
    return code, output


def _starts(title: str, text: str) -> list[int]:
    found = []
    at = text.find(title)
    while at >= 0:
        found.append(at)
        at = text.find(title, at + len(title))
    return found
