"""What the model is told: each operation's observation, and the rendered state that ends the prompt.

A pure rendering: what is said here has been decided elsewhere. Document text stands in a fence that is
lengthened until it does not occur in it, and is never altered (contract 5.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.harness.conclusions import Claim, Conclusion
from pipeline.harness.state import State
from pipeline.harness.turn import Fault

if TYPE_CHECKING:
    from pipeline.corpus import Hit, SearchResult, Table

_LISTED_TABLES = 12  # tables that a filtered search lists, for each document
_UNMATCHED = 10  # patterns without a match that a search names


@dataclass(frozen=True)
class Told:
    """An observation in parts: a summary for its first line, and blocks below it."""

    summary: str
    blocks: tuple[str, ...] = ()


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


def fenced(text: str) -> str:
    """Return `text` between fences of back-ticks that do not occur in it."""
    runs = re.findall("`{3,}", text) if "```" in text else []
    longest = max(map(len, runs), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def acceptance(turn: int, name: str, told: Told, update: str | None, after: Sequence[str]) -> str:
    """Return the observation of a valid operation.

    `update` is a line about a refused or deferred update, which comes first (contract 2.4, 2.5); what is in
    `after` comes last.
    """
    opening = f"[turn {turn}] {name}: {told.summary}"
    return "\n\n".join([f"{update}\n{opening}" if update else opening, *told.blocks, *after])


def refusal(turn: int, error: Fault, after: Sequence[str]) -> str:
    """Return the observation of an invalid operation (contract 2.2)."""
    return "\n\n".join([f"[turn {turn}] invalid: {error.code}: {error.message}", *after])


# --- Operations


def search(result: SearchResult, listings: Iterable[str], unmatched: Sequence[str]) -> Told:
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
    return Told(
        f"{len(result.hits)} of {result.matched} matching {_plural('passage', result.matched)}; "
        f"{_documents(result)}",
        (*blocks, *listings),
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
    return f'{label} "{table.title}" [{table.start}:{table.end}]'.lstrip()


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


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}


def read(served: Sequence[Served]) -> Told:
    """Tell of a read (contract 3.5 to 3.8)."""
    count = sum(each.source is not None for each in served)
    tokens = sum(each.tokens for each in served)
    summary = f"{count} {_plural('location', count)}, {tokens} tokens"
    return Told(summary, tuple(_served(each) for each in served))


def _served(served: Served) -> str:
    if served.source is None:
        return f"not served, past the limit of one read\nnext: {served.document} from {served.next}"
    again = f" (first read at turn {served.first_read})" if served.first_read else ""
    lines = [f"{served.source} = {served.document} [{served.start}:{served.end}]{again}", fenced(served.text)]
    if served.next is not None:
        lines.append(f"next: {served.document} from {served.next}")
    return "\n".join(lines)


def upsert(items: Sequence[str]) -> Told:
    """Tell of a batch: for each item the id under which it was admitted, or `refused: code: why` (3.12)."""
    admitted = sum(not item.startswith("refused") for item in items)
    summary = f"{admitted} of {len(items)} admitted"
    if not admitted:
        summary = f"nothing was admitted, {summary}"
    return Told(summary, ("\n".join(f"item {index}: {item}" for index, item in enumerate(items)),))


def revise(old: str, new: str | None, affected: Sequence[tuple[str, int, Claim]]) -> Told:
    """Tell of a revision, and of the claims that it touches (contract 3.14, 3.17)."""
    summary = f"{old} superseded by {new}" if new else f"{old} retracted"
    if not affected:
        return Told(summary)
    lines = [f"claims that cite {old}, to be reassessed:"]
    lines += [f"{name}[{index}] {claim.line.removeprefix('- ')}" for name, index, claim in affected]
    return Told(summary, ("\n".join(lines),))


def compute(computed: str, text: str, notes: Sequence[str]) -> Told:
    """Tell of a compute (contract 3.18, 3.19)."""
    return Told(f"{computed} = {text}", ("\n".join(notes),) if notes else ())


# --- The state


def tail(state: State, *, has_bank: bool) -> str:
    """Render the current state: the only part of the prompt that is not append-only (contract 5.3)."""
    lines = ["=== state ==="]
    if has_bank:
        lines += _list("Active evidence", [entry.line for entry in state.evidence.active])
    if state.conclusion is not None:
        lines += ["Conclusion:", *_conclusion(state.conclusion)]
    if state.notes is not None:
        lines += _list("Notes", state.notes.splitlines())
    lines += _list("Sources", [source.line for source in state.sources.entries])
    return "\n".join([*lines, state.budget.line])


def _conclusion(conclusion: Conclusion) -> list[str]:
    return [
        *_list("established", [claim.line for claim in conclusion.established]),
        *_list("hypotheses", [claim.line for claim in conclusion.hypotheses]),
        *_list("unresolved", [f"- {' '.join(gap.splitlines())}" for gap in conclusion.unresolved]),
    ]


def _list(name: str, lines: Sequence[str]) -> list[str]:
    return [f"{name}:", *lines] if lines else [f"{name}: none"]


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
