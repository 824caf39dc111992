"""What several transcript forms share: narration, shell commands and their outputs, Python to compute with.

An output is what the command prints when it is run on the documents at `/corpus`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pipeline.benchmarks.ledgerqa.planted.questions import computed
from pipeline.benchmarks.ledgerqa.planted.steps import (
    Answer,
    Compute,
    Note,
    Range,
    Read,
    Revise,
    Search,
    Trajectory,
)
from pipeline.benchmarks.ledgerqa.planted.tables import Tables

CORPUS = "/corpus"
NAMED = 20
"""So many documents are named by a search over all."""

INSTRUCTIONS = (
    "Answer the question from the documents in this folder. End your last message with a line `ANSWER:` "
    "and the answer alone, in the form that the question asks."
)
_FUNCTIONS = {
    "mean": "statistics.fmean",
    "geomean": "statistics.geometric_mean",
    "stdev": "statistics.stdev",
    "pstdev": "statistics.pstdev",
    "pvariance": "statistics.pvariance",
    "sqrt": "math.sqrt",
}
_CALL = re.compile(rf"\b({'|'.join(_FUNCTIONS)})\(")
_CHANGE = re.compile(r"percent_change\(((?:\([^()]*\)|[^(),])+), ((?:\([^()]*\)|[^(),])+)\)")
_SLOPE = re.compile(r"slope\((\[.*?\]), (\[.*\])\)")

Doing = Search | Read | Compute | Answer


def narrated(trajectory: Trajectory) -> Iterator[tuple[str, Doing]]:
    """Yield what is done, with what is said before it: thoughts, and statements that were kept since."""
    said: list[str] = []
    for step in trajectory.steps:
        said.append(step.thought)
        match step.act:
            case Note(statements):
                said += [statement.text for statement in statements]
            case Revise(_, new):
                said.append(new.text)
            case _:
                yield "\n".join(said), step.act
                said = []


@dataclass(frozen=True)
class Command:
    """A shell command and what it prints."""

    line: str
    output: str


def command(act: Search | Read | Compute, tables: Tables) -> Command:
    """The shell command for an act, and its output on the documents."""
    match act:
        case Search(query, documents, _):
            title = title_of(query, tables, documents)
            return grep(title, documents, tables) if documents else grep_names(title, tables)
        case Read(ranges):
            each = [sed(where, tables) for where in ranges]
            return Command(" && ".join(one.line for one in each), "".join(one.output for one in each))
        case Compute(expression, _):
            code = f'import math, statistics; print(f"{{{python(expression)}:.4f}}")'
            return Command(f"python3 -c {shlex.quote(code)}", f"{value(expression)}\n")


def title_of(query: str, tables: Tables, documents: tuple[str, ...]) -> str:
    """The longest table title of the documents that a query holds; the query itself if it holds none."""
    among = documents or tuple(tables.corpus.document_ids[:1])
    titles = {table.title for document in among for table in tables.of(document)}
    return max((title for title in titles if title in query), key=len, default=query)


def grep(pattern: str, documents: tuple[str, ...], tables: Tables) -> Command:
    """`grep -n` of a text in documents: several of them are named before each line."""
    files = [f"{CORPUS}/{document}" for document in documents]
    output = ""
    for document, file in zip(documents, files, strict=True):
        prefix = f"{file}:" if len(files) > 1 else ""
        for number, line in enumerate(whole(document, tables).split("\n"), 1):
            if pattern in line:
                output += f"{prefix}{number}:{line}\n"
    return Command(f"grep -nF {shlex.quote(pattern)} {' '.join(files)}", output)


def grep_names(pattern: str, tables: Tables) -> Command:
    """`grep -l` of a text in all documents: the names of the first that hold it."""
    output = "".join(f"{CORPUS}/{name}\n" for name in holding(pattern, tables))
    return Command(f"grep -rlF {shlex.quote(pattern)} {CORPUS} | LC_ALL=C sort | head -n {NAMED}", output)


def holding(pattern: str, tables: Tables) -> list[str]:
    """The first documents that hold a text, in the order of their ids."""
    names = (name for name in tables.corpus.document_ids if pattern in whole(name, tables))
    return list(islice(names, NAMED))


def lines(where: Range, tables: Tables) -> tuple[int, int]:
    """The first and the last line of a range, from 1."""
    first = 1 + tables.text(Range(where.document, 0, where.start)).count("\n")
    return first, first + tables.text(where).rstrip("\n").count("\n")


def sed(where: Range, tables: Tables) -> Command:
    """`sed -n` of the lines of a range."""
    first, last = lines(where, tables)
    shown = whole(where.document, tables).split("\n")[first - 1 : last]
    line = f"sed -n '{first},{last}p' {CORPUS}/{where.document}"
    return Command(line, "".join(f"{each}\n" for each in shown))


def whole(document: str, tables: Tables) -> str:
    """A document's text."""
    return tables.text(Range(document, 0, tables.corpus.length(tables.number(document))))


def python(expression: str) -> str:
    """An expression of the runtime's language in Python, with `math` and `statistics` imported."""
    changed = _CHANGE.sub(r"(\2 - \1) / (\1) * 100", expression)
    sloped = _SLOPE.sub(r"statistics.linear_regression(\1, \2).slope", changed)
    return _CALL.sub(lambda match: f"{_FUNCTIONS[match[1]]}(", sloped)


def value(expression: str) -> str:
    """What `print(f"{…:.4f}")` shows of it."""
    found = computed(expression)
    assert found is not None, f"planted without a value: {expression}"
    return f"{float(found):.4f}"
