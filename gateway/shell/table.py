"""Results drawn for the eye: a table, or one line per column where a row does not fit the screen.

Where there is no screen everything is whole. Where a table must fit one, ``fitting`` says what is
cut, and the line below it tells.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TextIO

from rich.cells import cell_len

from gateway.shell.result import Row, ShownColumn, ShownResult
from gateway.shell.table_layout import (
    TableLayout,
    fits_screen,
    full_layout,
    narrow_layout,
    natural_widths,
)
from gateway.shell.values import display_text
from gateway.wording import counted
from journal.model.lazy_dataclass import dataclass

_MEASURED_ROWS = 5000
_UNFOLDED_ROWS = 20
_DIM, _BOLD, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Style:
    """How tables are drawn. ``width`` None: as wide as they are; ``rows`` 0: all of them.

    ``expanded`` is ``on``, ``off`` or ``auto``: rows that do not fit the width are expanded.
    ``remedy`` says how to see what was cut.
    """

    width: int | None = None
    rows: int = 0
    null: str = "NULL"
    expanded: str = "auto"
    color: bool = False
    unicode: bool = True
    footer: bool = True
    remedy: str = r"\x on shows them whole"


def style_for(out: TextIO) -> Style:
    """The style a stream can show: fitted and coloured at a terminal, plain elsewhere."""
    encoding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "")
    unicode = encoding.startswith("utf")
    if not out.isatty():
        return Style(expanded="off", unicode=unicode)
    color = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return Style(screen_width(), color=color, unicode=unicode)


def screen_width() -> int:
    """Columns of the terminal."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    for stream in (1, 2, 0):
        try:
            return os.get_terminal_size(stream).columns or 80
        except OSError:
            continue
    return 80


def write_table(result: ShownResult, out: TextIO, style: Style) -> int:
    """Draw a result; returns the number of rows that were read."""
    rows = result.rows if not style.rows else islice(result.rows, style.rows)
    first = list(islice(rows, _MEASURED_ROWS))
    more = bool(style.rows) and len(first) == style.rows and next(result.rows, None) is not None
    drawn = _split_lines(first) if len(first) <= _UNFOLDED_ROWS else list(enumerate(first))
    cells = [[display_text(value, style.null) for value in row] for _, row in drawn]
    widths = natural_widths([display_text(column.name) for column in result.columns], cells)
    fitting = full_layout(result.columns, widths)
    if first and _needs_expanded(widths, style):
        count = _write_expanded(result.columns, chain(first, rows), out, style)
    else:
        if (
            style.expanded == "off"
            and style.width is not None
            and not fits_screen(widths, style.width)
        ):
            mark = "…" if style.unicode else "..."
            fitting = narrow_layout(result.columns, widths, first, style.width, mark)
        rest = (
            (n, row, [display_text(v, style.null) for v in row])
            for n, row in enumerate(rows, len(first))
        )
        start = ((n, row, texts) for (n, row), texts in zip(drawn, cells, strict=True))
        count = _table(fitting, chain(start, rest), out, style)
    _write_footer(count, more, fitting.omissions(), out, style)
    return count


def _split_lines(rows: Sequence[Row]) -> list[tuple[int, Row]]:
    """Rows whose texts have several lines, as several rows: for plans, definitions and the like."""
    found: list[tuple[int, Row]] = []
    for place, row in enumerate(rows):
        parts = [v.split("\n") if isinstance(v, str) else [v] for v in row]
        for number in range(max((len(p) for p in parts), default=1)):
            found.append((place, tuple(p[number] if number < len(p) else "" for p in parts)))
    return found


def _needs_expanded(widths: Sequence[int], style: Style) -> bool:
    if style.expanded != "auto":
        return style.expanded == "on"
    # A column that stands alone loses nothing in a table; a long line goes on in the next.
    return len(widths) > 1 and not fits_screen(widths, style.width)


def _write_footer(count: int, more: bool, losses: list[str], out: TextIO, style: Style) -> None:
    """The line below: how many rows, and always what was cut."""
    parts = [counted(count, "row")] if style.footer else []
    if more and style.footer:
        parts[0] += r" shown, there are more: \pset rows 0 shows all"
    parts += losses
    if losses and style.remedy:
        parts.append(style.remedy)
    if parts:
        out.write(_dim(f"({'; '.join(parts)})", style) + "\n")


def _table(
    fitting: TableLayout,
    rows: Iterator[tuple[int, Row, list[str]]],
    out: TextIO,
    style: Style,
) -> int:
    """Draw rows, each with its number and the texts of its values; returns how many there were."""
    bar, line, cross, dots = ("│", "─", "┼", "…") if style.unicode else ("|", "-", "+", "...")
    columns, widths, places = fitting.columns, fitting.widths, fitting.places
    gap = _gap_at(places, len(columns))
    separator = _dim(bar, style)

    def join_cells(texts: list[str]) -> str:
        if gap is not None:
            texts.insert(gap, f" {_dim(dots, style)} ")
        return separator.join(texts).rstrip() + "\n"

    names = [fitting.cell_text(p, None, display_text(columns[p].name), -1) for p in places]
    header = [
        f" {_bold(_align(n, widths[p], columns[p]), style)} "
        for n, p in zip(names, places, strict=True)
    ]
    screen = style.width or sys.maxsize
    rules = [line * min(widths[p] + 2, screen) for p in places]
    if gap is not None:
        rules.insert(gap, line * 3)
    out.write(join_cells(header))
    out.write(_dim(cross.join(rules), style) + "\n")
    number = -1
    for number, row, texts in rows:
        cells = []
        for p in places:
            text = fitting.cell_text(p, row[p], texts[p], number)
            text = _align(text, widths[p], columns[p])
            cells.append(f" {_dim(text, style) if row[p] is None else text} ")
        out.write(join_cells(cells))
    return number + 1


def _gap_at(places: Sequence[int], columns: int) -> int | None:
    if len(places) == columns:
        return None
    return next((i for i, p in enumerate(places) if p != i), len(places))


def _align(text: str, width: int, column: ShownColumn) -> str:
    padding = " " * (width - (len(text) if text.isascii() else cell_len(text)))
    return padding + text if column.is_number else text + padding


def _write_expanded(
    columns: Sequence[ShownColumn], rows: Iterator[Row], out: TextIO, style: Style
) -> int:
    bar, line = ("│", "─") if style.unicode else ("|", "-")
    names = [display_text(c.name) for c in columns]
    width = max((cell_len(n) for n in names), default=0)
    padded = [name + " " * (width - cell_len(name)) for name in names]
    count = 0
    for row in rows:
        count += 1
        title = f"{line * 2} row {count} "
        out.write(_dim(title + line * max(2, width + 20 - len(title)), style) + "\n")
        for name, value in zip(padded, row, strict=True):
            lines = value.split("\n") if isinstance(value, str) else [value]
            for number, part in enumerate(lines):
                text = display_text(part, style.null)
                before = _bold(name, style) if not number else " " * width
                out.write(f" {before} {_dim(bar, style)} ")
                out.write((_dim(text, style) if value is None else text) + "\n")
    return count


def _dim(text: str, style: Style) -> str:
    return f"{_DIM}{text}{_PLAIN}" if style.color else text


def _bold(text: str, style: Style) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if style.color else text
