"""Rows of the gateway's own, shown to Spark: one literal of JSON text, cast back column by column.

A literal of text costs the server's parser the same however many rows it holds, and there is one
thing to escape. Every value travels as text that DuckDB writes and Spark reads back exactly. Builds
AST; the rows are read in the local session it is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.sql.relations import column, ident
from journal.stores.hive.bounds import check_bounds
from journal.stores.hive.dialect.types import spark_type
from journal.stores.hive.engine import HiveEngine

_T = exp.DType
_READ_ROWS = 10_000
_NESTED = {_T.ARRAY, _T.LIST, _T.STRUCT, _T.MAP}
_BYTES = {_T.VARBINARY, _T.BINARY, _T.BLOB}
_TEXTS = {_T.VARCHAR, _T.TEXT, _T.CHAR, _T.NCHAR}


@dataclass(frozen=True, slots=True)
class HeldRelation:
    """A relation that is in the gateway: its columns, its rows as text, and whom they are for."""

    columns: tuple[ResultColumn, ...]
    rows: Sequence[Sequence[str | None]]
    engine: HiveEngine = HiveEngine.SPARK

    def slice(self, start: int, size: int) -> HeldRelation:
        """Some of its rows."""
        return HeldRelation(self.columns, self.rows[start : start + size], self.engine)

    def query(self) -> exp.Select:
        """The rows as a query of Spark's, in its own terms; raises NOT_SUPPORTED for a type."""
        if self.engine is HiveEngine.SPARK:
            # Nested values stay text on Apache Hive, whose types are looked at with their table.
            for found in self.columns:
                _check_members(found.type)
        text = json.dumps(self.rows, ensure_ascii=True, separators=(",", ":"))
        shape = exp.Literal.string("array<array<string>>")
        parsed = exp.Anonymous(this="from_json", expressions=[exp.Literal.string(text), shape])
        exploded = exp.Anonymous(this="explode", expressions=[parsed])
        source = exp.Select(expressions=[exp.alias_(exploded, "r")])
        outputs = [
            exp.alias_(_value(found.type, index), ident(found.name))
            for index, found in enumerate(self.columns, 1)
        ]
        return exp.select(*outputs).from_(source.subquery("held"))


def held_relation(session: DuckDBSession, name: str, engine: HiveEngine) -> HeldRelation:
    """A relation of the local session, read whole.

    Raises OUT_OF_RANGE for a value that a store of this engine would not hold.
    """
    source = exp.select("*").from_(exp.to_table(name))
    columns = tuple(session.describe(Query(source, ()), {}))
    outputs = [
        exp.alias_(_text(found.type, column(found.name)), f"c{index}")
        for index, found in enumerate(columns)
    ]
    session.execute(Query(exp.select(*outputs).from_(exp.to_table(name)), ()), {})
    rows: list[tuple[str | None, ...]] = []
    while part := session.fetch_many(_READ_ROWS):
        rows += part
    check_bounds([(found.name, _kind(found.type)) for found in columns], rows, engine)
    return HeldRelation(columns, rows, engine)


def _kind(kind: str) -> exp.DType:
    found = exp.DataType.build(kind, dialect="duckdb").this
    assert isinstance(found, exp.DType)
    return found


def _text(kind: str, value: exp.Expr) -> exp.Expr:
    """A value as text, in the canonical dialect."""
    match _kind(kind):
        case found if found in _BYTES:
            return exp.Anonymous(this="hex", expressions=[value])
        case _T.TIMESTAMPTZ | _T.TIMESTAMPLTZ:
            # What is infinite has no microseconds, and is no NULL.
            since = exp.Anonymous(this="epoch_us", expressions=[value.copy()])
            return exp.Coalesce(this=exp.cast(since, "TEXT"), expressions=[exp.cast(value, "TEXT")])
        case found if found in _NESTED:
            value = exp.Anonymous(this="to_json", expressions=[value])
    return exp.cast(value, "TEXT")


def _value(kind: str, place: int) -> exp.Expr:
    """What a text stands for, in Spark's terms."""
    text = exp.Anonymous(
        this="element_at", expressions=[exp.column("r"), exp.Literal.number(place)]
    )
    to = spark_type(kind)
    match _kind(kind):
        case found if found in _BYTES:
            return exp.Anonymous(this="unhex", expressions=[text])
        case _T.TIMESTAMPTZ | _T.TIMESTAMPLTZ:
            number = exp.Cast(this=text, to=exp.DataType.build("bigint", dialect="spark"))
            return exp.Anonymous(this="timestamp_micros", expressions=[number])
        case found if found in _NESTED:
            # What does not fit its type would be NULL without a word.
            strict = [exp.Literal.string("mode"), exp.Literal.string("FAILFAST")]
            options = exp.Anonymous(this="map", expressions=strict)
            shape = exp.Literal.string(to)
            return exp.Anonymous(this="from_json", expressions=[text, shape, options])
    if to == "STRING":
        return text
    return exp.Cast(this=text, to=exp.DataType.build(to, dialect="spark"))


def _check_members(kind: str) -> None:
    """Raise for a nested type whose values would not be what they were after JSON."""
    if _kind(kind) not in _NESTED:
        return
    for part in exp.DataType.build(kind, dialect="duckdb").find_all(exp.DataType):
        names = [m.name for m in part.expressions if isinstance(m, exp.ColumnDef)]
        if part.this in _BYTES:
            raise _no_member("bytes (BLOB)", "keep them as text, in hex() or base64()")
        if part.this is _T.MAP and part.expressions[0].this not in _TEXTS:
            raise _no_member("a MAP whose keys are no texts", "declare it MAP(VARCHAR, ..)")
        if not all(name.isidentifier() for name in names):
            raise _no_member("a STRUCT with such a name", "use letters, digits and underscores")


def _no_member(what: str, advice: str) -> PalimpsestError:
    text = f"a Hive store takes no list, map or struct with {what} in rows to be written"
    return PalimpsestError(Code.NOT_SUPPORTED, text, advice=advice)
