"""Every error of LongHarness, named by the boundary that was crossed.

A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.protocols import RequestRecord


class LongHarnessError(Exception):
    """Base of all errors that LongHarness raises on purpose."""


class UnusableInput(LongHarnessError):
    """What the user gave can't be used; nothing was started. Exit status 2."""


class ConfigError(UnusableInput):
    """A configuration key, value or override is wrong; the message names the nearest valid one."""


class CorpusError(UnusableInput):
    """A document collection can't be read as one: a bad folder, file or encoding, a duplicate id."""


class BenchmarkError(UnusableInput):
    """A benchmark's files are missing or malformed; the message names file, row and column."""


class RunError(UnusableInput):
    """A run folder can't be used as asked: held by another process, of another version, or damaged."""


class InvalidOperation(LongHarnessError):
    """The model sent an operation that the runtime refuses (contract 2.2). It becomes an observation."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ModelRequestFailed(LongHarnessError):
    """A model request failed for good: the episode ends with this as its result (contract 4.3).

    `kind` is a short stable word: `context_overflow`, `bad_request`, `refused`, `empty`, …
    """

    def __init__(self, kind: str, message: str, requests: tuple[RequestRecord, ...] = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.requests = requests


class BackboneUnavailable(LongHarnessError):
    """The infrastructure failed, not the model: the episode is owed and runs again (contract 4.3)."""

    def __init__(self, message: str, requests: tuple[RequestRecord, ...] = ()) -> None:
        super().__init__(message)
        self.requests = requests


class ReplayMismatch(LongHarnessError):
    """A replayed episode differs from its record (contract 1.2): episode, turn and both hashes are named."""
