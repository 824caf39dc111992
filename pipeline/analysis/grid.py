"""A table of results, on a console of any width and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

NARROWEST = 18
"""A column of names is folded to no fewer characters: below that, names can't be read."""
_GAP = 2  # characters between columns


@dataclass(frozen=True)
class Grid:
    """A table; its first `names` columns say what a row is about, the others are figures.

    On a console too narrow for it, names are folded, and figures that don't fit beside them follow in a table
    of their own, with the names again: nothing is cut. What is written in it is shown as it is, never as
    markup.
    """

    title: str
    names: int
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield as many tables as the figures take."""
        title = self.title
        for figures in self._parts(options.max_width):
            yield self._table(title, [*range(self.names), *figures])
            title = f"{self.title}, continued"

    def markdown(self) -> str:
        """Return the table as Markdown, under its title."""
        rule = ["---" if number < self.names else "---:" for number in range(len(self.header))]
        lines = [_line(self.header), "|" + "|".join(rule) + "|", *map(_line, self.rows)]
        return f"## {escaped(self.title)}\n\n" + "\n".join(lines)

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Yield the figures' columns, as many at a time as fit beside the folded names."""
        names = sum(min(self._width(column), NARROWEST) + _GAP for column in range(self.names))
        part: list[int] = []
        left = width - names
        for column in range(self.names, len(self.header)):
            needed = self._width(column) + _GAP
            if part and needed > left:
                yield part
                part, left = [], width - names
            part.append(column)
            left -= needed
        yield part

    def _width(self, column: int) -> int:
        return max(cell_len(row[column]) for row in (self.header, *self.rows))

    def _table(self, title: str, columns: Sequence[int]) -> Table:
        table = Table(
            title=Text(title),
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
        )
        for column in columns:
            if column < self.names:
                least = min(self._width(column), NARROWEST)
                table.add_column(Text(self.header[column]), overflow="fold", min_width=least)
            else:
                table.add_column(Text(self.header[column]), justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(row[column]) for column in columns))
        return table


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"


def escaped(text: str) -> str:
    """Return `text` with what Markdown or HTML would act on made plain."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())
