"""An episode as Markdown that one reads in a minute.

One rule of abridgement: of a long list (statements, lines of a document, items of an observation, operands)
the first, the last and what is named in `keep` are shown, and how many are left out is said. Runs of ids are
written as ranges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pipeline.harness import Turn
from pipeline.harness.trace import as_json

_SHORT = 4  # items of a list that is shown whole
_IDS = re.compile(r"(?<![\w.])[esc]\d+(?:, [esc]\d+){2,}")
_NUMBERS = re.compile(rf"\[([\d.]+(?:, [\d.]+){{{_SHORT},}})\]")
_FENCED = re.compile(r"^(`{3,})text\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_ITEMS = re.compile(rf"^item \d+: .*(?:\nitem \d+: .*){{{_SHORT},}}", re.MULTILINE)


def transcript(turns: Iterable[Turn], keep: Sequence[str]) -> str:
    """Return the turns one below the other, with the EvidenceBank as it was at each valid compute."""
    return "\n\n".join(_turn(turn, keep) for turn in turns)


def _turn(turn: Turn, keep: Sequence[str]) -> str:
    fields = json.loads(turn.reply.text).items()
    sent = ",\n ".join(f'"{name}": {_json(value, keep)}' for name, value in fields)
    parts = [
        f"## Turn {turn.number}: {turn.operation}{'' if turn.valid else ' (invalid)'}",
        f"~~~json\n{{{sent}}}\n~~~",
        f"~~~text\n{_observation(turn.observation, keep)}\n~~~",
    ]
    if turn.operation == "compute" and turn.valid:
        parts.append(evidence_table(as_json(turn)["evidence"], keep))
    return "\n\n".join(parts)


def evidence_table(entries: Sequence[dict[str, Any]], keep: Sequence[str]) -> str:
    """Return a trace's EvidenceBank. Neighbours of the same sources and status share a row."""
    if not entries:
        return "No evidence is kept; the state holds the sources alone."

    def kind(entry: dict[str, Any]) -> tuple[Any, ...]:
        return entry["sources"], entry["status"], entry["superseded_by"], _named(entry["statement"], keep)

    rows = ["| evidence | statement | sources | status |", "| --- | --- | --- | --- |"]
    for _, group in groupby(entries, kind):
        alike = list(group)
        statements = [entry["statement"] for entry in alike]
        by = f" by {alike[0]['superseded_by']}" if alike[0]["superseded_by"] else ""
        rows.append(
            f"| {_ranges([entry['id'] for entry in alike])} | {'; '.join(_abridged(statements, (), 1))} "
            f"| {', '.join(alike[0]['sources'])} | {alike[0]['status']}{by} |"
        )
    return "\n".join(rows)


def _json(value: Any, keep: Sequence[str]) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{name}": {_json(each, keep)}' for name, each in value.items()) + "}"
    if isinstance(value, list):
        if value and all(isinstance(each, str) for each in value) and _IDS.fullmatch(", ".join(value)):
            return f"[{_ranges(value)}]"
        return "[" + ", ".join(_abridged([_json(each, keep) for each in value], keep)) + "]"
    text = json.dumps(value, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: f"[{', '.join(_abridged(found[1].split(', '), keep))}]", text)


def _observation(text: str, keep: Sequence[str]) -> str:
    def fenced(found: re.Match[str]) -> str:
        return "\n".join([f"{found[1]}text", *_abridged(found[2].splitlines(), keep), found[1]])

    text = _FENCED.sub(fenced, text)
    text = _ITEMS.sub(lambda found: "\n".join(_abridged(found[0].splitlines(), keep)), text)
    return _IDS.sub(lambda found: _ranges(found[0].split(", ")), text)


def _named(text: str, keep: Sequence[str]) -> bool:
    return any(re.search(rf"(?<![\w,]){re.escape(each)}(?![\w,])", text) for each in keep)


def _abridged(items: Sequence[str], keep: Sequence[str], short: int = _SHORT) -> Iterator[str]:
    """Yield the first, the last and the named of the items, and between them how many are left out."""
    left_out = 0
    for index, item in enumerate(items):
        if len(items) > short and 0 < index < len(items) - 1 and not _named(item, keep):
            left_out += 1
            continue
        if left_out:
            yield f"… {left_out} more …"
            left_out = 0
        yield item


def _ranges(ids: Sequence[str]) -> str:
    """`e1–e32, e34–e81`: ids of which each follows on the one before are one range."""
    runs: list[list[str]] = []
    for each in ids:
        if runs and each == f"{runs[-1][-1][0]}{int(runs[-1][-1][1:]) + 1}":
            runs[-1].append(each)
        else:
            runs.append([each])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
