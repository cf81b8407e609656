"""Journal rows as Python values, for tables whose values are the same in Python as in the store.

Types count as plain where a value that comes out of the store goes back as it was, and two are
equal in Python if they are equal in SQL. Versions are numbers here. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.layout import fields_of
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts
from journal.model.store_session import MemoryRows
from journal.model.version import Version, VersionType
from journal.sql.relations import column

Key = tuple[Any, ...]
JournalRow = tuple[tuple[Any, ...], Version, Version | None]
"""Stored values, version and subsequent version."""


KEYED_ROWS_MAX = 1000
"""The rows of larger commits and statements are not kept by key."""
_ENDS = (date.min, date.max)
"""Within these days lies what the store gives for infinity; who is meant cannot be told."""


@dataclass(frozen=True, slots=True)
class PlainType:
    """A plain type: its name in the store, and its values in Python and in Arrow."""

    name: str
    values: type
    arrow: pa.DataType

    def has(self, value: object) -> bool:
        """True for a value of the type; the ends of Python's calendar stand for what is beyond."""
        if type(value) is not self.values:
            return False
        return not isinstance(value, date) or date(*value.timetuple()[:3]) not in _ENDS

    def array(self, values: Sequence[object]) -> pa.Array:
        """Values as the store would give them in Arrow."""
        if self.values is not bool:
            return pa.array(values, self.arrow)
        bytes_ = [None if value is None else int(bool(value)) for value in values]
        return pa.ExtensionArray.from_storage(self.arrow, pa.array(bytes_, pa.int8()))


_PLAIN: Mapping[object, PlainType] = {
    exp.DType.TINYINT: PlainType("TINYINT", int, pa.int8()),
    exp.DType.SMALLINT: PlainType("SMALLINT", int, pa.int16()),
    exp.DType.INT: PlainType("INTEGER", int, pa.int32()),
    exp.DType.BIGINT: PlainType("BIGINT", int, pa.int64()),
    exp.DType.UTINYINT: PlainType("UTINYINT", int, pa.uint8()),
    exp.DType.USMALLINT: PlainType("USMALLINT", int, pa.uint16()),
    exp.DType.UINT: PlainType("UINTEGER", int, pa.uint32()),
    exp.DType.UBIGINT: PlainType("UBIGINT", int, pa.uint64()),
    exp.DType.TEXT: PlainType("VARCHAR", str, pa.string()),
    exp.DType.VARCHAR: PlainType("VARCHAR", str, pa.string()),
    exp.DType.BOOLEAN: PlainType("BOOLEAN", bool, pa.bool8()),
    exp.DType.DOUBLE: PlainType("DOUBLE", float, pa.float64()),
    exp.DType.DATE: PlainType("DATE", date, pa.date32()),
    exp.DType.TIMESTAMPNTZ: PlainType("TIMESTAMP", datetime, pa.timestamp("us")),
}


@dataclass(frozen=True, slots=True)
class Row:
    """The newest state of a key: the version of its row, and the stored values; None if deleted."""

    version: Version
    values: tuple[Any, ...] | None


def is_plain(table: Table) -> bool:
    """True if all its values are of plain types, and its key is its own."""
    return not table.hidden_key and has_plain_values(table)


def has_plain_values(table: Table) -> bool:
    """True if all its values are of plain types, the hidden key's included."""
    return _are_plain(fields_of(table))


@lru_cache(maxsize=1024)
def _are_plain(fields: Fields) -> bool:
    return all(plain_type(kind) is not None for _, kind in fields)


@lru_cache(maxsize=1024)
def plain_type(kind: str) -> PlainType | None:
    """The plain type that SQL text means, if it means one."""
    built = exp.DataType.build(kind, dialect="duckdb")
    found = _PLAIN.get(built.this)
    if found is not None or built.this is not exp.DType.DECIMAL or len(built.expressions) != 2:
        return found
    digits, scale = (int(e.name) for e in built.expressions)
    return PlainType(f"DECIMAL({digits},{scale})", Decimal, pa.decimal128(digits, scale))


def outputs(table: Table) -> list[exp.Expr]:
    """What gives the journal rows of a plain table as values, versions as numbers."""
    found: list[exp.Expr] = [column(c.physical) for c in table.stored]
    for name in table.ends:
        number: exp.Expr = column(name)
        if table.format.version_type is VersionType.TIMESTAMP:
            number = exp.Anonymous(this="epoch_us", expressions=[number])
        found.append(number)
    return found


def of_values(table: Table, rows: Sequence[Sequence[Any]]) -> list[JournalRow] | None:
    """Journal rows from what a query of ``outputs`` gave; None for values that Python has not."""
    kinds = [_plain(c.type) for c in table.stored]
    for row in rows:
        if not all(v is None or kind.has(v) for kind, v in zip(kinds, row, strict=False)):
            return None
    return [(tuple(row[:-2]), row[-2], row[-1]) for row in rows]


def of_arrow(table: Table, rows: pa.Table) -> list[JournalRow] | None:
    """Journal rows from an Arrow table; None for values that Python does not have."""
    try:
        stored = [rows.column(c.physical).to_pylist() for c in table.stored]
    except (ValueError, OverflowError):
        # Python has no such dates.
        return None
    ends = table.ends
    versions = [rows.column(name).cast(pa.int64()).to_pylist() for name in ends]
    return list(zip(zip(*stored, strict=True), *versions, strict=True))


def in_memory(table: Table, rows: Sequence[JournalRow]) -> MemoryRows:
    """Rows as a transaction holds them."""
    stored = list(zip(*[values for values, _, _ in rows], strict=True))
    arrays = [_plain(c.type).array(v) for c, v in zip(table.stored, stored, strict=True)]
    number = pa.int64()
    if table.format.version_type is VersionType.TIMESTAMP:
        number = pa.timestamp("us", tz="UTC")
    arrays += [pa.array([row[place] for row in rows], number) for place in (1, 2)]
    names = table.journal_columns
    opens = sum(end is None for _, _, end in rows)
    tombstones = sum(end == start for _, start, end in rows)
    counts = RowCounts(opens, len(rows) - opens - tombstones, tombstones)
    found = MemoryRows(pa.Table.from_arrays(arrays, names=names), counts, fields_of(table))
    found.kept[id(table)] = (table, newest(table, rows))
    return found


def as_stored(kind: str, value: object) -> Any:
    """A value as a column of a plain type holds it; None where the store must convert or refuse."""
    plain = plain_type(kind)
    if plain is None or not plain.has(value):
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return None
    if plain.values is bool:
        return value
    try:
        return pa.scalar(value, plain.arrow).as_py()
    except (pa.ArrowInvalid, OverflowError, UnicodeError):
        return None


def _plain(kind: str) -> PlainType:
    found = plain_type(kind)
    assert found is not None
    return found


def newest(table: Table, rows: Iterable[JournalRow]) -> dict[Key, Row]:
    """The newest state of each key in journal rows.

    Of rows with equal versions the open one counts, as in every look-up by key.
    """
    names = [c.physical for c in table.stored]
    places = [names.index(name) for name in table.key]
    found: dict[Key, Row] = {}
    for values, start, end in rows:
        if end is None or end == start:
            key = tuple(values[p] for p in places)
            row = Row(start, values if end is None else None)
            found[key] = later(found.get(key), row)
    return found


def later(before: Row | None, row: Row) -> Row:
    """The one of two states of a key that counts."""
    if before is None or before.version < row.version:
        return row
    return row if before.version == row.version and before.values is None else before


def keyed_rows(table: Table, rows: MemoryRows) -> Mapping[Key, Row] | None:
    """The newest state of each key in a set of journal rows, which keeps it for the next who asks.

    None where that is not known: for many rows, and for values that Python does not have.
    """
    if rows.rows.num_rows > KEYED_ROWS_MAX:
        return None
    kept = rows.kept.get(id(table))
    if kept is None or kept[0] is not table:
        kept = rows.kept[id(table)] = (table, _read(table, rows))
    found: Mapping[Key, Row] | None = kept[1]
    return found


def keep_joined(joined: MemoryRows, before: MemoryRows, after: MemoryRows) -> None:
    """Have ``joined`` know the newest state of each key, where both sets that it joins do."""
    for place in before.kept.keys() & after.kept.keys():
        known, more = before.kept[place], after.kept[place]
        if not isinstance(place, int) or known[0] is not more[0]:
            continue
        if known[1] is not None and more[1] is not None:
            rows = dict(known[1])
            for key, row in more[1].items():
                rows[key] = later(rows.get(key), row)
            joined.kept[place] = (known[0], rows)


def _read(table: Table, rows: MemoryRows) -> dict[Key, Row] | None:
    if rows.fields not in {(), fields_of(table)} or not is_plain(table):
        return None
    values = of_arrow(table, rows.rows)
    return None if values is None else newest(table, values)
