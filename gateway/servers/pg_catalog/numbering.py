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
    "pg_default_acl": 826, "pg_tablespace": 1213, "pg_type": 1247, "pg_attribute": 1249,
    "pg_proc": 1255, "pg_class": 1259, "pg_authid": 1260, "pg_auth_members": 1261,
    "pg_database": 1262, "pg_foreign_server": 1417, "pg_user_mapping": 1418, "pg_sequence": 2224,
    "pg_foreign_data_wrapper": 2328, "pg_shdescription": 2396, "pg_aggregate": 2600,
    "pg_am": 2601, "pg_amop": 2602, "pg_amproc": 2603, "pg_attrdef": 2604, "pg_cast": 2605,
    "pg_constraint": 2606, "pg_conversion": 2607, "pg_depend": 2608, "pg_description": 2609,
    "pg_index": 2610, "pg_inherits": 2611, "pg_language": 2612, "pg_namespace": 2615,
    "pg_opclass": 2616, "pg_operator": 2617, "pg_rewrite": 2618, "pg_trigger": 2620,
    "pg_opfamily": 2753, "pg_db_role_setting": 2964, "pg_largeobject_metadata": 2995,
    "pg_extension": 3079, "pg_foreign_table": 3118, "pg_policy": 3256,
    "pg_partitioned_table": 3350, "pg_statistic_ext": 3381, "pg_init_privs": 3394,
    "pg_collation": 3456, "pg_event_trigger": 3466, "pg_enum": 3501, "pg_range": 3541,
    "pg_transform": 3576, "pg_shseclabel": 3592, "pg_seclabel": 3596, "pg_ts_dict": 3600,
    "pg_ts_parser": 3601, "pg_ts_config": 3602, "pg_ts_template": 3764, "pg_subscription": 6100,
    "pg_publication": 6104, "pg_publication_rel": 6106, "pg_publication_namespace": 6237,
}  # fmt: skip
"""Tables of the catalog itself, by which comments and dependencies say what they are about."""
_FIRST_TABLE = 16_384
_PER_TABLE = 256
_NAMED = 1_000_000_000


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


def rule_oid(view: Table | View) -> int:
    """The number of the rule by which a view, or a materialized view, has its rows."""
    return _by_name("rule", str(relation_oid(view)))


def sequence_oid(schema: str, name: str) -> int:
    """The number of a sequence."""
    return _by_name("sequence", f"{schema}.{name}".lower())


def type_oid(name: TableName) -> int:
    """The number of a type of a user's."""
    return _by_name("type", f"{name.schema}.{name.name}".lower())


def collation_oid(name: str) -> int:
    """The number of a collation of texts."""
    return _by_name("collation", name)


def row_type_oid(relation: int) -> int:
    """The number of the type that the rows of a relation are of."""
    return _by_name("row", str(relation))


def array_oid(number: int) -> int:
    """The number of the lists of a type of a user's."""
    return _by_name("list", str(number))


def label_oid(number: int, label: str) -> int:
    """The number of a label of an enum."""
    return _by_name("label", f"{number} {label}")


def macro_oid(name: TableName, form: int, *, is_table: bool) -> int:
    """The number of a form of a macro."""
    return _by_name("macro", f"{name.schema}.{name.name} {form} {is_table}".lower())


def routine_oid(name: TableName) -> int:
    """The number of a function in PL/pgSQL."""
    return _by_name("routine", f"{name.schema}.{name.name}".lower())


def trigger_oid(table: Table, name: str) -> int:
    """The number of a trigger."""
    return _by_name("trigger", f"{relation_oid(table)} {name}")


def _by_name(kind: str, name: str) -> int:
    return _NAMED + crc32(f"{kind} {name}".encode()) % 1_000_000_000
