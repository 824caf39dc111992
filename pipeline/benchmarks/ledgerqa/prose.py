"""Running text. Its figures are about other things than the tables', so it answers no question."""

from __future__ import annotations

from functools import lru_cache

from pipeline.benchmarks.ledgerqa.dates import MONTHS, Calendar, month_name
from pipeline.benchmarks.ledgerqa.families import Family, Unit, printed
from pipeline.benchmarks.ledgerqa.ledger import Event, Ledger, Notice
from pipeline.benchmarks.ledgerqa.streams import Stream, derive

_HEADINGS = ("Review of Operations", "Financing Notes", "Administrative Announcements", "Market Notes")
_SENTENCES = (
    "On {month} {day} tenders were invited for about ${large} million of {number}-week notes to refund "
    "${other} million of notes maturing the same week.",
    "Tenders were received at the fiscal agents until 1:30 p.m. and were opened on {month} {day}.",
    "The accepted bids ranged from {rate} percent to {second_rate} percent; noncompetitive tenders were "
    "taken at the average.",
    "Denominations of ${number},000 and ${number}0,000 were authorized in bearer and registered form.",
    "The Comptroller's office adopted revised forms for the returns of disbursing officers in {month}.",
    "Field offices numbered {number} at the close of the period, {day} more than a year earlier.",
    "The committee on accounts met on {month} {day} and reviewed the classification of miscellaneous items.",
    "Interest on the notes is payable on {month} {day} and half a year later, until maturity.",
    "Trading was quiet in the first half of the month and somewhat more active after the {day}th.",
    "Seasonal factors weighed on collections, as is usual in {month}.",
    "Average maturity of the marketable issues lengthened to {number} months and {day} days.",
    "Printing of the present issue was closed on the {day}th; later returns will be carried forward.",
    "An amendment to the regulations, effective {month} {day}, requires returns within {number} days.",
    "Rates on comparable obligations stood at {rate} percent, little changed from the {month} average of "
    "{second_rate} percent.",
)
_STRIDES = (1, 3, 5, 9, 11, 13)  # none shares a divisor with the number of sentences
_VARIETIES = 512  # of a sentence
_ERRATA = (
    'In Table {code}, "{title}", the figure for "{label}" in {month} was misprinted in earlier issues of '
    "this bulletin: it should read {new} {unit} instead of {old}; the total for that month should "
    "accordingly read {new_total} instead of {old_total}.",
    'Table {code}, "{title}": for {month}, the amount shown under "{label}" as {old} is corrected to {new} '
    "{unit}, and the total for the month from {old_total} to {new_total}.",
)


_CIRCULARS = (
    'Table {code}, "{title}": under "{label}", {month}, for {old} read {new} ({unit}); the total for the '
    "month, given as {old_total}, becomes {new_total}.",
    'In the monthly figures of Table {code}, "{title}", {new} {unit} takes the place of {old} as the '
    'amount of "{label}" for {month}, and {new_total} that of {old_total} as the total.',
)


def paragraph(stream: Stream) -> str:
    """A paragraph of four sentences, now and then with a heading above it."""
    word, first = divmod(stream.word(), len(_SENTENCES))
    word, stride = divmod(word, len(_STRIDES))
    word, heading = divmod(word, 4 * len(_HEADINGS))
    sentences = []
    for step in range(4):
        word, variety = divmod(word, _VARIETIES)
        sentences.append(_sentence((first + step * _STRIDES[stride]) % len(_SENTENCES), variety))
    text = " ".join(sentences)
    return f"{_HEADINGS[heading]}\n\n{text}" if heading < len(_HEADINGS) else text


@lru_cache(maxsize=len(_SENTENCES) * _VARIETIES)
def _sentence(number: int, variety: int) -> str:
    word, month = divmod(derive(variety, number), len(MONTHS))
    word, day = divmod(word, 16)
    word, count = divmod(word, 49)
    word, large = divmod(word, 85)
    word, other = divmod(word, 85)
    word, rate = divmod(word, 900)
    return _SENTENCES[number].format(
        month=MONTHS[month],
        day=4 + day,
        number=12 + count,
        large=50 * (11 + large),
        other=50 * (11 + other),
        rate=_rate(rate),
        second_rate=_rate(word % 900),
    )


def _rate(hundredths: int) -> str:
    whole, part = divmod(hundredths, 100)
    return f"{2 + whole}.{part:02d}"


def unit_notice(family: Family) -> str:
    """What the issue that changes a table's unit says of it."""
    return f"Beginning with this issue, the figures of Table {family.code} are given in millions of dollars."


def note(ledger: Ledger, family: Family, event: Event) -> tuple[str, int, int]:
    """A note of an event, and where in it the corrected figure and the corrected total start."""
    unit = family.unit_at(event.issue)
    new = ledger.month_values(family, event.month, event.issue)
    fields = {
        "code": family.code,
        "title": family.title,
        "label": family.columns[event.column].label,
        "month": month_name(event.month),
        "unit": f"{unit.word} dollars",
        "old": _figure(family, unit, int(new[event.column]) - event.delta),
        "old_total": _figure(family, unit, int(new[-1]) - event.delta),
    }
    notes = _ERRATA if event.notice is Notice.erratum else _CIRCULARS
    before, rest = Stream(family.key, event.month).pick(notes).split("{new}")
    middle, after = rest.split("{new_total}")
    before, middle, after = (part.format(**fields) for part in (before, middle, after))
    value, total = (_figure(family, unit, int(new[column])) for column in (event.column, -1))
    return f"{before}{value}{middle}{total}{after}", len(before), len(before) + len(value) + len(middle)


def _figure(family: Family, unit: Unit, value: int) -> str:
    return printed(value, unit, commas=True, parentheses=family.parentheses)


_CIRCULAR = (
    "Office of the Comptroller of Accounts\n\nLate Corrections to the Ledger Bulletin\n\nThe amounts "
    "below, published in earlier issues of the bulletin, have been found in error on the audit of the "
    "accounts. They will not be printed again by month."
)


def circular_head(calendar: Calendar, issue: int) -> str:
    """The first lines of a circular."""
    return f"LEDGER CIRCULAR\n\n{calendar.name(issue)}\n\n{_CIRCULAR}"


def masthead(calendar: Calendar, issue: int) -> str:
    """The first lines of an issue."""
    return f"LEDGER BULLETIN\n\n{calendar.name(issue)}\n\nOffice of the Comptroller of Accounts"
