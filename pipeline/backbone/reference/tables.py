"""Tables in text: pipe tables and layout text (columns apart by spaces) → grids with exact offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pipeline.backbone.reference.layout import is_header_row, layout_columns, layout_row
from pipeline.backbone.reference.numerals import Figure, figure
from pipeline.backbone.reference.periods import mentions
from pipeline.backbone.reference.words import Period, label_period

MAX_HEAD_LINES = 14  # lines above a table that may hold its title, unit and header
_UNIT = re.compile(
    r"(?:^|[\[(;,])\s*((?:[a-z]+ ){0,3}in\s+(?:[a-z]+ ){0,3}?"
    r"(?:thousand|million|billion|trillion|hundred|dollar|percent|(?:short |long |metric )?ton|unit"
    r"|barrel)s?\b[^\].)]*"
    r"|units?:\s*[^\].)]+)",
    re.I,
)
_PAGE = re.compile(r"^\s*(?:--- PAGE \d+ ---|\d{1,4})\s*$")
_TITLE = re.compile(r"^[\s#*_]*(?:table|exhibit|schedule)\b", re.I)


@dataclass(frozen=True)
class Cell:
    """A figure, and where it stands in the document (code points)."""

    figure: Figure
    column: int
    start: int
    end: int


@dataclass(frozen=True)
class Row:
    """A row of figures. `section` is the label-only line above; its period inherits the year from above."""

    label: str
    section: str
    period: Period | None
    cells: tuple[Cell, ...]
    start: int
    end: int

    @property
    def estimate(self) -> bool:
        """Whether it is marked as a forecast (`2011 - Est.`)."""
        return re.search(r"\bEst(?:imated?)?\b", self.label) is not None


@dataclass(frozen=True, eq=False)
class Grid:
    """A table as read. `columns` are header paths for the figures, the label column left out.

    `period` is the one that its caption or title names, for tables that are about one period.
    """

    title: str
    unit: str
    period: Period | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    start: int
    end: int
    stub: str = ""  # the label column's header

    @property
    def fiscal(self) -> bool:
        """Whether its years are fiscal years."""
        return "fiscal" in self.stub.lower()


@dataclass(frozen=True)
class _Line:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@lru_cache(maxsize=512)
def grids(text: str, offset: int) -> tuple[Grid, ...]:
    """The tables of a text that starts at `offset` of its document."""
    lines = list(_lines(text, offset))
    found = [*_pipe_grids(lines), *_layout_grids(lines)]
    return tuple(sorted(found, key=lambda grid: grid.start))


def _lines(text: str, offset: int) -> Iterator[_Line]:
    for line in text.split("\n"):
        yield _Line(line, offset)
        offset += len(line) + 1


# Pipe tables


def _pipe_grids(lines: Sequence[_Line]) -> list[Grid]:
    found: list[Grid] = []
    index = 0
    while index < len(lines):
        if not lines[index].text.startswith("|"):
            index += 1
            continue
        stop = index
        while stop < len(lines) and lines[stop].text.startswith("|"):
            stop += 1
        rule = next((i for i in range(index, stop) if re.fullmatch(r"\|[\s:|-]+\|?\s*", lines[i].text)), None)
        if rule is not None and rule > index:
            head = lines[max(0, index - MAX_HEAD_LINES) : index]
            grid = _pipe_grid(lines[index:rule], lines[rule + 1 : stop], head)
            if (
                grid.title == ""
                and found
                and not any(line.text.strip() for line in _between(lines, found[-1].end, index))
            ):
                grid = replace(
                    grid, title=found[-1].title, unit=grid.unit or found[-1].unit
                )  # a continuation
            found.append(grid)
        index = stop
    return found


def _between(lines: Sequence[_Line], end: int, index: int) -> list[_Line]:
    return [line for line in lines[:index] if line.start >= end]


def _pipe_grid(header: Sequence[_Line], body: Sequence[_Line], head: Sequence[_Line]) -> Grid:
    title, unit, period = _heading(head)
    split = [[cell.text for cell in _pipe_cells(line)] for line in header]
    width = max(map(len, split))
    paths = [" > ".join(row[i] for row in split if i < len(row)) for i in range(width)]
    paths = _without_filler(paths, [_pipe_cells(line) for line in body])
    columns = tuple(_clean_path(path) for path in paths)
    rows = _rows((line, [(c.text, c.start) for c in _pipe_cells(line)]) for line in body)
    last = body[-1] if body else header[-1]
    return Grid(title, unit, period, columns[1:], rows, header[0].start, last.end, columns[0])


def _without_filler(paths: Sequence[str], body: Sequence[Sequence[_Line]]) -> list[str]:
    """Headers of a rendering that put a nameless column inside a group and shifted the names after it.

    It shows by the last column, which is then empty in every row.
    """
    shifted = bool(body) and all(len(row) == len(paths) and row[-1].text in ("nan", "") for row in body)
    filler = next(
        (
            i
            for i, path in enumerate(paths)
            if re.match(r"(?!Unnamed).* > Unnamed", path) and _splits(paths, i)
        ),
        None,
    )
    if not shifted or filler is None:
        return list(paths)
    return [*paths[:filler], *paths[filler + 1 :], ""]


def _splits(paths: Sequence[str], index: int) -> bool:
    """Whether the column before `index` belongs to the same group under a name of its own."""
    group = paths[index].partition(" > ")[0]
    return index > 0 and paths[index - 1].startswith(f"{group} > ") and "Unnamed" not in paths[index - 1]


def _pipe_cells(line: _Line) -> list[_Line]:
    """The cells of a pipe row, stripped, with their offsets."""
    cells, position = [], 1
    for raw in line.text.strip().strip("|").split("|"):
        lead = len(raw) - len(raw.lstrip())
        cells.append(_Line(raw.strip(), line.start + position + lead))
        position += len(raw) + 1
    return cells


def _clean_path(path: str) -> str:
    """A header path without the fillers of the rendering, repeated levels and column numbers."""
    levels: list[str] = []
    for level in path.split(" > "):
        level = re.sub(r"\(\d{1,2}\)|\b\d/", "", level).strip()
        if level and level != "nan" and not re.fullmatch(r"Unnamed: \S+", level) and level not in levels:
            levels.append(level)
    return " > ".join(levels)


# Layout text


def _layout_grids(lines: Sequence[_Line]) -> list[Grid]:
    """Runs of layout rows. A title or a page's end closes a run; blank and label-only lines don't."""
    found: list[Grid] = []
    run: list[int] = []
    for index, line in enumerate([*lines, _Line("--- PAGE 0 ---", 0)]):
        closes = bool(
            _TITLE.match(line.text)
            or _UNIT.match(line.text.strip())
            or _PAGE.match(line.text)
            or line.text.startswith("|")
        )
        gap = bool(run) and index - run[-1] > 6
        if (closes or gap) and run:
            if grid := _layout_grid(lines, run):
                found.append(grid)
            run = []
        if not closes and _is_row(line.text):
            run.append(index)
    return found


def _is_row(text: str) -> bool:
    return bool(layout_row(text)) and not is_header_row(text)


def _layout_grid(lines: Sequence[_Line], run: Sequence[int]) -> Grid | None:
    first = run[0]
    above = list(lines[max(0, first - MAX_HEAD_LINES - 8) : first])
    for index in range(len(above) - 1, -1, -1):
        if _PAGE.match(above[index].text) or above[index].text.startswith("|") or _is_row(above[index].text):
            above = above[index + 1 :]
            break
    title, unit, period = _heading(above)
    body: list[tuple[_Line, list[tuple[str, int]]]] = []
    widths: list[int] = []
    for index in range(first, run[-1] + 1):
        line = lines[index]
        parts = layout_row(line.text)
        if parts:
            body.append((line, [(text, line.start + at) for text, at in parts]))
            widths.append(len(parts) - 1)
        elif line.text.strip():
            body.append((line, [(line.text.strip(), line.start)]))
    if not title and len(widths) < 2:
        return None
    width = max(set(widths), key=lambda n: (widths.count(n), n))
    columns = layout_columns(_header(above, title), width)
    return Grid(
        title,
        unit,
        period,
        columns,
        _rows(iter(body)),
        above[0].start if above else lines[first].start,
        lines[run[-1]].end,
    )


def _header(above: Sequence[_Line], title: str) -> list[str]:
    """The lines between a layout table's title or unit and its first row."""
    texts = [line.text for line in above if line.text.strip()]
    closing = [
        i
        for i, text in enumerate(texts)
        if text.strip(" #*_") in title or _UNIT.search(text) or text.strip()[0] == "["
    ]
    return texts[closing[-1] + 1 :] if closing else texts


# Both


def _heading(head: Sequence[_Line]) -> tuple[str, str, Period | None]:
    """From the lines above a table: its title (with the lines that go on with it), its unit, its period."""
    texts = [line.text.strip(" #*_") for line in head]
    start = 0
    for index in range(len(texts) - 1, -1, -1):
        if _PAGE.match(texts[index]) or texts[index].startswith("|"):
            start = index + 1
            break
    texts = texts[start:]
    measured = [i for i, text in enumerate(texts) if len(text) < 240 and _UNIT.search(text)]
    found = _UNIT.search(texts[measured[-1]]) if measured else None
    unit = found.group(1).strip() if found else ""
    titled = [i for i, text in enumerate(texts) if _TITLE.match(text)]
    if titled:
        after = texts[titled[-1] :]
        closing = next(
            (i for i, text in enumerate(after) if i and (_UNIT.search(text) or text.startswith(("[", "(")))),
            1,
        )
        title = " ".join(text for text in after[:closing] if text)
    else:
        above = texts[: measured[-1]] if measured else texts
        short = [text for text in above if text and len(text) < 140 and not text.endswith(".")]
        title = " ".join(short[-3:])
    caption = texts[measured[-1]] if measured else ""
    period = _one_period(caption) or _one_period(title)
    return title, unit, period


def _one_period(text: str) -> Period | None:
    """The only period that a caption names; of a quarter, its last month."""
    found = {m.periods[-1] for m in mentions(text) if not m.ranged}
    return found.pop() if len(found) == 1 else None


def _rows(body: Iterator[tuple[_Line, list[tuple[str, int]]]]) -> tuple[Row, ...]:
    """Rows with figures; a line without is the section of those below; bare months inherit the year."""
    rows: list[Row] = []
    section, opened, year, month = "", "", 0, 0
    for line, parts in body:
        label = re.sub(r"[\s.]*\.\.[\s.]*$", "", parts[0][0]).strip()
        period, _ = label_period(label)
        if period and period.year:
            year, month = period.year, period.month
        elif period and period.month and year:
            year += 1 if month and period.month < month else 0
            month = period.month
            period = replace(period, year=year)
        cells = tuple(
            Cell(found, column, at, at + len(text))
            for column, (text, at) in enumerate(parts[1:])
            if (found := figure(text))
        )
        if cells:
            label, opened = f"{opened} {label}".strip(), ""
            rows.append(Row(label, section, period, cells, line.start, line.end))
        elif label and label != "nan":
            opened = label if label.count("(") > label.count(")") else ""
            section = section if opened else label
    return tuple(rows)
