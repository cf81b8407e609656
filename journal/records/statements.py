"""Statements about records: built once as trees, and run by any session of any store.

    schema --insert, select, ..--> RecordStatement --text of the session's dialect--> rows

A tree names tables as ``_palimpsest.<name>`` and takes its values in order. The databases beside
Hive stores have neither lists nor one type for moments, so there a list is JSON and a moment is the
number of microseconds since 1970; ``execute`` turns them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

import sqlglot
from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.store_session import RecordDialect, RecordSession
from journal.records.record_types import RecordColumn, RecordTable, RecordType

T = TypeVar("T")
VALUES_MAX = 200
"""How many values one statement compares a column with."""
BESIDE = "palimpsest_"
"""What names of tables begin with in a database beside a store, instead of the schema."""
_SYNTAX = {
    RecordDialect.DUCKDB: "duckdb",
    RecordDialect.POSTGRES: "postgres",
    RecordDialect.CATALOG_SQLITE: "sqlite",
    RecordDialect.CATALOG_POSTGRES: "postgres",
}
_NATIVE = {
    RecordType.TEXT: "VARCHAR",
    RecordType.INTEGER: "INTEGER",
    RecordType.BIGINT: "BIGINT",
    RecordType.BOOLEAN: "BOOLEAN",
    RecordType.MOMENT: "TIMESTAMPTZ",
    RecordType.TEXTS: "VARCHAR[]",
}
_NUMERIC = {RecordDialect.DUCKDB: "HUGEINT", RecordDialect.POSTGRES: "NUMERIC"}
_PORTABLE = {RecordType.MOMENT: "BIGINT", RecordType.TEXTS: "VARCHAR"}
_COLUMNS = {
    # Its information_schema takes ten times as long.
    RecordDialect.DUCKDB: (
        "SELECT table_name, column_name FROM duckdb_columns() SEMI JOIN duckdb_tables()"
        " USING (table_oid) WHERE schema_name = '_palimpsest'"
    ),
    # Its information_schema compares each table's columns with all others: the time grows with the
    # square of the segments.
    RecordDialect.POSTGRES: (
        "SELECT c.relname::text, a.attname::text FROM pg_catalog.pg_class c"
        " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid"
        " WHERE n.nspname = '_palimpsest' AND c.relkind IN ('r', 'p')"
        " AND a.attnum > 0 AND NOT a.attisdropped"
    ),
    RecordDialect.CATALOG_SQLITE: (
        "SELECT substr(m.name, 12), c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND m.name LIKE 'palimpsest@_%' ESCAPE '@'"
    ),
    RecordDialect.CATALOG_POSTGRES: (
        "SELECT substr(table_name, 12), column_name FROM information_schema.columns"
        " WHERE table_schema = current_schema()"
        " AND left(table_name, 11) = 'palimpsest_'"
    ),
}
_VALUES_ROWS, _LISTED_ROWS = 200, 5_000
_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
Where = Mapping[str, type[exp.Binary]]
"""By column how it is compared with the next value."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordStatement:
    """A statement and, where it gives rows, what their columns hold. Make it once and keep it."""

    ast: exp.Expr
    gives: tuple[RecordType, ...] = ()
    has_many: bool = False
    """True for a query of many rows; its moments come as numbers, which drivers read sooner."""


def execute(
    session: RecordSession, statement: RecordStatement, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Run a statement in the session's transaction; its rows, none where it gives none."""
    dialect = session.dialect
    text = text_of(statement, dialect)
    if dialect is RecordDialect.DUCKDB and statement.has_many:
        places = [i for i, kind in enumerate(statement.gives) if kind is RecordType.MOMENT]
        return [_with_moments(row, places) for row in session.text(text, values)]
    if not dialect.is_beside:
        return session.text(text, values)
    rows = session.text(text, [_portable(value) for value in values])
    kinds = statement.gives
    return [tuple(_native(v, k) for v, k in zip(row, kinds, strict=True)) for row in rows]


def _with_moments(row: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    values = list(row)
    for place in places:
        if values[place] is not None:
            values[place] = _ORIGIN + timedelta(microseconds=values[place])
    return tuple(values)


def columns_of(session: RecordSession) -> dict[str, set[str]]:
    """The columns of the tables of records that are there, by table."""
    found: dict[str, set[str]] = {}
    for table, column in session.text(_COLUMNS[session.dialect]):
        found.setdefault(table, set()).add(column)
    return found


@lru_cache(maxsize=1024)
def text_of(statement: RecordStatement, dialect: RecordDialect) -> str:
    """A statement as a session of that dialect takes it, each value as its driver has it."""
    ast = statement.ast.copy()
    if statement.has_many and dialect is RecordDialect.DUCKDB:
        assert isinstance(ast, exp.Select)
        for output, kind in zip(ast.selects, statement.gives, strict=True):
            if kind is RecordType.MOMENT:
                output.replace(exp.Anonymous(this="epoch_us", expressions=[output.copy()]))
    for node in list(ast.find_all(exp.Table, exp.Placeholder, exp.DataType)):
        if isinstance(node, exp.Table) and dialect.is_beside and node.db == STORE_SCHEMA:
            node.set("db", None)
            node.set("this", exp.to_identifier(BESIDE + node.name))
        elif isinstance(node, exp.Placeholder) and dialect is RecordDialect.POSTGRES:
            # The session numbers them.
            node.replace(exp.Var(this="?"))
        elif isinstance(node, exp.DataType) and node.meta:
            kind = RecordType(node.meta["record"])
            spelt = _NATIVE.get(kind) or _NUMERIC.get(dialect, "BIGINT")
            spelt = _PORTABLE.get(kind, spelt) if dialect.is_beside else spelt
            node.replace(_type_of(spelt, _SYNTAX[dialect]).copy())
    return ast.sql(dialect=_SYNTAX[dialect], identify=True)


@lru_cache(maxsize=64)
def _type_of(spelt: str, syntax: str) -> exp.DataType:
    """A type by its name in a dialect; it is copied, as there are few types and many columns."""
    return exp.DataType.build(spelt, dialect=syntax)


def _portable(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - _ORIGIN) // _MICROSECOND
    return json.dumps(value) if isinstance(value, list | tuple) else value


def _native(value: Any, kind: RecordType) -> Any:
    if value is None:
        return None
    if kind is RecordType.MOMENT:
        return _ORIGIN + value * _MICROSECOND
    if kind is RecordType.BOOLEAN:
        return bool(value)
    return json.loads(value) if kind is RecordType.TEXTS else value


def by(*columns: str) -> Where:
    """Rows whose columns equal the values, in order."""
    return dict.fromkeys(columns, exp.EQ)


@lru_cache(maxsize=1024)
def insert(table: RecordTable, rows: int = 1) -> RecordStatement:
    """Adds some rows, whose values follow one another in the order of the columns."""
    return RecordStatement(_insert(table, rows))


def _insert(table: RecordTable, rows: int = 1) -> exp.Insert:
    one = tuple(exp.Placeholder() for _ in table.columns)
    return exp.insert(exp.values([one] * rows), _target(table), columns=list(table.names))


def parts(values: Sequence[T], size: int = VALUES_MAX) -> Iterator[Sequence[T]]:
    """Values in parts, each short enough for one statement with ``is_among``."""
    for begin in range(0, len(values), size):
        yield values[begin : begin + size]


def is_among(column: str, count: int) -> exp.In:
    """The condition that a column has one of so many values, which are given later."""
    return exp.In(this=exp.column(column), expressions=[exp.Placeholder() for _ in range(count)])


def insert_rows(session: RecordSession, table: RecordTable, rows: Sequence[Sequence[Any]]) -> None:
    """Add many rows with few statements; each has the values of the columns in their order."""
    if session.dialect is RecordDialect.DUCKDB and len(rows) > 1:
        # It binds each value of VALUES by itself, which takes fifteen times as long as lists do.
        for begin in range(0, len(rows), _LISTED_ROWS):
            listed = [
                list(column) for column in zip(*rows[begin : begin + _LISTED_ROWS], strict=True)
            ]
            execute(session, _insert_lists(table), listed)
        return
    for begin in range(0, len(rows), _VALUES_ROWS):
        part = rows[begin : begin + _VALUES_ROWS]
        execute(session, insert(table, len(part)), [value for row in part for value in row])


@lru_cache(maxsize=256)
def _insert_lists(table: RecordTable) -> RecordStatement:
    outputs = []
    for column in table.columns:
        listed = exp.DataType.build(f"{_NATIVE[column.type]}[]", dialect="duckdb")
        outputs.append(exp.Unnest(expressions=[exp.cast(exp.Placeholder(), listed)]))
    added = exp.insert(exp.select(*outputs), _target(table), columns=list(table.names))
    return RecordStatement(added)


@lru_cache(maxsize=64)
def insert_missing(table: RecordTable) -> RecordStatement:
    """Adds a row unless there is one with its key, whose values are given once more behind it.

    It gives the key of the row that it has added. Tables need no index for it, unlike for
    ``insert_new``; so two sessions must not run it at a time.
    """
    values = exp.select(*[exp.cast(exp.Placeholder(), _type(c)) for c in table.columns])
    same = exp.select("1").from_(_target(table)).where(*_conditions(by(*table.key)))
    row = values.where(exp.not_(exp.Exists(this=same)))
    added = exp.insert(row, _target(table), columns=list(table.names))
    added.set("returning", exp.Returning(expressions=[exp.column(n) for n in table.key]))
    return RecordStatement(added, tuple(map(table.type_of, table.key)))


def upsert(table: RecordTable) -> RecordStatement:
    """Adds a row, or replaces the one with its key."""
    _check_changeable(table)
    others = [n for n in table.names if n not in table.key]
    new = [exp.EQ(this=exp.column(n), expression=exp.column(n, table="excluded")) for n in others]
    return _on_conflict(table, "DO UPDATE", new)


def insert_new(table: RecordTable) -> RecordStatement:
    """Adds a row, unless there is one with its key."""
    return _on_conflict(table, "DO NOTHING", [])


def _on_conflict(table: RecordTable, action: str, new: Sequence[exp.Expr]) -> RecordStatement:
    added, keys = _insert(table), [exp.to_identifier(k) for k in table.key]
    conflict = exp.OnConflict(conflict_keys=keys, action=exp.Var(this=action), expressions=new)
    added.set("conflict", conflict)
    return RecordStatement(added)


def select(
    table: RecordTable,
    columns: Sequence[str] = (),
    where: Where | None = None,
    order: Sequence[str] = (),
    *,
    distinct: bool = False,
    limit: int | None = None,
) -> RecordStatement:
    """Reads columns, or all, of the rows that are compared so, in an order; ``limit`` of them."""
    names = tuple(columns) or table.names
    query = exp.select(*[exp.column(n) for n in names]).from_(_target(table))
    query = query.where(*_conditions(where))
    query = query.order_by(*[exp.column(n) for n in order]) if order else query
    query = query.distinct() if distinct else query
    query = query if limit is None else query.limit(limit)
    return RecordStatement(query, tuple(map(table.type_of, names)))


def count(table: RecordTable, where: Where) -> RecordStatement:
    """Counts rows."""
    query = exp.select(exp.Count(this=exp.Star())).from_(_target(table))
    return RecordStatement(query.where(*_conditions(where)), (RecordType.BIGINT,))


def newest(table: RecordTable, column: str) -> RecordStatement:
    """Reads the row with the highest value of a column."""
    query, highest = select(table), maximum(table, column).ast
    assert isinstance(query.ast, exp.Select)
    assert isinstance(highest, exp.Select)
    is_highest = exp.EQ(this=exp.column(column), expression=highest.subquery(copy=False))
    return RecordStatement(query.ast.where(is_highest), query.gives)


def maximum(table: RecordTable, column: str, group: Sequence[str] = ()) -> RecordStatement:
    """The highest value of a column, NULL where there is no row; by ``group``, whose columns come
    first."""
    outputs = [*map(exp.column, group), exp.Max(this=exp.column(column))]
    query = exp.select(*outputs).from_(_target(table)).group_by(*map(exp.column, group))
    return RecordStatement(query, tuple(map(table.type_of, (*group, column))))


def update(
    table: RecordTable, columns: Sequence[str], where: Where | None = None
) -> RecordStatement:
    """Changes columns of rows; their new values come before those that rows are found by."""
    _check_changeable(table)
    changed = exp.Update(
        this=_target(table),
        expressions=[exp.EQ(this=exp.column(n), expression=exp.Placeholder()) for n in columns],
    )
    return RecordStatement(changed.where(*_conditions(where)) if where else changed)


def delete(table: RecordTable, where: Where) -> RecordStatement:
    """Removes rows."""
    _check_changeable(table)
    return RecordStatement(exp.delete(_target(table)).where(*_conditions(where)))


def add_rows(table: RecordTable, rows: exp.Query) -> exp.Insert:
    """Adds the rows of a query, which gives the columns in order."""
    return exp.Insert(this=_target(table), expression=rows)


@lru_cache(maxsize=256)
def create(table: RecordTable, *, keyed: bool) -> tuple[RecordStatement, ...]:
    """Makes a table, with its key and what finds rows sooner where it is ``keyed``."""
    parts: list[exp.Expr] = [_definition(c) for c in table.columns]
    if keyed and table.key:
        parts.append(exp.PrimaryKey(expressions=[exp.to_identifier(k) for k in table.key]))
    schema = exp.Schema(this=_target(table), expressions=parts)
    made = [RecordStatement(exp.Create(this=schema, kind="TABLE", exists=True))]
    for name in table.indexed if keyed else ():
        index = exp.Index(
            this=exp.to_identifier(f"{BESIDE}{table.name}_{name}"),
            table=_target(table),
            params=exp.IndexParameters(columns=[exp.column(name)]),
        )
        made.append(RecordStatement(exp.Create(this=index, kind="INDEX", exists=True)))
    return tuple(made)


def drop(table: RecordTable) -> RecordStatement:
    """Drops a table with its rows."""
    return RecordStatement(exp.Drop(tables=[_target(table)], kind="TABLE"))


def add_column(table: RecordTable, column: RecordColumn) -> RecordStatement:
    """Adds a column to a table of an older format."""
    added = exp.Alter(this=_target(table), kind="TABLE", actions=[_definition(column)])
    return RecordStatement(added)


def rename_column(table: RecordTable, old: str, new: str) -> RecordStatement:
    """Gives a column the name that it has now."""
    return constant(f"ALTER TABLE {_table_name(table)} RENAME COLUMN {old} TO {new}")


def constant(text: str) -> RecordStatement:
    """A statement without rows from constant text, for what changes a schema."""
    return RecordStatement(sqlglot.parse_one(text, dialect="duckdb"))


def _table_name(table: RecordTable) -> str:
    return f"{STORE_SCHEMA}.{table.name}"


def _target(table: RecordTable) -> exp.Table:
    return exp.table_(table.name, db=STORE_SCHEMA)


def _definition(column: RecordColumn) -> exp.ColumnDef:
    kind = _type(column)
    rules: list[exp.ColumnConstraintKind] = []
    if column.required:
        rules.append(exp.NotNullColumnConstraint())
        if column.since > 1:
            rules.append(exp.DefaultColumnConstraint(this=exp.Literal.number(0)))
    constraints = [exp.ColumnConstraint(kind=rule) for rule in rules]
    return exp.ColumnDef(this=exp.to_identifier(column.name), kind=kind, constraints=constraints)


def _type(column: RecordColumn) -> exp.DataType:
    """The type of a column, which ``text_of`` spells as the session's dialect does."""
    kind = exp.DataType(this=exp.DType.VARCHAR)
    kind.meta["record"] = column.type.value
    return kind


def _conditions(where: Where | None) -> list[exp.Expr]:
    found = (where or {}).items()
    return [how(this=exp.column(n), expression=exp.Placeholder()) for n, how in found]


def _check_changeable(table: RecordTable) -> None:
    assert not table.append_only, f"{table.name} only grows"
