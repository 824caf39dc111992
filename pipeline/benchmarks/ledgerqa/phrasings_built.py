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
            'figure for "{column}" in {table}, counting later revisions, errata notes and circulars. What '
            "is {what}? {form}",
            'Consider "{column}" in {table} for the {count} months from {first} through {last}. For every '
            "month use the figure most recently reported in any issue, errata notes and circulars included. "
            "What is {what}? {form}",
            "Using the most recently reported figures (revisions, errata notes and circulars included) for "
            '"{column}" in {table}, compute {what} for the {count} months from {first} through {last}. '
            "{form}",
            'What is {what}, taking "{column}" in {table} for each of the {count} months from {first} '
            "through {last} as most recently reported, with later revisions, errata notes and circulars? "
            "{form}",
            'From {first} through {last}, {table} reports "{column}" for {count} months. Taking the latest '
            "reported figure for each month, corrected by errata notes and circulars where there are any, "
            "what is {what}? {form}",
            'Calculate {what}: "{column}" in {table}, monthly, from {first} through {last} ({count} '
            "months). Use for each month the most recently reported figure, including revisions, errata "
            "notes and circulars. {form}",
        ),
        "revision": (
            "Counting all later revisions, errata notes and circulars, what was {what} in {table}? {form}",
            "In {table}, what was {what}, counting later revisions, restated tables, errata notes "
            "and circulars? {form}",
            "Earlier issues may print figures that were corrected later. In {table}, what was {what}? {form}",
            "Using {table} in all issues, with revisions, errata notes and circulars, find {what}. {form}",
            "According to all issues of the bulletin together, errata notes and circulars included, what "
            "was {what} in {table}? {form}",
            "What was {what} in {table}, taking later revisions, errata notes and circulars into account? "
            "{form}",
        ),
        "unit": (
            "According to {table}, {where}, what was {what}? Mind the unit. {form}",
            "Using {table}, {where}, state {what}, converted where the table has another unit. {form}",
            "What was {what}, going by {table}, {where}? Mind unit and sign. {form}",
            "In {table}, {where}, look at the unit first. What was {what}? {form}",
            "From {table}, {where}, find {what}, whatever the unit of the table. {form}",
            "Take {table}, {where}. What was {what}? Convert the unit if that is needed. {form}",
        ),
        "calendar": (
            "Counting all later revisions, errata notes and circulars, what was {what} in {table}? {form}",
            "Mind that fiscal years begin in October. As most recently reported, what was {what} in {table}? "
            "{form}",
            "In {table}, as most recently reported, errata notes and circulars included, what was {what}? "
            "{form}",
            "Using {table} in all issues, with revisions, errata notes and circulars, find {what}. {form}",
            "A fiscal year is no calendar year. In {table}, what was {what}, as most recently reported? "
            "{form}",
            "What was {what} in {table}, taking later revisions, errata notes and circulars into account? "
            "{form}",
        ),
        "list": (
            "According to {table}, {where}, what is the list of {what}? {form}",
            "From {table}, {where}, write down {what}. {form}",
            "Using {table}, {where}, list {what}. {form}",
            "In {table}, {where}, find {what}. {form}",
            "List {what}, according to {table}, {where}. {form}",
            "Take {table}, {where}. Write down {what}. {form}",
        ),
    },
    operations={
        "value": ("{a}",),
        "absolute": ("the absolute value of {a}", "the absolute value (without a sign) of {a}"),
        "excess": ("{a} minus {b}", "the difference of {a} minus {b}"),
        "difference": ("{a} minus {b}", "the difference of {a} minus {b}"),
        "percent_change": ("the percentage change from {a} to {b}",),
        "share": ("{a} as a percentage of {b}", "the share of {a} in {b}, as a percentage"),
        "ratio": ("the ratio of {a} to {b}",),
        "sum": ("the sum of {list}", "the total of {list}"),
        "mean": ("the arithmetic mean of {list}", "the mean of {list}"),
        "geometric_mean": ("the geometric mean of {list}",),
        "sample_deviation": ("the sample standard deviation of {list}",),
        "population_deviation": ("the population standard deviation of {list}",),
        "trend": (
            "the least-squares slope a month of {list}",
            "the trend of {list} (the slope a month of the least-squares line)",
        ),
        "list": ("the figures, in this order, for {list}",),
        "descending": ("the figures, from the largest to the smallest, for {list}",),
        "ranking": ('the names {rows}, ranked from the largest to the smallest "{column}" in the {period}',),
        "figures": ("the {count} figures", "the {count} monthly figures"),
    },
    table=('Table {code}, "{title}"', 'the table "{title}"', 'Table {code} ("{title}")'),
    where=("as printed in the {issue} issue", "in the issue of {issue}"),
    where_each="taking each figure from the issue named with it",
    printed_in="{cell} as printed in the {issue} issue",
    month_cell=('"{column}" for {period}', '"{column}" in {period}'),
    fiscal_cell=('"{column}" for fiscal year {period}', '"{column}" in fiscal year {period}'),
    fiscal_year_cell=(
        '"{column}" for the fiscal year {period} ({first} through {last})',
        '"{column}" in fiscal year {period} ({first} to {last})',
    ),
    calendar_cell=(
        'the total of "{column}" for the calendar year {period} (January through December)',
        'the twelve-month total of "{column}" in calendar year {period} (January to December)',
    ),
    cross_cell=('"{column}" for "{row}" in the {period}',),
    quoted='"{name}"',
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
    list_whole=(
        "Answer in {unit}, with a list in brackets of {count} whole numbers: [a, b, …].",
        "Give the answer as a list in brackets of {count} whole numbers, [a, b, …], in {unit}.",
    ),
    list_rounded=(
        "Answer in {unit}, with a list in brackets of {count} numbers, each rounded to {decimals} decimal "
        "places: [a, b, …].",
        "Give the answer as a list in brackets of {count} numbers, [a, b, …], in {unit}, each rounded to "
        "{decimals} decimal places.",
    ),
    list_names=(
        "Answer with a list in brackets of the {count} names: [first, second, …].",
        "Give the answer as a list in brackets of the {count} names, [first, second, …].",
    ),
    signs=("Net repayments count as negative.", "Net repayments have a minus sign."),
    numerals={2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"},
)
