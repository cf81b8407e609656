"""DuckDB's functions that list its catalog, with the warehouse in place of a database of DuckDB.

Tools made for DuckDB ask ``duckdb_tables()`` and its kin what there is. The columns are DuckDB's;
numbers of objects are the ids of tables, and NULL for what has none; so are tags, which are texts
here because not every store has maps. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.system_views.source import SystemViewSource, columns_of, relations_of, tables_of
from journal.model.access import ObjectKey, ObjectKind
from journal.model.schema import DEFAULT_SCHEMA, Table, TableName, View, fold
from journal.sql.unique_keys import logical_text, term_texts
from rewriter.definitions.descriptions import (
    constraint_rows,
    create_index,
    create_table,
    create_view,
    generation_text,
    referenced_default,
)

Row = tuple[Any, ...]
_KINDS = {
    "text": pa.string(),
    "bigint": pa.int64(),
    "integer": pa.int32(),
    "flag": pa.bool_(),
    "texts": pa.list_(pa.string()),
    "numbers": pa.list_(pa.int64()),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_BITS = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INTEGER": 32,
    "BIGINT": 64,
    "HUGEINT": 128,
    "FLOAT": 24,
    "DOUBLE": 53,
}


def _schema(text: str) -> list[tuple[str, pa.DataType]]:
    """Columns of a text such as ``text a b; flag c``: kinds with the names that have them."""
    groups = (group.split() for group in text.split(";"))
    return [(name, _KINDS[kind]) for kind, *names in groups for name in names]


_PLACE = "text database_name; bigint database_oid; text schema_name; bigint schema_oid; "


def _place(seen: SystemViewSource, name: TableName) -> Row:
    own = seen.catalog.is_own(name)
    return ("temp" if own else seen.catalog.database, None, name.schema, None)


def _tables(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        own = seen.catalog.is_own(table.name)
        primary = not table.hidden_key or any(u.primary for u in table.uniques)
        text = create_table(table, seen.catalog, temporary=own)
        yield (
            *(*_place(seen, table.name), table.name.name, table.id, table.comment, None, False),
            *(own, primary, _row_estimate(seen, table), len(table.columns), len(table.indexes)),
            *(len(table.checks), text + ";"),
        )


def _row_estimate(seen: SystemViewSource, table: Table) -> int | None:
    made = table.materialized
    sources = (table.id, *(() if made is None else made.sources))
    if any(seen.rights.is_restricted(ObjectKey(ObjectKind.TABLE, i)) for i in sources):
        return None  # How many rows there are is not told where some are hidden.
    state = seen.state.tables.get(table.id)
    if state is None:
        return 0
    counts = [state.head_counts, *(s.counts for s in state.manifest.segments)]
    return max(0, sum(c.open - c.closing - c.tombstone for c in counts))


def _columns(seen: SystemViewSource) -> Iterator[Row]:
    for found in relations_of(seen):
        number = found.id if isinstance(found, Table) else None
        for position, column in enumerate(columns_of(seen, found), 1):
            key = isinstance(found, Table) and column.physical in found.key
            made = generation_text(found, column) if isinstance(found, Table) else None
            yield (
                *(*_place(seen, found.name), found.name.name, number, column.name, position),
                *(column.comment, False, made or referenced_default(found, column)),
                *(not (column.not_null or key), column.type, None, None),
                *(*number_precision(column.type), None, made is not None, made),
            )


def number_precision(kind: str) -> tuple[int | None, int | None, int | None]:
    """Digits of a number, the base that they are counted in, and those behind the point."""
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        return int(decimal[1]), 10, int(decimal[2])
    bits = _BITS.get(kind)
    return (None, None, None) if bits is None else (bits, 2, 0)


def _views(seen: SystemViewSource) -> Iterator[Row]:
    for view in relations_of(seen):
        if isinstance(view, View):
            own = seen.catalog.is_own(view.name)
            yield (
                *(*_place(seen, view.name), view.name.name, None, view.comment, None, False, own),
                *(len(columns_of(seen, view)), create_view(view, temporary=own) + ";", True),
            )


def _schemas(seen: SystemViewSource) -> Iterator[Row]:
    home = fold(seen.catalog.home)
    for name in sorted(seen.catalog.schemas.values()):
        made = None if fold(name) == home else f"CREATE SCHEMA {name};"
        said = seen.catalog.schema_comments.get(fold(name))
        yield (None, seen.catalog.database, None, name, said, None, made is None, made, None, None)
    for name in ("information_schema", "system"):
        yield (None, seen.catalog.database, None, name, None, None, True, None, None, None)


def _databases(seen: SystemViewSource) -> Iterator[Row]:
    kind = (None, None, seen.catalog.comment, None, False, "palimpsest")
    yield (seen.catalog.database, *kind, False, False, None, None)


def _constraints(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        for index, row in enumerate(_constraints_of(seen, table)):
            yield (*_place(seen, table.name), table.name.name, table.id, index, *row)


def _constraints_of(seen: SystemViewSource, table: Table) -> Iterator[Row]:
    """Kind, text, expression, places and names of columns, name, and what is referred to."""
    names = [c.name for c in table.columns]

    def places(columns: list[str]) -> list[int]:
        return [names.index(name) for name in columns]

    checks = {check.name: logical_text(table, check.expression) for check in table.checks}
    parents = {
        r.key.name: r for r in seen.catalog.references.get(table.id, ()) if r.child.id == table.id
    }
    for kind, name, found in constraint_rows(table):
        columns = list(found)
        listed = ", ".join(columns)
        if kind == "CHECK":
            text = checks[name]
            columns = [c for c in names if c in text]
            yield (kind, f"CHECK(({text}))", f"({text})", places(columns), columns, name, None, [])
        elif kind == "FOREIGN KEY":
            reference = parents[name]
            parent = reference.parent
            theirs = [parent.by_physical(p).name for p in reference.key.parent_columns]
            text = _foreign_key_text(columns, parent.name, theirs)
            yield (kind, text, None, places(columns), columns, name, parent.name.name, theirs)
        else:
            yield (kind, f"{kind}({listed})", None, places(columns), columns, name, None, [])
    for column in table.columns:
        if column.not_null or column.physical in table.key:
            name = f"{table.name.name}_{column.name}_not_null"
            place = [names.index(column.name)]
            yield ("NOT NULL", "NOT NULL", None, place, [column.name], name, None, [])


def _foreign_key_text(columns: list[str], parent: TableName, theirs: list[str]) -> str:
    """As DuckDB writes it: the schema of the parent where it is not its default one."""

    def named(name: str) -> str:
        return exp.to_identifier(name, quoted=not name.isidentifier()).sql("duckdb")

    target = named(parent.name)
    if fold(parent.schema) != DEFAULT_SCHEMA:
        target = f"{named(parent.schema)}.{target}"
    listed, others = (", ".join(named(name) for name in names) for names in (columns, theirs))
    return f"FOREIGN KEY ({listed}) REFERENCES {target}({others})"


def _indexes(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        for index in sorted(table.indexes, key=lambda index: index.name):
            yield (
                *(*_place(seen, table.name), index.name, None, table.name.name, table.id),
                *(index.comment, None, index.unique, False),
                *(f"[{', '.join(term_texts(table, index))}]", create_index(table, index) + ";"),
            )


def _sequences(seen: SystemViewSource) -> Iterator[Row]:
    for found in sorted(seen.catalog.sequences.values(), key=lambda s: s.name.key):
        own = seen.catalog.is_own(found.name)
        cycle = "CYCLE" if found.cycles else "NO CYCLE"
        text = (
            f"CREATE {'TEMP ' if own else ''}SEQUENCE {found.name} INCREMENT BY {found.increment}"
            f" MINVALUE {found.minimum} MAXVALUE {found.maximum} START {found.start} {cycle};"
        )
        yield (
            *(*_place(seen, found.name), found.name.name, found.id, found.comment, None, own),
            *(found.start, found.minimum, found.maximum, found.increment, found.cycles, None, text),
        )


def _settings(seen: SystemViewSource) -> Iterator[Row]:
    for name, value, about in seen.settings.rows():
        yield (name, value, about, "VARCHAR", "LOCAL", [])


def _table_info(seen: SystemViewSource) -> Iterator[Row]:
    for found in relations_of(seen):
        primary: set[str] = set()
        if isinstance(found, Table):
            primary = {p for u in found.uniques if u.primary for p in u.columns} | set(found.key)
        for position, column in enumerate(columns_of(seen, found)):
            key = column.physical in primary
            required = bool(column.not_null or key)
            yield (
                *(*found.name.key, position, column.name, column.type, required),
                *(referenced_default(found, column), key),
            )


def _master(seen: SystemViewSource) -> Iterator[Row]:
    for found in relations_of(seen):
        name = found.name.name
        if isinstance(found, View):
            yield ("view", name, name, 0, create_view(found) + ";")
            continue
        yield ("table", name, name, 0, create_table(found, seen.catalog) + ";")
        for index in found.indexes:
            yield ("index", index.name, name, 0, create_index(found, index) + ";")


DUCKDB_RELATIONS: dict[str, tuple[Any, Callable[[SystemViewSource], Iterator[Row]]]] = {
    "info_duckdb_tables": (
        _schema(
            _PLACE + "text table_name; bigint table_oid; text comment; text tags; flag internal"
            " temporary has_primary_key; bigint estimated_size column_count index_count"
            " check_constraint_count; text sql"
        ),
        _tables,
    ),
    "info_duckdb_columns": (
        _schema(
            _PLACE + "text table_name; bigint table_oid; text column_name; integer column_index;"
            " text comment; flag internal; text column_default; flag is_nullable; text data_type;"
            " bigint data_type_id; integer character_maximum_length numeric_precision"
            " numeric_precision_radix numeric_scale; text tags; flag is_generated;"
            " text generation_expression"
        ),
        _columns,
    ),
    "info_duckdb_views": (
        _schema(
            _PLACE + "text view_name; bigint view_oid; text comment; text tags; flag internal"
            " temporary; bigint column_count; text sql; flag is_bound"
        ),
        _views,
    ),
    "info_duckdb_schemas": (
        _schema(
            "bigint oid; text database_name; bigint database_oid; text schema_name comment;"
            " text tags; flag internal; text sql parent_schema; bigint parent_schema_oid"
        ),
        _schemas,
    ),
    "info_duckdb_databases": (
        _schema(
            "text database_name; bigint database_oid; text path comment; text tags; flag internal;"
            " text type; flag readonly encrypted; text cipher; text options"
        ),
        _databases,
    ),
    "info_duckdb_constraints": (
        _schema(
            _PLACE + "text table_name; bigint table_oid constraint_index; text constraint_type"
            " constraint_text expression; numbers constraint_column_indexes;"
            " texts constraint_column_names; text constraint_name referenced_table;"
            " texts referenced_column_names"
        ),
        _constraints,
    ),
    "info_indexes": (
        _schema(
            _PLACE + "text index_name; bigint index_oid; text table_name; bigint table_oid;"
            " text comment; text tags; flag is_unique is_primary; text expressions sql"
        ),
        _indexes,
    ),
    "info_duckdb_sequences": (
        _schema(
            _PLACE + "text sequence_name; bigint sequence_oid; text comment; text tags;"
            " flag temporary; bigint start_value min_value max_value increment_by; flag cycle;"
            " bigint last_value; text sql"
        ),
        _sequences,
    ),
    "info_duckdb_settings": (
        _schema("text name value description input_type scope; texts aliases"),
        _settings,
    ),
    "info_table_info": (
        _schema(
            "text schema_key table_key; integer cid; text name type; flag notnull;"
            " text dflt_value; flag pk"
        ),
        _table_info,
    ),
    "info_sqlite_master": (
        _schema("text type name tbl_name; integer rootpage; text sql"),
        _master,
    ),
}
"""Columns and rows of each relation, by the name under which plans ask for it."""
