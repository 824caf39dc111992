"""What the model is told of each operation: its observation (contract 3, 5.5).

A pure rendering: what is said here has been decided elsewhere. Document text stands in a fence that is
lengthened until it does not occur in it, and is never altered (contract 5.5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.corpus import Hit, SearchResult, Table
from pipeline.harness.conclusions import Claim
from pipeline.harness.state import Computed
from pipeline.harness.turn import Fault

_LISTED_TABLES = 12  # tables that a filtered search lists, for each document
_UNMATCHED = 10  # patterns without a match that a search names
_KEPT = 80  # characters of a query that a stub keeps
_FEW = 3  # hits that a stub repeats, and sources with their ranges; of more, their ids
_STUB = 300  # characters of a stub
_REFUSED = 50  # refused items of a batch, and locations that were not served, that are told of one by one


@dataclass(frozen=True)
class Told:
    """An observation in parts: a summary for its first line, and blocks below it.

    `references` are what a stub keeps of the blocks (contract 7.4).
    """

    summary: str
    blocks: tuple[str, ...] = ()
    references: str = ""


@dataclass(frozen=True)
class Served:
    """One location of a read as it was served; `source` is null if nothing of it was (contract 3.6)."""

    source: str | None
    document: str
    start: int
    end: int
    text: str
    tokens: int
    next: int | None
    first_read: int | None = None
    free: bool = False


def one_line(text: str) -> str:
    """Return `text` without line breaks of any kind: what a message repeats can't begin a line of its own."""
    return " ".join(text.splitlines())


def fenced(text: str) -> str:
    """Return `text` between fences of back-ticks that do not occur in it."""
    runs = re.findall("`{3,}", text) if "```" in text else []
    longest = max(map(len, runs), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def acceptance(turn: int, name: str, told: Told, update: str | None, after: Sequence[str]) -> tuple[str, str]:
    """Return the observation of a valid operation, and its stub.

    `update` is a line about a refused or deferred update, which comes first (contract 2.4, 2.5); what is in
    `after` comes last.
    """
    opening = f"[turn {turn}] {name}: {told.summary}"
    stub = f"{opening}: {told.references}"[:_STUB] if told.references else opening
    update, after = update and one_line(update), list(map(one_line, after))
    return "\n\n".join([f"{update}\n{opening}" if update else opening, *told.blocks, *after]), stub


def refusal(turn: int, error: Fault, after: Sequence[str]) -> tuple[str, str]:
    """Return the observation of an invalid operation (contract 2.2), and its stub."""
    opening = f"[turn {turn}] invalid: {error.code}"
    return "\n\n".join([f"{opening}: {one_line(error.message)}", *map(one_line, after)]), opening


# --- Operations


def search(query: str, result: SearchResult, listings: Iterable[str], unmatched: Sequence[str]) -> Told:
    """Tell of a search (contract 3.1): ranked candidates, and which documents the filter selected."""
    blocks = [_hit(rank, hit) for rank, hit in enumerate(result.hits, 1)]
    if not result.indexed_terms:
        blocks.append("No word of the query occurs in the collection: try other words for it.")
    elif not result.hits:
        blocks.append("Nothing matches in these documents: try other words, or fewer filters.")
    if unmatched:
        named = ", ".join(repr(pattern[:80]) for pattern in unmatched[:_UNMATCHED])
        more = f" and {len(unmatched) - _UNMATCHED} others" if len(unmatched) > _UNMATCHED else ""
        blocks.append(f"No document matches {named}{more}.")
    named = ", ".join(hit.passage for hit in result.hits[:_FEW])
    return Told(
        f"{len(result.hits)} of {result.matched} matching {_plural('passage', result.matched)}; "
        f"{_documents(result)}",
        (*blocks, *listings),
        f'"{" ".join(query.split())[:_KEPT]}" found {named or "nothing"}',
    )


def _documents(result: SearchResult) -> str:
    named = result.first if result.searched == 1 else f"{result.first} … {result.last}"
    return f"{result.searched} {_plural('document', result.searched)} searched, {named}"


def _hit(rank: int, hit: Hit) -> str:
    lines = [f"{rank}. {hit.passage} [{hit.start}:{hit.end}] score {hit.score:.2f}"]
    if hit.table:
        lines.append(_table("table", hit.table) + _same_title(hit))
    if hit.also:
        lines.append(f"also nearly the same: {', '.join(hit.also)}")
    return "\n".join([*lines, fenced(hit.snippet)])


def _same_title(hit: Hit) -> str:
    same = hit.same_title
    if same is None:
        return ""
    named = same.first if same.documents == 1 else f"{same.first} … {same.last}"
    return f"; same title in {same.documents} other {_plural('document', same.documents)}, {named}"


def _table(label: str, table: Table) -> str:
    title = json.dumps(table.title, ensure_ascii=False)  # it is a document's text: no quote in it ends it
    return f"{label} {title} [{table.start}:{table.end}]".lstrip()


def tables(document: str, tables: Sequence[Table], query: str) -> str:
    """List a document's tables whose titles share words with the query; if none does, its first tables."""
    words = _words(query)
    fit = [table for table in tables if words & _words(table.title)]
    shown, label = (fit, "that fit the query") if fit else (tables, "in all")
    lines = [f"tables of {document} {label} ({len(shown)}):"]
    lines += [_table("", table) for table in shown[:_LISTED_TABLES]]
    if len(shown) > _LISTED_TABLES:
        lines.append(f"… and {len(shown) - _LISTED_TABLES} more, to [{shown[-1].start}:{shown[-1].end}]")
    return "\n".join(lines)


def documents(ids: Sequence[str]) -> str:
    """Name the documents that a filter selected, for the next, finer one (contract 5.4)."""
    return f"documents searched: {', '.join(ids)}"


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}


def read(served: Sequence[Served]) -> Told:
    """Tell of a read (contract 3.5 to 3.8)."""
    count = sum(each.source is not None for each in served)
    tokens = sum(each.tokens for each in served)
    summary = f"{count} {_plural('location', count)}, {tokens} tokens"
    shown = served[: count + _REFUSED]
    more = (
        (f"not served either: {len(served) - len(shown)} further locations",)
        if len(shown) < len(served)
        else ()
    )
    sources = [each for each in served if each.source]
    references = [_named(each) if len(sources) <= _FEW else str(each.source) for each in sources]
    return Told(summary, (*map(_served, shown), *more), ", ".join(references))


def _named(served: Served) -> str:
    return f"{served.source} = {served.document} [{served.start}:{served.end}]"


def _served(served: Served) -> str:
    if served.source is None:
        return f"not served, past the limit of one read\nnext: {served.document} from {served.next}"
    free = "; it had left the prompt, no budget spent" if served.free else ""
    again = f" (first read at turn {served.first_read}{free})" if served.first_read else ""
    lines = [f"{_named(served)}{again}", fenced(served.text)]
    if served.next is not None:
        lines.append(f"next: {served.document} from {served.next}")
    return "\n".join(lines)


def batch(verb: str, items: Mapping[int, str], done: Sequence[str], affected: Sequence[str]) -> Told:
    """Tell of a batch: for each item what became of it, or why it was refused (contract 3.12, 7.6).

    `items` are lines by index, `done` the ids of those that were not refused, `affected` lines about claims
    that they touch. Of very many refused ones the last are only counted.
    """
    refused = [index for index, line in items.items() if line.startswith("refused: ")]
    untold = set(refused[_REFUSED:])
    lines = [f"item {index}: {one_line(line)}" for index, line in items.items() if index not in untold]
    if untold:
        lines.append(f"… and {len(untold)} more are refused, from item {min(untold)} on")
    summary = f"{len(done)} of {len(items)} {verb}"
    blocks = ("\n".join(lines), "\n".join(affected))
    return Told(
        summary if done else f"nothing was {verb}, {summary}", tuple(filter(None, blocks)), ", ".join(done)
    )


def revise(line: str, affected: Sequence[str]) -> Told:
    """Tell of a revision, and of the claims that it touches (contract 3.14, 3.17)."""
    return Told(line, ("\n".join(affected),) if affected else ())


def affected(old: str, claims: Sequence[tuple[str, int, Claim]]) -> tuple[str, ...]:
    """The lines about the claims that cite an entry which is no longer active (contract 3.17)."""
    if not claims:
        return ()
    lines = [f"{name}[{index}] {claim.line.removeprefix('- ')}" for name, index, claim in claims]
    return (f"claims that cite {old}, to be reassessed:", *lines)


def compute(computed: Computed, notes: Sequence[str]) -> Told:
    """Tell of a compute (contract 3.18, 3.19)."""
    summary = f"{computed.id} = {computed.text}"
    return Told(summary, ("\n".join(notes),) if notes else (), computed.expressed)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
