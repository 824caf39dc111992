"""From a model's text to the one operation in it (contract 2.6).

Thinking is removed; then every top-level JSON object with an `operation` key counts, wherever it stands and
whatever surrounds it. The scan is not recursive and its work is bounded by the length of the text, so that it
ends the same way in every process (contract 1.1): no reply, however odd, makes it slow or makes it fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pipeline.errors import InvalidOperation

MAX_DEPTH = 64  # of nested objects and lists; an operation has 6 at most
_MAX_WORK = 4  # characters scanned, over the text's length: bounds what unclosed brackets can cost
_MAX_DIGITS = 300  # of an integer: a float has 309 at most
_OPEN = re.compile(r'\{(?=\s*["}])')
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]|[\s,:0-9eE.+\-truefalsn]+', re.DOTALL)
_BARE = 'wrap the operation: {"operation": {"name": …}}'


class Decimal(float):
    """A JSON number with its digits as written: `10.50` as an answer is `10.50` (contract 3.21)."""

    literal: str

    def __new__(cls, literal: str) -> Decimal:
        """Keep `literal` beside its value."""
        number = super().__new__(cls, literal)
        number.literal = literal
        return number


def parse(text: str) -> dict[str, Any]:
    """Return the response in `text`: its only JSON object with an `operation` key, itself an object.

    Raises `InvalidOperation`: `malformed_response` (none, or not valid JSON) or `multiple_operations`.
    """
    scan = _Scan(without_thinking(text))
    distinct = {json.dumps(found, sort_keys=True): found for found in scan.objects() if "operation" in found}
    if len(distinct) > 1:
        raise InvalidOperation(
            "multiple_operations", f"the reply has {len(distinct)} different operations: send exactly one"
        )
    if not distinct:
        raise InvalidOperation("malformed_response", scan.complaint())
    response: dict[str, Any] = next(iter(distinct.values()))
    if not isinstance(response["operation"], dict):
        raise InvalidOperation(
            "malformed_response",
            f"operation must be an object, not {json.dumps(response['operation'])[:40]}: {_BARE}",
        )
    return response


def without_thinking(text: str) -> str:
    """Return `text` without `<think>…</think>`, and without all that precedes a lone `</think>`."""
    kept, position = [], 0
    while (start := text.find("<think>", position)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[position:start])
        position = end + len("</think>")
    kept.append(text[position:])
    return "".join(kept).rpartition("</think>")[2]


class _Scan:
    """One pass over a text for top-level JSON objects; keeps what it takes to say why there is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.broken: tuple[int, str] | None = None  # where the first broken object starts, and what breaks it
        self.bare = False

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON objects of the text that are part of no other, in order."""
        position, work = 0, 0
        while (opening := _OPEN.search(self.text, position)) and work <= _MAX_WORK * len(self.text):
            start = opening.start()
            end, depth = self._extent(start)
            if depth > MAX_DEPTH:
                self._break(start, f"it is nested more than {MAX_DEPTH} deep")
                position = end
            elif depth and (found := self._load(start, end)) is not None:
                self.bare = self.bare or "name" in found
                position = end
                yield found
            else:
                work += end - start
                position = start + 1

    def complaint(self) -> str:
        """Say why the text holds no operation."""
        if self.broken and '"operation"' in self.text[self.broken[0] :]:
            return (
                f"the JSON object at character {self.broken[0]} of the reply is not valid: {self.broken[1]}"
            )
        if self.bare:
            return f"the reply has a JSON object but no `operation` key: {_BARE}"
        return 'the reply holds no JSON object with an `operation` key: send {"operation": {"name": …}}'

    def _extent(self, start: int) -> tuple[int, int]:
        """Where the bracket at `start` is closed, and how deep what it holds is; depth 0 if it never is."""
        expected: list[str] = []
        depth, reached = 0, start
        for token in _TOKEN.finditer(self.text, start):
            bracket = token[0]
            if token.start() != reached:
                break
            reached = token.end()
            if bracket in ("{", "["):
                expected.append("}" if bracket == "{" else "]")
                depth = max(depth, len(expected))
            elif bracket in ("}", "]"):
                if bracket != expected.pop():
                    self._break(start, f"{bracket} at character {token.start()} closes nothing")
                    return token.start(), 0
                if not expected:
                    return token.end(), depth
        end = reached == len(self.text)
        self._break(start, "it ends too early" if end else f"unexpected character {reached}")
        return reached, 0

    def _load(self, start: int, end: int) -> dict[str, Any] | None:
        text = self.text[start:end]
        try:
            found: dict[str, Any] = _DECODER.decode(text)
            if "\\u" in text:
                json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            self._break(start, "a string holds half of a surrogate pair")
        except ValueError as error:
            self._break(start, str(error))
        else:
            return found
        return None

    def _break(self, start: int, why: str) -> None:
        self.broken = self.broken or (start, why)


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"an integer has more than {_MAX_DIGITS} digits")
    return int(digits)


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=_integer)
