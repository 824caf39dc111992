"""From a model's text to the one operation in it (contract 2.6).

Thinking is removed; then every top-level JSON object with an `operation` key counts, wherever it stands and
whatever surrounds it. An object ends where its brackets balance. If it is not valid up to there it is refused
with all that it holds, for that may be quoted text; one that never ends hides nothing. Nothing is repaired,
but raw control characters are taken as part of a string: models write long statements with line breaks.

The work is linear in the text and recurses no deeper than `MAX_DEPTH`: brackets are matched in one pass, and
a character is decoded once. So no reply, however odd, is slow or ends differently in another process (1.1).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pipeline.errors import InvalidOperation

MAX_DEPTH = 64  # of nested objects and lists; an operation has 6 at most
_MAX_DIGITS = 300  # of a number: a float has 309 at most
SEND = 'send {"operation": {"name": …}}'
_Span = tuple[int, int, bool]  # start and end of an object, valid or not, and if it is nested too deeply
_TAG = re.compile("</?think>")
_HALF = re.compile("[\ud800-\udfff]")
_OPEN = re.compile(r'\{(?=\s*+"[^"]*+"\s*+:|[^{}"]{0,80}"?operation)')  # the second is wrong: to say how
_WORD = re.compile(r'operation|\\u|think>|"name"')  # only an object with one of them matters
_CALL = re.compile(r"<tool_call|<function|<invoke|<\|(?:tool|python_tag|channel)|tool▁call|\[TOOL_CALLS\]")
_ADVICE = (  # by what stands where the JSON is no longer valid
    (r"\Z|```", "it is cut off before its end"),
    (r"(?<=[,\s])[}\]]", "a comma before a closing bracket"),
    (r"[}\]]", "a bracket that closes another kind, or a missing value"),
    (r"//|/\*|#", "JSON has no comments"),
    (r"None|True|False|undefined", "write null, true and false"),
    (r"['`‘’“”„«»]", "keys and strings stand in straight double quotes"),
    (r"[：，｛｝［］]", "punctuation must be ASCII"),
    (r"\\", "a backslash in a string is written \\\\, and quotes around strings are not escaped"),
    ("", 'a comma, a colon or a quote is missing, or a quote inside a string is not written \\"'),
)


class Decimal(float):
    """A JSON number with its digits as written: `10.50` as an answer is `10.50` (contract 3.21)."""

    __slots__ = ("literal",)
    literal: str

    def __new__(cls, literal: str) -> Decimal:
        """Keep `literal` beside its value."""
        number = float.__new__(cls, _bounded(literal))
        number.literal = literal
        return number


def parse(text: str) -> dict[str, Any]:
    """Return the response in `text`: its only JSON object with an `operation` key, itself an object.

    Raises `InvalidOperation`: `malformed_response` (none, or not valid JSON) or `multiple_operations`.
    """
    reply = without_thinking(text)
    spans = _spans(reply)
    spelled = {reply[start:end]: found for (start, end, _), found in _valid(reply, spans)}
    distinct: dict[str, dict[str, Any]] = {}
    for found in spelled.values():
        if "operation" in found:
            distinct[json.dumps(found, sort_keys=True)] = found
        if len(distinct) > 1:
            raise InvalidOperation("multiple_operations", "the reply has several operations: send one")
    if not distinct:
        raise InvalidOperation("malformed_response", f"{_complaint(text, reply, spans)}: {SEND}")
    (response,) = distinct.values()
    if not isinstance(response["operation"], dict):
        sent = json.dumps(response["operation"])[:40]
        raise InvalidOperation("malformed_response", f"operation must be an object, not {sent}: {SEND}")
    return response


def without_thinking(text: str) -> str:
    """Return `text` without `<think>…</think>`, and without all that precedes a lone `</think>`.

    A tag within a valid JSON object is part of one of its strings: no thinking begins or ends with it.
    """
    if "</think>" not in text:
        return text
    quoting = [(start, end) for (start, end, _), _ in _valid(text, _spans(text))][::-1]
    kept: list[str] = []
    position, opened = 0, None
    for tag in _TAG.finditer(text):
        while quoting and quoting[-1][1] <= tag.start():
            quoting.pop()
        if quoting and quoting[-1][0] < tag.start():
            continue
        if tag[0] == "<think>":
            opened = tag.start() if opened is None else opened
            continue
        if opened is None:
            kept.clear()
        else:
            kept.append(text[position:opened])
        position, opened = tag.end(), None
    return "".join(kept) + text[position:]


def _spans(text: str) -> list[_Span]:
    """The objects of a text that are part of no other, in order; of those that never end only the first."""
    plain = text.replace("\\\\", "__").replace('\\"', "__")  # so that each quote opens or closes a string
    ends, deep = _match_brackets(plain)
    spans: list[_Span] = []
    position, unclosed = 0, False
    for opening in _OPEN.finditer(plain):
        start, end = opening.start(), ends[opening.start()]
        if start >= position and (end or not unclosed):
            if _WORD.search(text, start, end or len(text)):
                spans.append((start, end or len(text), bool(deep[start])))
            position, unclosed = end, unclosed or not end
    return spans


def _match_brackets(plain: str) -> tuple[list[int], bytearray]:
    """For each opening bracket: where it is closed, 0 if nowhere; and if it is nested beyond `MAX_DEPTH`.

    Which brackets stand in strings depends on where reading begins, but there are two readings only: from
    after an even number of quotes, and from after an odd number. Each has its own stack.
    """
    ends, deep = [0] * len(plain), bytearray(len(plain))
    stack: list[int] = []
    other: list[int] = []
    for at, mark in enumerate(plain):
        if mark not in '"{}[]':
            continue
        if mark == '"':
            stack, other = other, stack
        elif mark in "{[":
            stack.append(at)
            if len(stack) > MAX_DEPTH:
                deep[stack[-MAX_DEPTH - 1]] = True
        elif stack:
            ends[stack.pop()] = at + 1
    return ends, deep


def _valid(text: str, spans: list[_Span]) -> Iterator[tuple[_Span, dict[str, Any]]]:
    for span in spans:
        with suppress(ValueError):
            yield span, _load(text, span)


def _load(text: str, span: _Span) -> dict[str, Any]:
    """Decode an object; raises `ValueError` with the reason why it can't be."""
    start, end, deep = span
    if deep:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    piece = text[start:end]
    found: dict[str, Any] = _DECODER.decode(piece)
    if "\\u" in piece and _HALF.search(json.dumps(found, ensure_ascii=False)):
        raise ValueError("a string holds half of a surrogate pair")
    return found


def _complaint(text: str, reply: str, spans: list[_Span]) -> str:
    """Say why `reply`, which is `text` without its thinking, holds no operation."""
    if span := min(spans, key=lambda span: "operation" not in reply[span[0] : span[1]], default=None):
        where = f"the JSON object at character {span[0]} of the reply"
        try:
            found = _load(reply, span)
        except ValueError as error:
            return f"{where} is not valid{_reason(reply, span, error)}"
        if not found.keys().isdisjoint(("arguments", "parameters", "function")):
            return f"{where} is a tool call, which is not read: put its arguments into the operation"
        wanted = (
            "wrap the operation" if "name" in found else "the operation stands by itself, not inside another"
        )
        return f"{where} has no `operation` key: {wanted}"
    if _CALL.search(reply):
        return "the reply has tool-call markup, which is not read, and no JSON object with an `operation` key"
    if any("operation" in found for _, found in _valid(text, _spans(text))):
        return "the operation stands within the thinking: repeat it after </think>"
    if "<think>" in reply:
        return "the thinking has no end, and no JSON object with an `operation` key follows"
    return "the reply holds no JSON object with an `operation` key"


def _reason(text: str, span: _Span, error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f": {error}"
    start, end, _ = span
    broken = end if error.msg.startswith("Unterminated") else start + error.pos
    at = start + len(text[start:broken].rstrip(", \t\r\n"))
    rest = text[at:].lstrip()
    advice = next(advice for pattern, advice in _ADVICE if re.match(rf",?\s*+(?:{pattern})", rest))
    near = " ".join(text[max(start, at - 24) : at + 12].split())
    return f" at character {at}, near `{near}`: {advice}"


def _bounded(digits: str) -> str:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number has more than {_MAX_DIGITS} digits")
    return digits


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:40]} stands twice in one object")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(
    strict=False,
    parse_float=Decimal,
    parse_int=lambda digits: int(_bounded(digits)),
    parse_constant=_constant,
    object_pairs_hook=_unique,
)
