"""How wide the columns of a table are drawn, and which texts are cut for that.

Where there is no screen to fit, nothing is cut. At a screen texts may be; numbers, dates and times
are whole everywhere, for a part of one reads like another value. What was cut is counted.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any

from rich.cells import cell_len, set_cell_size

from gateway.shell.result import Row, ShownColumn
from gateway.wording import counted
from journal.model.lazy_dataclass import dataclass

_NARROW = 10
_NAMED_MAX = 5
_EXACT = (bool, int, float, Decimal, dt.date, dt.time, dt.timedelta)
_NUMERIC = frozenset("0123456789.,:+-")
_NUMBER_AT_END = re.compile(r"[+-]?\d[\d.,:+-]*$")


@dataclass(slots=True)
class TableLayout:
    """Widths of all columns, the ``places`` of those that are drawn, and what was cut of them.

    Texts of the ``limited`` columns are cut to their width; other columns grow with what comes.
    """

    columns: Sequence[ShownColumn]
    widths: list[int]
    places: list[int]
    limited: frozenset[int] = frozenset()
    mark: str = "…"
    _counts: dict[int, int] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)

    def cell_text(self, place: int, value: Any, text: str, row: int) -> str:
        """The text of a value as it is drawn; ``row`` is the number of its row, -1 a heading."""
        width = self.widths[place]
        if (len(text) <= width and text.isascii()) or cell_len(text) <= width:
            return text
        if place not in self.limited or isinstance(value, _EXACT):
            self.widths[place] = cell_len(text)
            return text
        if self._last.get(place) != row:
            self._last[place] = row
            self._counts[place] = self._counts.get(place, 0) + (row >= 0)
        return cut_text(text, width, self.mark)

    def omissions(self) -> list[str]:
        """What was not shown, in words: how many values of which columns, and whole columns."""
        names = {p: column.name for p, column in enumerate(self.columns)}
        values = [(names[p], count) for p, count in sorted(self._counts.items())]
        parts = [f"{counted(count, 'value')} of {name}" for name, count in values if count]
        parts += [f"the name {name}" for name, count in values if not count]
        found = [f"cut: {_name_list(parts)}"] if parts else []
        out = [name for p, name in names.items() if p not in set(self.places)]
        if out:
            fit = f"{len(self.places)} of {len(names)} columns fit"
            found.append(f"{fit}, left out: {_name_list(out)}")
        return found


def natural_widths(names: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    """The widths at which nothing is cut."""
    widths = [max(cell_len(name), 1) for name in names]
    for row in cells:
        for place, text in enumerate(row):
            if len(text) > widths[place] or not text.isascii():
                widths[place] = max(widths[place], cell_len(text))
    return widths


def fits_screen(widths: Sequence[int], screen: int | None) -> bool:
    """True if a row of these widths fits the screen."""
    return screen is None or _total(widths) <= screen


def full_layout(columns: Sequence[ShownColumn], widths: list[int]) -> TableLayout:
    """A layout that shows every text and column whole."""
    return TableLayout(columns, widths, list(range(len(widths))))


def narrow_layout(
    columns: Sequence[ShownColumn],
    widths: list[int],
    rows: Sequence[Row],
    screen: int,
    mark: str,
) -> TableLayout:
    """A table for a screen: texts are cut first, then columns of the middle are left out."""
    exact = {
        p
        for p, c in enumerate(columns)
        if c.is_exact or any(isinstance(r[p], _EXACT) for r in rows)
    }
    least = [w if p in exact else min(w, _NARROW) for p, w in enumerate(widths)]
    places = list(range(len(widths)))
    while len(places) > 1 and _total([least[p] for p in places]) + _gap(places, widths) > screen:
        places.pop(len(places) // 2)
    room = screen - _gap(places, widths) - 3 * len(places) + 1
    room -= sum(widths[p] for p in places if p in exact)
    chosen = {p: widths[p] for p in places if p not in exact}
    while sum(chosen.values()) > max(room, len(chosen)):
        # Only the widest are cut, level by level, so that narrow columns stay whole.
        widest = max(chosen.values())
        at_top = [p for p, w in chosen.items() if w == widest]
        below = max((w for w in chosen.values() if w < widest), default=0)
        excess = sum(chosen.values()) - max(room, len(chosen))
        step = min(widest - below, max(1, excess // len(at_top)))
        for p in at_top[: max(1, excess)]:
            chosen[p] = widest - step
    drawn = [chosen.get(p, w) for p, w in enumerate(widths)]
    limited = frozenset(p for p in range(len(widths)) if p not in exact)
    return TableLayout(columns, drawn, places, limited, mark)


def cut_text(text: str, width: int, mark: str = "…") -> str:
    """A text cut to a width, never through a number: that number is left out."""
    if width <= len(mark):
        return mark[:width]
    kept = set_cell_size(text, width - len(mark))
    if text.startswith(kept) and kept[-1] in _NUMERIC and text[len(kept)] in _NUMERIC:
        kept = _NUMBER_AT_END.sub("", kept)
    return kept + mark


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) - 1


def _gap(places: Sequence[int], widths: Sequence[int]) -> int:
    return 4 if len(places) < len(widths) else 0


def _name_list(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MAX
    shown = ", ".join(names[:_NAMED_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
