"""The phrasings that the reference policy is built on: titles verbatim, labels in quotes, months by name."""

from __future__ import annotations

from pipeline.benchmarks.ledgerqa.phrasing import Phrasings

BUILT = Phrasings(
    frames={
        "single": (
            "According to {table}, {where}, what was {what}? {form}",
            "What was {what} in {table}, {where}? {form}",
            "In {table}, {where}, what figure is given for {what}? {form}",
            "Using {table}, {where}, find {what}. {form}",
            "{table}, {where}, gives figures for the period. What was {what}? {form}",
            "What does {table}, {where}, show as {what}? {form}",
        ),
        "arithmetic": (
            "According to {table}, {where}, what was {what}? {form}",
            "Using {table}, {where}, calculate {what}. {form}",
            "Using the figures of {table}, {where}, what was {what}? {form}",
            "From {table}, {where}, compute {what}. {form}",
            "What was {what}, according to {table}, {where}? {form}",
            "Take the figures from {table}, {where}. What was {what}? {form}",
        ),
        "series": (
            "For each of the {count} months from {first} through {last}, take the most recently reported "
            'figure for "{column}" in {table}, counting later revisions and errata notes. What is {what}? '
            "{form}",
            'Consider "{column}" in {table} for the {count} months from {first} through {last}. For every '
            "month use the figure most recently reported in any issue, errata notes included. What is "
            "{what}? {form}",
            'Using the most recently reported figures (revisions and errata notes included) for "{column}" '
            "in {table}, compute {what} for the {count} months from {first} through {last}. {form}",
            'What is {what}, taking "{column}" in {table} for each of the {count} months from {first} '
            "through {last} as most recently reported, with later revisions and errata notes? {form}",
            'From {first} through {last}, {table} reports "{column}" for {count} months. Taking the latest '
            "reported figure for each month, corrected by errata notes where there are any, what is {what}?"
            " {form}",
            'Calculate {what}: "{column}" in {table}, monthly, from {first} through {last} ({count} '
            "months). Use for each month the most recently reported figure, including revisions and errata "
            "notes. {form}",
        ),
        "revision": (
            "Counting all later revisions and errata notes, what was {what} in {table}? {form}",
            "In {table}, what was {what}, counting later revisions, restated tables and errata notes? {form}",
            "Earlier issues may print figures that were corrected later. In {table}, what was {what}? {form}",
            "Using {table} in all issues, with revisions and errata notes, find {what}. {form}",
            "According to all issues of the bulletin together, errata notes included, what was {what} in "
            "{table}? {form}",
            "What was {what} in {table}, taking revisions and errata notes of later issues into account? "
            "{form}",
        ),
    },
    operations={
        "value": ("{a}",),
        "difference": ("{a} minus {b}", "the difference of {a} minus {b}"),
        "percent_change": ("the percentage change from {a} to {b}",),
        "share": ("{a} as a percentage of {b}", "the share of {a} in {b}, as a percentage"),
        "ratio": ("the ratio of {a} to {b}",),
        "sum": ("the sum of {list}", "the total of {list}"),
        "mean": ("the arithmetic mean of {list}", "the mean of {list}"),
        "geometric_mean": ("the geometric mean of {list}",),
        "sample_deviation": ("the sample standard deviation of {list}",),
        "population_deviation": ("the population standard deviation of {list}",),
        "figures": ("the {count} figures", "the {count} monthly figures"),
    },
    table=('Table {code}, "{title}"', 'the table "{title}"', 'Table {code} ("{title}")'),
    where=("as printed in the {issue} issue", "in the issue of {issue}"),
    where_each="taking each figure from the issue named with it",
    printed_in="{cell} as printed in the {issue} issue",
    month_cell=('"{column}" for {period}', '"{column}" in {period}'),
    fiscal_cell=('"{column}" for fiscal year {period}', '"{column}" in fiscal year {period}'),
    cross_cell=('"{column}" for "{row}" in the {period}',),
    first_report="the first reported figure for {cell}",
    last_report="the most recently reported figure for {cell}",
    units={
        "thousand": "thousands of dollars",
        "million": "millions of dollars",
        "percent": "percent",
        "ratio": "a plain ratio",
    },
    whole=("Answer in {unit}, as a whole number.", "Give the answer as a whole number, in {unit}."),
    rounded=(
        "Answer in {unit}, rounded to {decimals} decimal places.",
        "Give the answer in {unit}, rounded to {decimals} decimal places.",
    ),
    numerals={2: "two", 3: "three", 4: "four"},
)
