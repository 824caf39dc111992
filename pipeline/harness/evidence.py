"""The EvidenceBank: source-linked statements and their lifecycle (contract 1, 3.10 to 3.17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import orjson

from pipeline.errors import InvalidOperation

EvidenceStatus = Literal["active", "superseded", "retracted"]
_NAMED = 20  # ids that an error lists at most


@dataclass(frozen=True)
class Entry:
    """A statement with its sources. Its id is never reused, its statement never edited."""

    id: str
    statement: str
    sources: tuple[str, ...]
    admitted_turn: int
    status: EvidenceStatus = "active"
    retired_turn: int | None = None
    superseded_by: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The entry as a trace shows it (contract, section 9)."""
        return {
            "id": self.id,
            "statement": self.statement,
            "sources": list(self.sources),
            "status": self.status,
            "admitted_turn": self.admitted_turn,
            "retired_turn": self.retired_turn,
            "superseded_by": self.superseded_by,
        }

    @cached_property
    def encoded(self) -> bytes:
        """Canonical JSON, serialised once for each status that the entry had."""
        return orjson.dumps(self.as_json(), option=orjson.OPT_SORT_KEYS)

    @cached_property
    def line(self) -> str:
        """The entry in the rendered state: one line, whatever line breaks the statement has."""
        return f"{self.id}: {' '.join(self.statement.splitlines())} [{', '.join(self.sources)}]"


@dataclass(frozen=True)
class EvidenceBank:
    """All entries ever admitted, in order: entry `e7` is the seventh. Immutable: edits give a new bank.

    `digest` stands for the bank in the state's canonical form: the SHA-256 of the previous digest followed by
    the canonical JSON of the entry that was admitted or retired, which costs the same for any size.
    """

    entries: tuple[Entry, ...] = ()
    digest: str = sha256(b"").hexdigest()

    @cached_property
    def active(self) -> tuple[Entry, ...]:
        """The entries that may be cited."""
        return tuple([entry for entry in self.entries if entry.status == "active"])

    @cached_property
    def rendered(self) -> str:
        """The active entries in the rendered state, a line each."""
        return "\n".join([entry.line for entry in self.active])

    def get(self, evidence_id: str) -> Entry | None:
        """Return the entry with this id, active or not, if there is one."""
        number = evidence_id[1:]
        if evidence_id[:1] != "e" or not (number.isascii() and number.isdigit() and len(number) < 10):
            return None
        index = int(number) - 1
        found = 0 <= index < len(self.entries) and self.entries[index].id == evidence_id
        return self.entries[index] if found else None

    def admit(self, statement: str, sources: Sequence[str], turn: int) -> tuple[EvidenceBank, Entry]:
        """Return the bank with a new active entry, and that entry (contract 3.11)."""
        entry = Entry(f"e{len(self.entries) + 1}", statement, tuple(sources), turn)
        return self._edited((*self.entries, entry), entry), entry

    def retire(self, evidence_id: str, turn: int, successor: str | None) -> EvidenceBank:
        """Return the bank with an active entry superseded by `successor`, or retracted if that is `None`."""
        old = self.require(evidence_id)
        status: EvidenceStatus = "superseded" if successor else "retracted"
        retired = replace(old, status=status, retired_turn=turn, superseded_by=successor)
        index = int(evidence_id[1:]) - 1
        return self._edited((*self.entries[:index], retired, *self.entries[index + 1 :]), retired)

    def _edited(self, entries: tuple[Entry, ...], edited: Entry) -> EvidenceBank:
        return EvidenceBank(entries, sha256(self.digest.encode() + edited.encoded).hexdigest())

    def require(self, evidence_id: str) -> Entry:
        """Return the active entry with this id.

        Raises `InvalidOperation`: `unknown_evidence` or `inactive_evidence`; it names what to cite instead.
        """
        entry = self.require_known(evidence_id)
        if entry.status != "active":
            raise InvalidOperation("inactive_evidence", f"{self.fate(entry)}; {self.citable()}")
        return entry

    def require_known(self, evidence_id: str) -> Entry:
        """Return the entry with this id, active or not. Raises `InvalidOperation`: `unknown_evidence`."""
        entry = self.get(evidence_id)
        if entry is None:
            raise InvalidOperation(
                "unknown_evidence", f"there is no evidence {evidence_id[:40]!r}; {self.citable()}"
            )
        return entry

    def require_all(self, evidence_ids: Sequence[str]) -> None:
        """Check that at least one entry is cited and that all are active (contract 3.16, 3.18, 3.20).

        Raises `InvalidOperation`: `missing_evidence`, or as `require` does for the first faulty id.
        """
        if not evidence_ids:
            raise InvalidOperation(
                "missing_evidence", f"evidence is empty: cite at least one active id; {self.citable()}"
            )
        for evidence_id in evidence_ids:
            self.require(evidence_id)

    def last(self, entry: Entry) -> Entry:
        """Return the entry in which the line of successors of `entry` ends; without one, `entry` itself."""
        while entry.superseded_by:
            entry = self.require_known(entry.superseded_by)
        return entry

    def fate(self, entry: Entry) -> str:
        """Say what became of an inactive entry, and where its line of successors ends."""
        last = self.last(entry)
        if last is entry:
            return f"{entry.id} was retracted and has no successor"
        said = f"{entry.id} was superseded by {entry.superseded_by}"
        if last.id != entry.superseded_by:
            said += f", in the end by {last.id}"
        return said + (", since retracted" if last.status == "retracted" else "")

    def citable(self) -> str:
        """Name the active ids, the latest of them if they are many."""
        if not self.active:
            return "no evidence is active: read, then upsert"
        names = ", ".join(entry.id for entry in self.active[-_NAMED:])
        return f"active: {'… ' if len(self.active) > _NAMED else ''}{names}"
