"""The phrasings kept apart from the reference policy: tables described, not quoted; other words and order."""

from __future__ import annotations

from pipeline.benchmarks.ledgerqa.phrasing import Phrasings

APART = Phrasings(
    frames={
        "single": (
            "I am looking at {table} ({where}). Which amount stands there for {what}? {form}",
            "{form} Wanted is {what}. It can be read off {table}, {where}.",
            "Someone checking {table}, {where}, wants to know {what}; which number should they write down? "
            "{form}",
            "Look up {what}: the source is {table}, {where}. {form}",
            "Among {table}, {where}, one entry is {what}. State it. {form}",
            "A clerk copies {what} out of {table}, {where}. Which amount does the clerk copy? {form}",
        ),
        "arithmetic": (
            "A reader of {table}, {where}, works out {what}. Which result should come out? {form}",
            "{form} The quantity sought is {what}, with every input read from {table}, {where}.",
            "Let the inputs come from {table}, {where}. Work out {what}. {form}",
            "How large is {what}, if one relies on {table}, {where}? {form}",
            "Determine {what}. All inputs are found among {table}, {where}. {form}",
            "On the evidence of {table}, {where}, how much is {what}? {form}",
        ),
        "series": (
            "The monthly line {column} belongs to {table}. Between {first} and {last}, both included, there"
            " are {count} months; where an amount was changed by a subsequent bulletin or a printed "
            "correction, the final version counts. How large is {what}? {form}",
            "{form} Sought is {what}, built from the {column} entries among {table}. The span runs from the"
            " month of {first} up to and including {last}, {count} months in all, and superseded amounts do"
            " not count.",
            "Somebody assembles a run of {count} months, {first} to {last} inclusive, of {column} from "
            "{table}. Each amount is the newest one on record, whether from a table or from a correction "
            "notice. Work out {what}. {form}",
            "How large is {what}, when the months are {first} to {last} inclusive ({count} of them), the "
            "line is {column}, and the source is {table}? Whenever bulletins disagree, trust the last word."
            " {form}",
            "Starting with {first} and ending with {last}, collect {count} month-by-month amounts of "
            "{column} among {table}, in their final state after whatever corrections were published. "
            "Determine {what}. {form}",
            "Take {table}, specifically {column}. Over the {count} consecutive months beginning {first} and"
            " finishing {last}, and with outdated amounts replaced by what superseded them (misprints put "
            "right too), how much is {what}? {form}",
        ),
        "revision": (
            "Bulletins sometimes amend what they printed before. In the light of everything published, how "
            "much is {what}, among {table}? {form}",
            "{form} Sought: {what}. The source is {table}, some amounts of which were superseded, or "
            "declared misprints, in subsequent bulletins.",
            "Somebody has an old bulletin at hand and distrusts it. Going through the whole file of "
            "{table}, how large is {what}? {form}",
            "Once every amendment and printed correction has been applied to {table}, which number results "
            "for {what}? {form}",
            "Determine {what} with regard to {table}, bearing in mind that subsequent bulletins amended some "
            "entries. {form}",
            "The record on {table} changed over time, through amended tables or correction notices. Work out "
            "{what}. {form}",
        ),
    },
    operations={
        "value": ("{a}",),
        "difference": ("what is left of {a} after taking away {b}", "{a} less {b}"),
        "percent_change": (
            "the relative movement, in per cent of the starting amount, when going from {a} to {b}",
            "the growth rate (negative for a fall) between {a} and {b}",
        ),
        "share": ("the portion, per hundred, that {a} makes up of {b}",),
        "ratio": ("the quotient obtained when {a} is divided by {b}",),
        "sum": ("the amount that {list} make together", "the combined amount of {list}"),
        "mean": ("the simple average of {list}", "the average over {list}"),
        "geometric_mean": ("the n-th root of the product of {list} (n being how many there are)",),
        "sample_deviation": ("the standard deviation of {list}, with n - 1 in the denominator",),
        "population_deviation": ("the standard deviation of {list}, with n in the denominator",),
        "figures": ("these {count} amounts", "those {count} monthly amounts"),
    },
    table=(
        "the {basis} {concept} of the {topic}, tabulated by {by}",
        "the {topic}'s {concept} on the {basis} reckoning, split by {by}",
        "the {by} breakdown of {basis} {concept} published for the {topic}",
    ),
    where=("bulletin dated {issue}", "going by the number that came out in {issue}"),
    where_each="each input from the bulletin named beside it",
    printed_in="{cell} going by the bulletin dated {issue}",
    month_cell=("the {period} amount under {column}", "{column} during {period}"),
    fiscal_cell=(
        "the {column} amount of fiscal {period}",
        "{column} over the twelve months of fiscal {period}",
    ),
    cross_cell=("the {row} entry under {column} for the {period}", "{column}, line {row}, for the {period}"),
    first_report="the amount originally published for {cell}",
    last_report="the amount that finally stands for {cell}",
    units={
        "thousand": "thousand dollars",
        "million": "million dollars",
        "percent": "per cent",
        "ratio": "a pure number",
    },
    whole=(
        "The result should be an integer count of {unit}.",
        "Please express it in {unit} without any decimals.",
    ),
    rounded=(
        "The result should be expressed in {unit} with {decimals} digits after the decimal point.",
        "Please state {unit}, keeping {decimals} digits after the point.",
    ),
    numerals={2: "two", 3: "three", 4: "four"},
)
