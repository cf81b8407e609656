"""Results drawn for the eye: a table that fits the screen, or one line per column.

Columns are narrowed before they are left out, and whatever was cut or left out is said below.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TextIO

from rich.cells import cell_len, set_cell_size

from gateway.shell.result import Column, Result, Row
from gateway.shell.values import shown
from gateway.wording import counted

_MEASURED_ROWS = 5000
_NARROW = 10
_UNFOLDED_ROWS = 20
_ALWAYS_EXPANDED_ROWS = 50
_DIM, _BOLD, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Style:
    """How tables are drawn. ``width`` None: as wide as they are; ``rows`` 0: all of them."""

    width: int | None = None
    rows: int = 0
    null: str = "NULL"
    expanded: str = "auto"
    color: bool = False
    unicode: bool = True
    footer: bool = True


def style_for(out: TextIO, *, rows: int = 0) -> Style:
    """The style a stream can show: fitted and coloured at a terminal, plain elsewhere."""
    encoding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "")
    unicode = encoding.startswith("utf")
    if not out.isatty():
        return Style(expanded="off", unicode=unicode)
    color = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return Style(screen_width(), rows, color=color, unicode=unicode)


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


def write_table(result: Result, out: TextIO, style: Style) -> int:
    """Draw a result; returns the number of rows that were read."""
    rows = result.rows if not style.rows else islice(result.rows, style.rows)
    first = list(islice(rows, _MEASURED_ROWS))
    more = bool(style.rows) and len(first) == style.rows and next(result.rows, None) is not None
    drawn = _unfolded(first) if len(first) <= _UNFOLDED_ROWS else first
    cells = [[shown(value, style.null) for value in row] for row in drawn]
    widths = _natural(result.columns, cells)
    if style.expanded == "on" or _should_expand(widths, len(first), style):
        count = _expanded(result.columns, chain(first, rows), out, style)
        places = list(range(len(widths)))
    else:
        widths, places = _fitted(widths, style.width)
        count = _table(result.columns, drawn, cells, rows, widths, places, out, style)
        count -= len(drawn) - len(first)
    if style.footer:
        out.write(_dim(_footer(count, more, len(places), len(result.columns)), style) + "\n")
    return count


def _unfolded(rows: Sequence[Row]) -> list[Row]:
    """Rows whose texts have several lines, as several rows: for plans, definitions and the like."""
    found: list[Row] = []
    for row in rows:
        parts = [v.split("\n") if isinstance(v, str) else [v] for v in row]
        for number in range(max((len(p) for p in parts), default=1)):
            found.append(tuple(p[number] if number < len(p) else "" for p in parts))
    return found


def _should_expand(widths: Sequence[int], rows: int, style: Style) -> bool:
    if style.expanded != "auto" or style.width is None or not 0 < rows <= _ALWAYS_EXPANDED_ROWS:
        return False
    return sum(min(w, _NARROW) + 3 for w in widths) - 1 > style.width


def _natural(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    widths = [max(cell_len(shown(c.name)), 1) for c in columns]
    for row in cells:
        for place, text in enumerate(row):
            if len(text) > widths[place] or not text.isascii():
                widths[place] = max(widths[place], cell_len(text))
    return widths


def _fitted(widths: list[int], screen: int | None) -> tuple[list[int], list[int]]:
    """Widths that fit, and the places of the columns that are shown (gaps stand for others)."""
    places = list(range(len(widths)))
    if screen is None or _total(widths) <= screen:
        return widths, places
    least = [min(w, _NARROW) for w in widths]
    while len(places) > 1 and _total([least[p] for p in places]) + _gap(places, widths) > screen:
        places.pop(len(places) // 2)
    room = screen - _gap(places, widths) - 3 * len(places) + 1
    chosen = {p: widths[p] for p in places}
    while sum(chosen.values()) > max(room, len(places)):
        # Only the widest are cut, level by level, so that narrow columns stay whole.
        widest = max(chosen.values())
        at_top = [p for p, w in chosen.items() if w == widest]
        below = max((w for w in chosen.values() if w < widest), default=0)
        excess = sum(chosen.values()) - max(room, len(places))
        step = min(widest - below, max(1, excess // len(at_top)))
        for p in at_top[: max(1, excess)]:
            chosen[p] = widest - step
    return [chosen.get(p, w) for p, w in enumerate(widths)], places


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) - 1


def _gap(places: Sequence[int], widths: Sequence[int]) -> int:
    return 4 if len(places) < len(widths) else 0


def _footer(rows: int, more: bool, shown_columns: int, columns: int) -> str:
    text = f"({counted(rows, 'row')}"
    if more:
        text += r" shown, there are more: \pset rows 0 shows all"
    if shown_columns < columns:
        text += rf"; {shown_columns} of {columns} columns fit, \x on shows all"
    return text + ")"


def _table(
    columns: Sequence[Column],
    first: Sequence[Row],
    cells: Sequence[Sequence[str]],
    rest: Iterator[Row],
    widths: Sequence[int],
    places: Sequence[int],
    out: TextIO,
    style: Style,
) -> int:
    bar, line, cross, dots = ("│", "─", "┼", "…") if style.unicode else ("|", "-", "+", "...")
    gap = _gap_at(places, len(columns))
    separator = _dim(bar, style)

    def joined(texts: list[str]) -> str:
        if gap is not None:
            texts.insert(gap, f" {_dim(dots, style)} ")
        return separator.join(texts).rstrip() + "\n"

    names = [_cut(shown(columns[p].name), widths[p]) for p in places]
    header = [
        f" {_bold(_aligned(n, widths[p], columns[p]), style)} "
        for n, p in zip(names, places, strict=True)
    ]
    rules = [line * (widths[p] + 2) for p in places]
    if gap is not None:
        rules.insert(gap, line * 3)
    out.write(joined(header))
    out.write(_dim(cross.join(rules), style) + "\n")
    count = 0
    texts = chain(cells, ([shown(v, style.null) for v in row] for row in rest))
    for row, row_texts in zip(chain(first, _endless()), texts, strict=False):
        out.write(
            joined([_cell(row_texts[p], row, p, widths[p], columns[p], style) for p in places])
        )
        count += 1
    return count


def _endless() -> Iterator[None]:
    while True:
        yield None


def _gap_at(places: Sequence[int], columns: int) -> int | None:
    if len(places) == columns:
        return None
    return next((i for i, p in enumerate(places) if p != i), len(places))


def _cell(text: str, row: Row | None, place: int, width: int, column: Column, style: Style) -> str:
    shown_text = _aligned(_cut(text, width), width, column)
    is_null = row is not None and row[place] is None
    return f" {_dim(shown_text, style) if is_null else shown_text} "


def _cut(text: str, width: int) -> str:
    if len(text) <= width and text.isascii():
        return text
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 1 else "…"


def _aligned(text: str, width: int, column: Column) -> str:
    padding = " " * (width - (len(text) if text.isascii() else cell_len(text)))
    return padding + text if column.is_number else text + padding


def _expanded(columns: Sequence[Column], rows: Iterator[Row], out: TextIO, style: Style) -> int:
    bar, line = ("│", "─") if style.unicode else ("|", "-")
    names = [shown(c.name) for c in columns]
    width = max((cell_len(n) for n in names), default=0)
    count = 0
    for row in rows:
        count += 1
        title = f"{line * 2} row {count} "
        out.write(_dim(title + line * max(2, width + 20 - len(title)), style) + "\n")
        for name, value in zip(names, row, strict=True):
            padded = name + " " * (width - cell_len(name))
            text = shown(value, style.null)
            out.write(f" {_bold(padded, style)} {_dim(bar, style)} ")
            out.write((_dim(text, style) if value is None else text) + "\n")
    return count


def _dim(text: str, style: Style) -> str:
    return f"{_DIM}{text}{_PLAIN}" if style.color else text


def _bold(text: str, style: Style) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if style.color else text
