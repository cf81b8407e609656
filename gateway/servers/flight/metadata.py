"""What Flight clients ask of the catalog: catalogs, schemas, tables and keys, as Arrow tables.

A client sees what its role may see. Patterns are those of LIKE, with a backslash to escape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from sqlglot import exp

from gateway.servers.arrow_schemas import result_schema
from gateway.servers.flight.wire import flight_sql_pb2 as wire
from gateway.session.session import Session
from journal.model.errors import PalimpsestError
from journal.model.foreign_key import ReferenceAction
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot, Reference, Table, TableName, View
from journal.model.visibility import visible_to

_TEXT, _NAME = pa.string(), False
CATALOGS = pa.schema([pa.field("catalog_name", _TEXT, _NAME)])
SCHEMAS = pa.schema([pa.field("catalog_name", _TEXT), pa.field("db_schema_name", _TEXT, _NAME)])
TABLES = pa.schema(
    [
        pa.field("catalog_name", _TEXT),
        pa.field("db_schema_name", _TEXT),
        pa.field("table_name", _TEXT, _NAME),
        pa.field("table_type", _TEXT, _NAME),
    ]
)
TABLES_WITH_SCHEMA = TABLES.append(pa.field("table_schema", pa.binary(), nullable=False))
TABLE_TYPES = pa.schema([pa.field("table_type", _TEXT, _NAME)])
PRIMARY_KEYS = pa.schema(
    [
        pa.field("catalog_name", _TEXT),
        pa.field("db_schema_name", _TEXT),
        pa.field("table_name", _TEXT, _NAME),
        pa.field("column_name", _TEXT, _NAME),
        pa.field("key_name", _TEXT),
        pa.field("key_sequence", pa.int32(), nullable=False),
    ]
)
FOREIGN_KEYS = pa.schema(
    [
        pa.field("pk_catalog_name", _TEXT),
        pa.field("pk_db_schema_name", _TEXT),
        pa.field("pk_table_name", _TEXT, _NAME),
        pa.field("pk_column_name", _TEXT, _NAME),
        pa.field("fk_catalog_name", _TEXT),
        pa.field("fk_db_schema_name", _TEXT),
        pa.field("fk_table_name", _TEXT, _NAME),
        pa.field("fk_column_name", _TEXT, _NAME),
        pa.field("key_sequence", pa.int32(), nullable=False),
        pa.field("fk_key_name", _TEXT),
        pa.field("pk_key_name", _TEXT),
        pa.field("update_rule", pa.uint8(), nullable=False),
        pa.field("delete_rule", pa.uint8(), nullable=False),
    ]
)
_TABLE, _VIEW, _TEMPORARY = "TABLE", "VIEW", "LOCAL TEMPORARY"
_RULES = {
    ReferenceAction.CASCADE: 0,
    ReferenceAction.RESTRICT: 1,
    ReferenceAction.SET_NULL: 2,
    ReferenceAction.NO_ACTION: 3,
    ReferenceAction.SET_DEFAULT: 4,
}


def catalogs(catalog: CatalogSnapshot) -> pa.Table:
    """The one database that there is."""
    return pa.table({"catalog_name": [catalog.database]}, CATALOGS)


def schemas(catalog: CatalogSnapshot, asked: wire.CommandGetDbSchemas) -> pa.Table:
    """The schemas whose names fit."""
    fits = _pattern(asked, "db_schema_filter_pattern")
    names = [name for name in catalog.schemas.values() if fits(name)]
    names = sorted(names) if _is_database(catalog, asked, "catalog") else []
    return _table([(catalog.database, name) for name in names], SCHEMAS)


def table_types() -> pa.Table:
    """The kinds of tables."""
    return pa.table({"table_type": [_TABLE, _VIEW, _TEMPORARY]}, TABLE_TYPES)


def tables(session: Session, asked: wire.CommandGetTables) -> pa.Table:
    """The tables and views whose names and kinds fit, with their columns if they are asked for."""
    catalog = seen_by(session)
    shape = TABLES_WITH_SCHEMA if asked.include_schema else TABLES
    if not _is_database(catalog, asked, "catalog"):
        return _table([], shape)
    in_schema = _pattern(asked, "db_schema_filter_pattern")
    named = _pattern(asked, "table_name_filter_pattern")
    kinds = set(asked.table_types)
    rows: list[tuple[object, ...]] = []
    for relation in sorted(catalog.relations.values(), key=lambda found: found.name.key):
        kind = _kind(catalog, relation)
        name = relation.name
        if in_schema(name.schema) and named(name.name) and (not kinds or kind in kinds):
            row: tuple[object, ...] = (catalog.database, name.schema, name.name, kind)
            if asked.include_schema:
                row += (_columns_of(session, relation).serialize().to_pybytes(),)
            rows.append(row)
    return _table(rows, shape)


def primary_keys(catalog: CatalogSnapshot, asked: wire.CommandGetPrimaryKeys) -> pa.Table:
    """The columns of the primary keys of tables of a name."""
    rows = []
    for table in _named(catalog, asked, "catalog", "db_schema", "table"):
        columns, name = _primary_key(table)
        for place, column in enumerate(columns):
            where = (catalog.database, table.name.schema, table.name.name)
            rows.append((*where, column, name, place + 1))
    return _table(rows, PRIMARY_KEYS)


def exported_keys(catalog: CatalogSnapshot, asked: wire.CommandGetExportedKeys) -> pa.Table:
    """The foreign keys that point at a table."""
    found = (
        reference
        for table in _named(catalog, asked, "catalog", "db_schema", "table")
        for reference in _references(catalog, table)
        if reference.parent.id == table.id
    )
    return _key_rows(catalog, found)


def imported_keys(catalog: CatalogSnapshot, asked: wire.CommandGetImportedKeys) -> pa.Table:
    """The foreign keys that a table has."""
    found = (
        reference
        for table in _named(catalog, asked, "catalog", "db_schema", "table")
        for reference in _references(catalog, table)
        if reference.child.id == table.id
    )
    return _key_rows(catalog, found)


def cross_reference(catalog: CatalogSnapshot, asked: wire.CommandGetCrossReference) -> pa.Table:
    """The foreign keys of one table that point at another."""
    children = {t.id for t in _named(catalog, asked, "fk_catalog", "fk_db_schema", "fk_table")}
    found = (
        reference
        for table in _named(catalog, asked, "pk_catalog", "pk_db_schema", "pk_table")
        for reference in _references(catalog, table)
        if reference.parent.id == table.id and reference.child.id in children
    )
    return _key_rows(catalog, found)


def seen_by(session: Session) -> CatalogSnapshot:
    """The catalog as the role of a session may see it."""
    catalog = session.catalog
    return visible_to(catalog, catalog.rights_of(session.settings.role))


def _kind(catalog: CatalogSnapshot, relation: Table | View) -> str:
    if isinstance(relation, View) or relation.materialized is not None:
        return _VIEW
    return _TEMPORARY if catalog.is_own(relation.name) else _TABLE


def _columns_of(session: Session, relation: Table | View) -> pa.Schema:
    """The columns of a table as it declares them, those of a view as its query has them."""
    if isinstance(relation, Table):
        columns = [ResultColumn(c.name, c.type) for c in relation.columns]
        found = result_schema(columns)
        fields = zip(found, relation.columns, strict=True)
        return pa.schema([f.with_nullable(not c.not_null) for f, c in fields])
    return result_schema(_view_columns(session, relation.name))


def _view_columns(session: Session, name: TableName) -> list[ResultColumn]:
    view = exp.table_(name.name, db=name.schema, quoted=True)
    try:
        outcome = session.run_text(exp.select("*").from_(view).limit(0).sql("duckdb"))
    except PalimpsestError:
        return []  # What it reads may be gone, or not be the client's to read.
    outcome.close()
    return list(outcome.columns or ())


def _primary_key(table: Table) -> tuple[list[str], str | None]:
    added = next((unique for unique in table.uniques if unique.primary), None)
    if added is not None:
        return [table.by_physical(c).name for c in added.columns], added.name
    if table.hidden_key:
        return [], None
    return [table.by_physical(c).name for c in table.key], table.key_name


def _references(catalog: CatalogSnapshot, table: Table) -> Iterator[Reference]:
    """Foreign keys of a table and at it whose two ends the client sees."""
    for reference in catalog.references.get(table.id, ()):
        ends = (reference.child, reference.parent)
        if all(catalog.by_id(end.id) is not None for end in ends):
            yield reference


def _key_rows(catalog: CatalogSnapshot, found: Iterable[Reference]) -> pa.Table:
    rows = []
    for reference in found:
        child, key, parent = reference.child, reference.key, reference.parent
        rules = (_RULES[key.on_update], _RULES[key.on_delete])
        pairs = zip(key.parent_columns, key.columns, strict=True)
        for place, (theirs, ours) in enumerate(pairs):
            rows.append(
                (
                    *(catalog.database, parent.name.schema, parent.name.name),
                    parent.by_physical(theirs).name,
                    *(catalog.database, child.name.schema, child.name.name),
                    child.by_physical(ours).name,
                    *(place + 1, key.name, _primary_key(parent)[1], *rules),
                )
            )
    rows.sort(key=lambda row: (row[5], row[6], row[9] or "", row[8]))
    return _table(rows, FOREIGN_KEYS)


def _named(
    catalog: CatalogSnapshot, asked: object, database: str, schema: str, table: str
) -> list[Table]:
    """The tables of a name, in the schema that was asked for or in all."""
    if not _is_database(catalog, asked, database):
        return []
    wanted = getattr(asked, schema) if _has(asked, schema) else None
    name = getattr(asked, table)
    found = [
        t
        for t in catalog.tables()
        if t.name.key == TableName(wanted if wanted is not None else t.name.schema, name).key
    ]
    return sorted(found, key=lambda t: t.name.key)


def _is_database(catalog: CatalogSnapshot, asked: object, name: str) -> bool:
    return not _has(asked, name) or getattr(asked, name) in ("", catalog.database)


def _has(asked: object, name: str) -> bool:
    return bool(asked.HasField(name))  # type: ignore[attr-defined]


def _pattern(asked: object, name: str) -> Callable[[str], bool]:
    """Whether a name fits the pattern of a field; everything fits none."""
    if not _has(asked, name):
        return lambda _: True
    parts = re.findall(r"\\.|.", getattr(asked, name), re.DOTALL)
    wild = {"%": ".*", "_": "."}
    text = "".join(wild.get(part) or re.escape(part.removeprefix("\\")) for part in parts)
    fits = re.compile(text, re.IGNORECASE | re.DOTALL)
    return lambda found: fits.fullmatch(found) is not None


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )
