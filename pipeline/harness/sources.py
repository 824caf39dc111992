"""Registered sources: what has been read, and what evidence may therefore cite (contract 3.5, 3.8, 3.11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

import orjson

from pipeline.errors import InvalidOperation

_NAMED = 20  # ids that an error lists at most
_Range = tuple[str, int, int]


@dataclass(frozen=True)
class Source:
    """A range of a document that was served: code points `start:end`, and the SHA-256 of its UTF-8 text."""

    id: str
    document: str
    start: int
    end: int
    sha256: str
    tokens: int
    turn: int

    def as_json(self) -> dict[str, Any]:
        """The source as a trace shows it (contract, section 9)."""
        return {
            "id": self.id,
            "document": self.document,
            "start": self.start,
            "end": self.end,
            "sha256": self.sha256,
        }

    @cached_property
    def encoded(self) -> bytes:
        """Canonical JSON, serialised once."""
        facts = {**self.as_json(), "tokens": self.tokens, "turn": self.turn}
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def line(self) -> str:
        """The source in the rendered state."""
        return f"{self.id}: {self.document} [{self.start}:{self.end}]"


@dataclass(frozen=True)
class Sources:
    """The registered sources, in order; the same served range is the same source.

    `digest` stands for them in the state's canonical form: the SHA-256 of the previous digest followed by the
    canonical JSON of the newest source.
    """

    entries: tuple[Source, ...] = ()
    digest: str = sha256(b"").hexdigest()
    _served: Mapping[_Range, tuple[Source, int]] = field(default_factory=dict, repr=False, compare=False)

    def register(
        self, document: str, start: int, end: int, text: str, tokens: int, turn: int
    ) -> tuple[Sources, Source]:
        """Return the sources with this range registered, and its source: an old one if it was read before."""
        served, entries, digest = (document, start, end), self.entries, self.digest
        if served in self._served:
            source = self._served[served][0]
        else:
            of_text = sha256(text.encode()).hexdigest()
            source = Source(f"s{len(entries) + 1}", document, start, end, of_text, tokens, turn)
            entries = (*entries, source)
            digest = sha256(digest.encode() + source.encoded).hexdigest()
        return Sources(entries, digest, {**self._served, served: (source, turn)}), source

    def served_at(self, document: str, start: int, end: int) -> int | None:
        """Return the turn at which exactly this range was last served, if it was."""
        found = self._served.get((document, start, end))
        return found[1] if found else None

    @cached_property
    def rendered(self) -> str:
        """The sources in the rendered state, a line each."""
        return "\n".join([source.line for source in self.entries])

    def get(self, source_id: str | None) -> Source | None:
        """Return the source with this id, if there is one."""
        if source_id is None:
            return None
        number = source_id[1:]
        if source_id[:1] != "s" or not (number.isascii() and number.isdigit() and len(number) < 10):
            return None
        index = int(number) - 1
        found = 0 <= index < len(self.entries) and self.entries[index].id == source_id
        return self.entries[index] if found else None

    def require(self, source_ids: list[str]) -> None:
        """Check that each id was registered by an earlier read (contract 3.11).

        Raises `InvalidOperation`: `missing_evidence` for an empty list, else `unregistered_source`.
        """
        if not source_ids:
            raise InvalidOperation(
                "missing_evidence", f"sources is empty: give at least one registered source; {self._known()}"
            )
        for source_id in source_ids:
            if self.get(source_id) is None:
                raise InvalidOperation(
                    "unregistered_source",
                    f"{source_id[:40]!r} was not registered by a read of this episode; {self._known()}",
                )

    def _known(self) -> str:
        if not self.entries:
            return "nothing has been read yet: read first, a snippet can't be cited"
        names = ", ".join(source.id for source in self.entries[-_NAMED:])
        return f"registered: {'… ' if len(self.entries) > _NAMED else ''}{names}"
