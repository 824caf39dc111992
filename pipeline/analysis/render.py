"""A run's summary on screen, as Markdown and as JSON. All three say which arms are no language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Group
from rich.text import Text

from pipeline.analysis.cost import price_said, rates_said
from pipeline.analysis.grid import Grid, escaped
from pipeline.analysis.retrieval import GOLD, NAME, STAGES, VERSION
from pipeline.analysis.summaries import ArmSummary, Figures, Rate, Summary
from pipeline.runs.folder import RunFolder, write_atomically

NOT_A_LANGUAGE_MODEL = "not a language model"
MARK = "†"
_EXPLANATION = (
    f"{MARK} {NOT_A_LANGUAGE_MODEL}: figures that show the wiring to work; no evidence about any method."
)
_NAMED = 10
"""So many tasks a note names."""
_TITLES = {"exact": "Exact %", "within_5%": "@5 %", "correct": "Correct %"}
"""Metrics of the official scorer that the first table shows."""
_RETRIEVAL = f"{NAME} {VERSION}"

Column = tuple[str, str]  # a scorer's label, and a metric


def screen(summary: Summary) -> Group:
    """Return the summary for a rich console."""
    return Group(*_grids(summary), *(Text(note) for note in _notes(summary)))


def markdown(summary: Summary) -> str:
    """Return the summary as Markdown."""
    return (
        "\n\n".join([*(grid.markdown() for grid in _grids(summary)), *map(escaped, _notes(summary))]) + "\n"
    )


def as_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as plain JSON data; each arm has its `bill`, and a `label`, which tables show."""
    data = asdict(summary)
    for arm, record in zip(summary.arms, data["arms"], strict=True):
        record["label"] = arm.arm if arm.language_model else f"{arm.arm} ({NOT_A_LANGUAGE_MODEL})"
        record["bill"] = asdict(arm.bill)
    plain: dict[str, Any] = orjson.loads(orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS))
    return plain


def write(summary: Summary, folder: Path) -> None:
    """Write `results/table.md` and `results/table.json` of the run in `folder`."""
    results = RunFolder(folder).results
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(results / "table.md", markdown(summary).encode())
    content = orjson.dumps(as_json(summary), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    write_atomically(results / "table.json", content)


def _label(arm: ArmSummary) -> str:
    return arm.arm if arm.language_model else f"{arm.arm} {MARK}"


def _grids(summary: Summary) -> Iterator[Grid]:
    """Yield the tables; those that would be empty are left out."""
    columns = _official_columns(summary)
    official = list(dict.fromkeys(label for label, _ in columns))
    scorers = f", scored by {', '.join(official)}" if official else ""
    yield Grid(
        f"Run {summary.run}{scorers}",
        1,
        ["Arm", "Done", *_titles(columns), "Turns", "Input", "Cached", "Output", *_billed(summary)],
        [
            [
                _label(arm),
                _done(arm.figures),
                *_rates(arm.figures, columns),
                *_spent(arm.figures),
                *_billed(summary, arm),
            ]
            for arm in summary.arms
        ],
    )
    yield _endings(summary)
    yield from _faults(summary, columns)
    yield from _breakdowns(summary, columns)
    yield from _every_scorer(summary, columns)
    yield from _retrieval(summary)


def _official_columns(summary: Summary) -> list[Column]:
    """Return the official scorers' metrics that have a title, or all where none has."""
    every = list(
        dict.fromkeys(
            (label, metric)
            for arm in summary.arms
            for label in arm.official
            for metric in arm.figures.rates.get(label, ())
        )
    )
    return [column for column in every if column[1] in _TITLES] or every


def _titles(columns: Sequence[Column]) -> list[str]:
    """Return the columns' headings: the metric, and who scored where two scorers have one of that name."""
    names = [_TITLES.get(metric, metric) for _, metric in columns]
    return [
        f"{name}, {label.rpartition(' by ')[2]}" if names.count(name) > 1 else name
        for name, (label, _) in zip(names, columns, strict=True)
    ]


def _endings(summary: Summary) -> Grid:
    statuses = list(dict.fromkeys(status for arm in summary.arms for status in arm.figures.statuses))
    return Grid(
        "How episodes ended",
        2,
        ["Arm", "Benchmark", *statuses, "owed"],
        [
            [
                _label(arm),
                arm.benchmark,
                *(f"{arm.figures.statuses.get(status, 0):,}" for status in statuses),
                f"{arm.figures.owed:,}",
            ]
            for arm in summary.arms
        ],
    )


def _faults(summary: Summary, columns: Sequence[Column]) -> Iterator[Grid]:
    """Yield what was read and scored by planted fault, in planted runs."""
    shown = [*columns, (_RETRIEVAL, "spans_read")]
    rows = [
        [_label(arm), fault, _done(figures), *_rates(figures, shown)]
        for arm in summary.arms
        for fault, figures in arm.faults.items()
    ]
    if rows:
        header = ["Arm", "Fault", "Episodes", *_titles(columns), "Spans read %"]
        yield Grid("By planted fault", 2, header, rows)


def _planted_notes(summary: Summary) -> Iterator[str]:
    """Yield which episodes of a planted run are in the tables, and which are not."""
    if summary.transcripts is None:
        return
    played = [arm for arm in summary.arms if arm.figures.planned]
    yield (
        f"Planted run: {sum(arm.figures.planned for arm in played):,} episodes in {len(played)} arms are the "
        "run's, and scored."
    )
    if summary.transcripts:
        told = sum(summary.transcripts.values())
        yield (
            f"{told:,} more, of {', '.join(summary.transcripts)}, are transcripts "
            "(transcripts/ARM/TASK-SEED.jsonl), which nothing scores. The truth of all is in planted.parquet."
        )


def _breakdowns(summary: Summary, columns: Sequence[Column]) -> Iterator[Grid]:
    """Yield a table for each field that tasks are broken down by."""
    for field in dict.fromkeys(field for arm in summary.arms for field in arm.by):
        yield Grid(
            f"By {field}",
            2,
            ["Arm", field.replace("_", " ").capitalize(), "Done", *_titles(columns)],
            [
                [_label(arm), value, _done(figures), *_rates(figures, columns)]
                for arm in summary.arms
                for value, figures in arm.by.get(field, {}).items()
            ],
        )


def _every_scorer(summary: Summary, shown: Sequence[Column]) -> Iterator[Grid]:
    """Yield every metric of every scorer, if there are more than the first table shows."""
    labels = [label for label in summary.scorers if label != _RETRIEVAL]
    scored = [(arm, label) for arm in summary.arms for label in labels if label in arm.figures.rates]
    metrics = list(dict.fromkeys(metric for arm, label in scored for metric in arm.figures.rates[label]))
    if {(label, metric) for arm, label in scored for metric in arm.figures.rates[label]} <= set(shown):
        return
    yield Grid(
        "By every scorer and tolerance, %",
        2,
        ["Arm", "Scorer", *metrics],
        [
            [_label(arm), label, *_rates(arm.figures, [(label, metric) for metric in metrics])]
            for arm, label in scored
        ],
    )


def _retrieval(summary: Summary) -> Iterator[Grid]:
    """Yield the recall of gold documents and spans, where tasks name them."""
    rows = [
        [_label(arm), gold, *_rates(arm.figures, [(_RETRIEVAL, f"{gold}_{stage}") for stage in STAGES])]
        for arm in summary.arms
        for gold in GOLD
        if f"{gold}_{STAGES[0]}" in arm.figures.rates.get(_RETRIEVAL, ())
    ]
    if rows:
        header = ["Arm", "Gold", *(stage.capitalize() for stage in STAGES)]
        yield Grid("Gold evidence found, read and cited, %", 2, header, rows)


def _done(figures: Figures) -> str:
    return f"{figures.done:,}" if not figures.owed else f"{figures.done:,} of {figures.planned:,}"


def _rates(figures: Figures, columns: Sequence[Column]) -> list[str]:
    return [_percent(figures.rates.get(label, {}).get(metric)) for label, metric in columns]


def _percent(rate: Rate | None) -> str:
    if rate is None or rate.mean is None:
        return "–"
    spread = f" ± {rate.sd * 100:.1f}" if rate.sd is not None else ""
    return f"{rate.mean * 100:.1f}{spread}"


def _spent(figures: Figures) -> list[str]:
    return [
        "–" if figures.median_turns is None else f"{figures.median_turns:g}",
        _short(figures.prompt_tokens),
        _short(figures.cached_tokens),
        _short(figures.completion_tokens),
    ]


def _short(tokens: int) -> str:
    """Return a large number in thousands, millions or billions; JSON has it whole."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if tokens >= 10 * size:
            return f"{tokens / size:,.0f}{letter}"
        if tokens >= size:
            return f"{tokens / size:.1f}{letter}"
    return str(tokens)


def _billed(summary: Summary, arm: ArmSummary | None = None) -> list[str]:
    """Return an arm's cost and GPU hours, or their headings; only what is known of at least one arm."""
    bills = [one.bill for one in summary.arms]
    cells = []
    if any(one.amount is not None for one in bills):
        cost = (
            "–" if arm is None or arm.bill.amount is None else f"{arm.bill.amount:,.2f} {arm.bill.currency}"
        )
        cells.append("Cost" if arm is None else cost)
    if any(one.gpu_hours is not None for one in bills):
        hours = "–" if arm is None or arm.bill.gpu_hours is None else f"{arm.bill.gpu_hours:,.2f}"
        cells.append("GPU h" if arm is None else hours)
    return cells


def _bill_notes(summary: Summary) -> Iterator[str]:
    """Yield the prices and rates behind the figures, and which arms have none."""
    headings = _billed(summary)
    for arm in summary.arms:
        if "Cost" in headings:
            if arm.bill.amount is None:
                yield f"{arm.arm}: no cost, since backbone.price.input or output is not set."
            else:
                yield f"{arm.arm}: cost of the accepted episodes' tokens at {price_said(arm.price)}."
        if "GPU h" in headings and arm.bill.gpu_hours is not None:
            yield f"{arm.arm}: GPU hours estimated at {rates_said(arm.rates)}; cached tokens take none."


def _notes(summary: Summary) -> Iterator[str]:
    """Yield what the tables' figures do not say of themselves."""
    if {"exact", "within_5%"} & {metric for _, metric in _official_columns(summary)}:
        yield "Exact: the answer is the gold's; @5 %: within 5 % of it."
    over = "seeds, ± their standard deviation where there are several"
    if summary.transcripts is not None:
        over = "all episodes: a planted run has no seeds, but those that tell its faults apart"
    yield f"Means over {over}; median turns; sums of tokens, as the server counts them."
    yield from _planted_notes(summary)
    if changed := [f"{task} ({', '.join(columns)})" for task, columns in summary.regolded.items()]:
        named = ", ".join([*changed[:_NAMED], *(["…"] if len(changed) > _NAMED else [])])
        yield f"Gold that changed after the run began, and that scores are by: {named}."
    yield from _bill_notes(summary)
    if not all(arm.language_model for arm in summary.arms):
        yield _EXPLANATION
    for arm in summary.arms:
        figures = arm.figures
        if figures.owed:
            yield f"{arm.arm}: {figures.owed:,} of {figures.planned:,} episodes are owed: figures may change."
        official = [rate for label in arm.official for rate in figures.rates.get(label, {}).values()]
        if unscored := max((rate.unscored for rate in official), default=figures.done):
            yield f"{arm.arm}: {unscored:,} finished episodes are unscored and in no mean."
        if arm.revision:
            yield f"{arm.arm}: {arm.benchmark} is not the published data; {arm.revision}."
        if figures.scorer_errors:
            yield f"{arm.arm}: the scorer failed on {figures.scorer_errors:,} episodes, which count as 0."
