"""Months, fiscal years and the dates of the issues. A month is the number `12 · year + month - 1`."""

from __future__ import annotations

from dataclasses import dataclass

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def month_name(month: int) -> str:
    """`May 1986`."""
    return f"{MONTHS[month % 12]} {month // 12}"


def fiscal_year(month: int) -> int:
    """The fiscal year of a month: October 1985 to September 1986 is fiscal year 1986."""
    return (month + 3) // 12


def fiscal_start(year: int) -> int:
    """The first month of a fiscal year, October of the year before."""
    return 12 * year - 3


@dataclass(frozen=True)
class Calendar:
    """The issues, numbered from 0: issue `i` is dated `start + step·i` and prints months before that."""

    start: int
    step: int
    issues: int

    def date(self, issue: int) -> int:
        """The month that an issue is dated."""
        return self.start + self.step * issue

    def first_print(self, month: int) -> int:
        """The first issue that can print a month's figures; before issue 0 it is a number below 0."""
        return (month - self.start) // self.step + 1

    def name(self, issue: int) -> str:
        """`March 1987`."""
        return month_name(self.date(issue))

    def document(self, issue: int) -> str:
        """The issue's document id: `ledger_bulletin_1987_03.txt`."""
        date = self.date(issue)
        return f"ledger_bulletin_{date // 12}_{date % 12 + 1:02d}.txt"

    def circular(self, issue: int) -> str:
        """The id of the circular of an issue's date: `ledger_circular_1987_03.txt`."""
        return self.document(issue).replace("bulletin", "circular")

    def period(self, issue: int) -> str:
        """The period of an issue's cross tables: `the quarter ended March 1987`, or a month."""
        last = month_name(self.date(issue) - 1)
        return f"quarter ended {last}" if self.step == 3 else f"month of {last}"
