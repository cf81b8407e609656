"""How the sealed rows of a journal are partitioned: what a table's property ``partitions`` says.

    RANGE (ds) BY DAY | WEEK | MONTH | QUARTER | YEAR      of dates and timestamps
    RANGE (id) BY 1000000                                  of whole numbers
    RANGE (ds) AT ('2024-01-01', '2024-07-01')             at given bounds
    LIST (region)                                          one for each value
    HASH (id) INTO 8

Stores that have native partitions use it. Pure.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table

PROPERTY = "partitions"
UNITS = ("day", "week", "month", "quarter", "year")
_PARTS_MAX = 1000
_NAME = r'\(\s*(?:"((?:[^"]|"")+)"|(\w+))\s*\)'
_SHAPE = re.compile(
    rf"\s*(RANGE|LIST|HASH)\s*{_NAME}\s*(?:(BY|AT|INTO)\s+(.+?))?\s*", re.IGNORECASE | re.DOTALL
)
_BOUNDS = re.compile(r"\((.*)\)", re.DOTALL)
_BOUND = re.compile(r"\s*'((?:[^']|'')*)'\s*(?:,|$)")
_DATED = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ)
_WHOLE = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)


@dataclass(frozen=True, slots=True)
class Partitioning:
    """``column`` is a physical name; a range has a unit, a step or bounds, a hash its parts."""

    strategy: str
    column: str
    unit: str | None = None
    step: int | None = None
    bounds: tuple[str, ...] = ()
    parts: int | None = None

    def __str__(self) -> str:
        quoted = self.column.replace('"', '""')
        found = f'{self.strategy} ("{quoted}")'
        if self.bounds:
            bounds = ", ".join("'" + b.replace("'", "''") + "'" for b in self.bounds)
            return f"{found} AT ({bounds})"
        if self.parts is not None:
            return f"{found} INTO {self.parts}"
        by = self.unit or self.step
        return found if by is None else f"{found} BY {by}"


def parse_partitioning(text: str) -> Partitioning:
    """What a property says, its column as written; raises INVALID_DEFINITION."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise _partitioning_error(f"{text!r} is not a partitioning")
    strategy, quoted, bare, word, rest = found.groups()
    column = quoted.replace('""', '"') if quoted else bare
    made = Partitioning(strategy.upper(), column)
    match made.strategy, (word or "").upper():
        case "LIST", "":
            return made
        case "HASH", "INTO" if rest.isdigit() and 1 < int(rest) <= _PARTS_MAX:
            return replace(made, parts=int(rest))
        case "RANGE", "BY" if rest.isdigit() and int(rest) > 0:
            return replace(made, step=int(rest))
        case "RANGE", "BY" if rest.lower() in UNITS:
            return replace(made, unit=rest.lower())
        case "RANGE", "AT":
            return replace(made, bounds=_bounds(rest))
    raise _partitioning_error(f"{text!r} is incomplete")


def _bounds(text: str) -> tuple[str, ...]:
    inner = _BOUNDS.fullmatch(text)
    found: list[str] = []
    place = 0
    while inner is not None and place < len(inner[1]):
        one = _BOUND.match(inner[1], place)
        if one is None:
            raise _partitioning_error(f"{text!r} is not a list of bounds")
        found.append(one[1].replace("''", "'"))
        place = one.end()
    if not 2 <= len(found) <= _PARTS_MAX:
        raise _partitioning_error(f"it has {len(found)} bounds; give 2 to {_PARTS_MAX}")
    return tuple(found)


def with_partitioning(table: Table, before: Table | None = None) -> Table:
    """A new definition with its partitioning checked and over physical columns.

    One that stands in the definition ``before`` is in that form already.
    """
    known = dict(before.properties).get(PROPERTY) if before is not None else None
    text = dict(table.properties).get(PROPERTY)
    if text is None or text == known:
        return table
    made = parse_partitioning(text)
    column = table.find(made.column)
    if column is None:
        raise _partitioning_error(f"{table.name} has no column {made.column}")
    kind = exp.DataType.build(column.type, dialect="duckdb")
    if (made.unit and not kind.is_type(*_DATED)) or (made.step and not kind.is_type(*_WHOLE)):
        by = (made.unit or str(made.step)).upper()
        raise _partitioning_error(
            f"{column.name} is {column.type}, which cannot be partitioned by {by}"
        )
    stored = str(replace(made, column=column.physical))
    properties = tuple((n, stored if n == PROPERTY else t) for n, t in table.properties)
    return replace(table, properties=properties)


def partitioning_of(table: Table) -> Partitioning | None:
    """How sealed rows of a table are partitioned; None if they are not."""
    text = dict(table.properties).get(PROPERTY)
    return parse_partitioning(text) if text else None


def _partitioning_error(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_DEFINITION,
        f"the partitioning cannot be used: {message}",
        advice="write it as RANGE (ds) BY MONTH, RANGE (id) BY 1000000, LIST (region) or"
        " HASH (id) INTO 8",
    )
