"""Assigns object ids: PostgreSQL's own to built-in objects, stable ones to all others."""

from __future__ import annotations

from zlib import crc32

from journal.model.schema import CatalogSnapshot, Table, TableName, View

PG_CATALOG = 11
HOME = 2200
"""The schema that names without one lie in, as PostgreSQL numbers ``public``."""
OWNER = 10
DATABASE = 16_000
CATALOGS = {
    "pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_authid": 1260,
    "pg_database": 1262, "pg_constraint": 2606, "pg_namespace": 2615, "pg_policy": 3256,
}  # fmt: skip
"""Tables of the catalog itself, by which comments and dependencies say what they are about."""
_FIRST_TABLE = 16_384
_PER_TABLE = 256
_NAMED = 2_500_000_000


def schema_oid(name: str, catalog: CatalogSnapshot) -> int:
    """The number of a schema."""
    return HOME if name.lower() == catalog.home.lower() else _by_name("schema", name.lower())


def relation_oid(relation: Table | View) -> int:
    """The number of a table, which it keeps when it is renamed, or of a view, by its name."""
    if isinstance(relation, Table):
        return _FIRST_TABLE + relation.id * _PER_TABLE
    return _by_name("view", f"{relation.name.schema}.{relation.name.name}".lower())


def part_oid(table: Table, place: int) -> int:
    """The number of a constraint, an index or a default of a table, by its place among them."""
    return relation_oid(table) + 1 + place % (_PER_TABLE - 1)


def sequence_oid(schema: str, name: str) -> int:
    """The number of a sequence."""
    return _by_name("sequence", f"{schema}.{name}".lower())


def type_oid(name: TableName) -> int:
    """The number of a type of a user's."""
    return _by_name("type", f"{name.schema}.{name.name}".lower())


def array_oid(number: int) -> int:
    """The number of the lists of a type of a user's."""
    return _by_name("list", str(number))


def label_oid(number: int, label: str) -> int:
    """The number of a label of an enum."""
    return _by_name("label", f"{number} {label}")


def macro_oid(name: TableName, form: int, *, is_table: bool) -> int:
    """The number of a form of a macro."""
    return _by_name("macro", f"{name.schema}.{name.name} {form} {is_table}".lower())


def _by_name(kind: str, name: str) -> int:
    return _NAMED + crc32(f"{kind} {name}".encode()) % 1_500_000_000
