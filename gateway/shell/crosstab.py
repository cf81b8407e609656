r"""``\crosstabview``: one column's values down, another's across, a third's in the cells.

As in psql: rows and columns stand in the order in which the query brings them, unless a fourth
column ranks the headers across. Reads a whole result, within limits; ``crosstab`` is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gateway.shell.command_arguments import WrongCommand, split_words
from gateway.shell.result import Row, ShownColumn, ShownResult
from gateway.shell.values import display_text
from journal.model.lazy_dataclass import dataclass

COLUMNS_MAX = 1600
CELLS_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class CrosstabColumns:
    """Places of the columns that give rows, headers, cells and the order of the headers."""

    down: int
    across: int
    data: int
    rank: int | None


def crosstab_columns(columns: Sequence[ShownColumn], arguments: str) -> CrosstabColumns:
    """The columns that ``[colV [colH [colD [sortcolH]]]]`` name, by number or name.

    Raises WrongCommand where there is none, or where it is not clear which.
    """
    words = split_words(arguments)
    if len(words) > 4:
        raise _refusal(
            "takes at most four columns: rows, headers, cells and what sorts the headers"
        )
    if len(columns) < 3:
        raise _refusal(f"needs a query of at least three columns; this one has {len(columns)}")
    down = _place(columns, words[0]) if words else 0
    across = _place(columns, words[1]) if len(words) > 1 else 1
    if down == across:
        raise _refusal("needs two columns, one for the rows and another for the headers")
    if len(words) > 2:
        data = _place(columns, words[2])
    elif len(columns) > 3:
        raise _refusal("needs to be told which column has the cells: the query has more than three")
    else:
        data = next(i for i in range(3) if i not in {down, across})
    rank = _place(columns, words[3]) if len(words) > 3 else None
    return CrosstabColumns(down, across, data, rank)


def crosstab(
    result: ShownResult, arguments: str, null: str = "NULL", empty: str | None = ""
) -> ShownResult:
    r"""A result with a column for each value of one of its columns.

    ``null`` heads the column of NULL, ``empty`` stands where no row has a value.
    Raises WrongCommand where two rows want the same cell.
    """
    chosen = crosstab_columns(result.columns, arguments)
    headers: dict[str | None, Any] = {}
    lines: dict[str | None, Any] = {}
    cells: dict[tuple[str | None, str | None], Any] = {}
    for row in result.rows:
        line, header = _key(row[chosen.down]), _key(row[chosen.across])
        lines.setdefault(line, row[chosen.down])
        rank = None if chosen.rank is None else row[chosen.rank]
        headers.setdefault(header, rank)
        if len(headers) > COLUMNS_MAX:
            raise _refusal(f"shows at most {COLUMNS_MAX} columns; the query gives more headers")
        if (line, header) in cells:
            raise _refusal(
                f"has two values for row {_key_text(line, null)}, column {_key_text(header, null)}:"
                " group the query by both"
            )
        cells[line, header] = row[chosen.data]
        if len(lines) * len(headers) > CELLS_MAX:
            raise _refusal(f"shows at most {CELLS_MAX} cells")
    order = (
        list(headers) if chosen.rank is None else sorted(headers, key=lambda h: _rank(headers[h]))
    )
    kind = result.columns[chosen.data].type
    columns = (
        result.columns[chosen.down],
        *(ShownColumn(_key_text(header, null), kind) for header in order),
    )
    rows: Iterable[Row] = (
        (value, *(cells.get((line, header), empty) for header in order))
        for line, value in lines.items()
    )
    return ShownResult(result.tag, len(lines), columns, iter(rows))


def _key(value: Any) -> str | None:
    return None if value is None else display_text(value)


def _key_text(key: str | None, null: str) -> str:
    return null if key is None else key


def _rank(value: Any) -> tuple[bool, int]:
    """Integers in their order, whatever is none behind them."""
    try:
        return (False, int(value))
    except (TypeError, ValueError):
        return (True, 0)


def _place(columns: Sequence[ShownColumn], word: str) -> int:
    if word.isdigit():
        if not 1 <= int(word) <= len(columns):
            raise _refusal(f"has columns 1 to {len(columns)}, and none of number {word}")
        return int(word) - 1
    exact = [i for i, column in enumerate(columns) if column.name == word]
    folded = word.casefold()
    found = exact or [i for i, c in enumerate(columns) if c.name.casefold() == folded]
    if len(found) != 1:
        known = ", ".join(column.name for column in columns)
        many = "more than one column" if found else "no column"
        raise _refusal(f"finds {many} named {word}; the columns are {known}")
    return found[0]


def _refusal(text: str) -> WrongCommand:
    return WrongCommand(f"\\crosstabview {text}")
