"""Rows of the system relations the gateway supplies: ``system`` and ``information_schema``.

Made on demand from a catalog, the published state and the session's settings. They show logical
tables and views only; nothing here reads the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from gateway.system_views import access_rows, hold_rows, materialized_rows, tag_rows
from gateway.system_views.activity_rows import ACTIVITY_RELATIONS
from gateway.system_views.constraint_relations import CONSTRAINT_RELATIONS
from gateway.system_views.definition_rows import (
    duckdb_function_rows,
    duckdb_type_rows,
    macro_rows,
    type_rows,
)
from gateway.system_views.duckdb_catalog import DUCKDB_RELATIONS, number_precision
from gateway.system_views.lineage_rows import LINEAGE_RELATIONS
from gateway.system_views.own_relations import own_relations
from gateway.system_views.policy_rows import stated_policy_rows
from gateway.system_views.source import SystemViewSource, columns_of, relations_of, tables_of
from journal.model.foreign_key import Deferral
from journal.model.schema import Index, Table, View
from journal.model.segment import Tier, known_size
from journal.sql.native_words import shown_text
from journal.sql.unique_keys import logical_text, term_texts
from rewriter.definitions import descriptions
from rewriter.definitions.descriptions import constraint_rows, generation_text, referenced_default
from rewriter.definitions.new_relations import kind_of_relation

Row = tuple[Any, ...]
TEXT, NUMBER, FLAG, NAMES = pa.string(), pa.int64(), pa.bool_(), pa.list_(pa.string())


def system_rows(relation: str, seen: SystemViewSource) -> pa.Table:
    """The rows of a relation by the name plans give it."""
    if relation in ACTIVITY_RELATIONS:
        columns, activity_rows = ACTIVITY_RELATIONS[relation]
        made = list(activity_rows(seen.activity, seen.reader))
    else:
        columns, rows = _RELATIONS[relation]
        made = list(rows(seen))
    arrays = [pa.array([row[i] for row in made], kind) for i, (_, kind) in enumerate(columns)]
    return pa.table(arrays, schema=pa.schema(columns))


def without_rows(relation: str) -> pa.Table | None:
    """A relation with its columns alone, by the name plans give it; None for other names."""
    known = ACTIVITY_RELATIONS if relation in ACTIVITY_RELATIONS else _RELATIONS
    return pa.schema(known[relation][0]).empty_table() if relation in known else None


def _tables(seen: SystemViewSource) -> Iterator[Row]:
    for found in relations_of(seen):
        name = found.name
        if isinstance(found, View):
            yield (name.schema, name.name, "view", None, None, None, found.comment)
            continue
        key = [] if found.hidden_key else [found.by_physical(p).name for p in found.key]
        yield (
            *(name.schema, name.name, kind_of_relation(found).lower(), found.id),
            *(key, found.journal_name.name, found.comment),
        )


def _columns(seen: SystemViewSource) -> Iterator[Row]:
    for found in relations_of(seen):
        for position, column in enumerate(columns_of(seen, found), 1):
            key = isinstance(found, Table) and column.physical in found.key
            yield (
                *(found.name.schema, found.name.name, column.name, position, column.type),
                *(not (column.not_null or key), referenced_default(found, column), key),
                *(column.identity is not None, column.comment),
            )


def _journals(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        state = seen.state.tables.get(table.id)
        if state is None:
            continue
        manifest, form = state.manifest, table.format
        rows = {
            tier: sum(s.counts.total for s in manifest.in_tier(tier))
            for tier in (Tier.BASE, Tier.DELTA, Tier.HISTORY)
        }
        yield (
            *(table.name.schema, table.name.name, table.journal_name.name),
            *(form.version_column, form.subsequent_column, form.version_type.value),
            *(manifest.generation, len(manifest.segments), state.head_counts.total),
            *(rows[Tier.DELTA], rows[Tier.BASE], rows[Tier.HISTORY]),
            *(known_size(manifest.segments), state.last_version, seen.lag_ms(table)),
        )


def _segments(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        state = seen.state.tables.get(table.id)
        for segment in state.manifest.segments if state is not None else ():
            counts = segment.counts
            yield (
                *(table.name.schema, table.name.name, segment.id, segment.tier.value),
                *(len(segment.files), counts.total, counts.open, counts.closing),
                *(counts.tombstone, segment.known_bytes, segment.min_version, segment.max_version),
                [file.path for file in segment.files],
            )


def _sequences(seen: SystemViewSource) -> Iterator[Row]:
    catalog = seen.catalog
    for found in sorted(catalog.sequences.values(), key=lambda s: s.name.key):
        owner = None if found.owner is None else catalog.by_id(found.owner[0])
        column = None
        if owner is not None and found.owner is not None:
            column = f"{owner.name}.{owner.by_physical(found.owner[1]).name}"
        yield (
            *(found.name.schema, found.name.name, found.id, found.type.lower(), found.start),
            *(found.increment, found.minimum, found.maximum, found.cycles, found.cache, column),
            found.comment,
        )


def _info_sequences(seen: SystemViewSource) -> Iterator[Row]:
    bits = {"SMALLINT": 16, "INT": 32, "BIGINT": 64}
    for found in sorted(seen.catalog.sequences.values(), key=lambda s: s.name.key):
        numbers = (found.start, found.minimum, found.maximum, found.increment)
        yield (
            *(seen.catalog.database, found.name.schema, found.name.name, found.type.lower()),
            *(bits[found.type], 2, 0, *map(str, numbers), "YES" if found.cycles else "NO"),
        )


def _settings(seen: SystemViewSource) -> Iterator[Row]:
    return iter(seen.settings.rows())


def _indexes(seen: SystemViewSource) -> Iterator[Row]:
    for table, index in _indexes_by_name(seen):
        predicate = index.predicate
        yield (
            *(table.name.schema, table.name.name, index.name, index.unique, index.method or None),
            *(term_texts(table, index), [table.by_physical(p).name for p in index.included]),
            *(
                predicate and logical_text(table, predicate),
                descriptions.create_index(table, index),
            ),
            index.comment,
        )


def _indexes_by_name(seen: SystemViewSource) -> Iterator[tuple[Table, Index]]:
    for table in tables_of(seen):
        for index in sorted(table.indexes, key=lambda index: index.name):
            yield table, index


def _info_schemata(seen: SystemViewSource) -> Iterator[Row]:
    names = [*sorted(seen.catalog.schemas.values()), "system", "information_schema"]
    return ((seen.catalog.database, name, "palimpsest", *(None,) * 4) for name in names)


def _listed(seen: SystemViewSource) -> list[Table | View]:
    """What information_schema lists: the SQL standard knows no materialised view."""
    return [r for r in relations_of(seen) if kind_of_relation(r) != "MATERIALIZED VIEW"]


def _info_tables(seen: SystemViewSource) -> Iterator[Row]:
    for found in _listed(seen):
        table = isinstance(found, Table)
        kind = "LOCAL TEMPORARY" if seen.catalog.is_own(found.name) else "BASE TABLE"
        yield (
            *(seen.catalog.database, found.name.schema, found.name.name),
            *(kind if table else "VIEW", "YES" if table else "NO", found.comment),
        )
    for name, _ in own_relations(SUPPLIED_COLUMNS):
        yield (seen.catalog.database, "system", name, "VIEW", "NO", None)


def _info_columns(seen: SystemViewSource) -> Iterator[Row]:
    for found in _listed(seen):
        for position, column in enumerate(columns_of(seen, found), 1):
            key = isinstance(found, Table) and column.physical in found.key
            numbers = number_precision(column.type)
            identity = column.identity
            made = generation_text(found, column) if isinstance(found, Table) else None
            always = None if identity is None else "ALWAYS" if identity.always else "BY DEFAULT"
            yield (
                *(seen.catalog.database, found.name.schema, found.name.name, column.name, position),
                *(referenced_default(found, column), "NO" if column.not_null or key else "YES"),
                # A text has no length here, and VARCHAR(10) is VARCHAR.
                *(column.type, None, *numbers, None, identity is not None, always),
                *("ALWAYS" if column.generated else "NEVER", made, column.comment),
            )
    for name, columns in own_relations(SUPPLIED_COLUMNS):
        for position, (column_name, kind) in enumerate(columns, 1):
            place = (seen.catalog.database, "system", name, column_name, position)
            yield (*place, None, "YES", kind, *(None,) * 5, False, None, "NEVER", None, None)


def _info_views(seen: SystemViewSource) -> Iterator[Row]:
    for found in relations_of(seen):
        if isinstance(found, View):
            place = (seen.catalog.database, found.name.schema, found.name.name)
            yield (*place, shown_text(found.shown_query), "NONE", "NO", "NO")


def _info_constraints(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        deferrals = {key.name: key.deferral for key in table.foreign_keys}
        for kind, name, _ in constraint_rows(table):
            place = (seen.catalog.database, table.name.schema, name)
            deferral = deferrals.get(name, Deferral.NEVER)
            yield (
                *place,
                seen.catalog.database,
                table.name.schema,
                table.name.name,
                kind,
                "NO" if deferral is Deferral.NEVER else "YES",
                "YES" if deferral is Deferral.INITIALLY else "NO",
            )


def _info_key_columns(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        for kind, name, columns in constraint_rows(table):
            referred = _unique_positions(seen, table, name) if kind == "FOREIGN KEY" else ()
            for position, column in enumerate(columns if kind != "CHECK" else (), 1):
                place = (seen.catalog.database, table.name.schema, name)
                there = referred[position - 1] if referred else None
                yield (
                    *(*place, seen.catalog.database, table.name.schema, table.name.name),
                    *(column, position, there),
                )


def _unique_positions(seen: SystemViewSource, table: Table, name: str) -> Sequence[int]:
    """For each column of a foreign key, which one of the unique constraint it refers to."""
    for reference in seen.catalog.references.get(table.id, ()):
        if reference.child.id == table.id and reference.key.name == name:
            found = descriptions.referred_constraint(reference)
            if found is None:
                return ()
            _, _, columns = found
            parent = reference.parent
            names = [parent.by_physical(p).name for p in reference.key.parent_columns]
            return [list(columns).index(n) + 1 for n in names]
    return ()


def _info_references(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        for reference in seen.catalog.references.get(table.id, ()):
            if reference.child.id == table.id:
                found = descriptions.referred_constraint(reference)
                unique = None if found is None else found[1]
                yield (
                    *(seen.catalog.database, table.name.schema, reference.key.name),
                    *(seen.catalog.database, reference.parent.name.schema, unique),
                    "FULL" if reference.key.match_full else "NONE",
                    *(str(reference.key.on_update), str(reference.key.on_delete)),
                )


def _arrow_schema(
    text: str, *numbers: str, flags: Sequence[str] = (), lists: Sequence[str] = ()
) -> Any:
    def kind(name: str) -> Any:
        return NUMBER if name in numbers else FLAG if name in flags else TEXT

    return [(n, NAMES if n in lists else kind(n)) for n in text.split()]


_CONSTRAINT = "constraint_catalog constraint_schema constraint_name"
_TABLE = "table_catalog table_schema table_name"
_RELATIONS: dict[str, tuple[Any, Callable[[SystemViewSource], Iterator[Row]]]] = {
    "sys_tables": (
        _arrow_schema("schema name type table_id key journal comment", "table_id", lists=["key"]),
        _tables,
    ),
    "sys_columns": (
        _arrow_schema(
            "schema table name position type nullable default is_key is_identity comment",
            "position",
            flags=["nullable", "is_key", "is_identity"],
        ),
        _columns,
    ),
    "sys_journals": (
        _arrow_schema(
            "schema table journal version_column subsequent_column version_type generation"
            " segments head_rows delta_rows base_rows history_rows bytes last_version lag_ms",
            *"generation segments head_rows delta_rows base_rows history_rows".split(),
            *("bytes", "last_version", "lag_ms"),
        ),
        _journals,
    ),
    "sys_segments": (
        _arrow_schema(
            "schema table segment tier files rows open_rows closing_rows tombstones bytes"
            " min_version max_version paths",
            *"files rows open_rows closing_rows tombstones bytes min_version max_version".split(),
            lists=["paths"],
        ),
        _segments,
    ),
    "sys_indexes": (
        _arrow_schema(
            "schema table name is_unique method columns included predicate definition comment",
            flags=["is_unique"],
            lists=["columns", "included"],
        ),
        _indexes,
    ),
    "sys_sequences": (
        _arrow_schema(
            "schema sequence sequence_id type start increment minimum maximum cycles cache owner"
            " comment",
            *"sequence_id start increment minimum maximum cache".split(),
            flags=["cycles"],
        ),
        _sequences,
    ),
    "info_sequences": (
        _arrow_schema(
            "sequence_catalog sequence_schema sequence_name data_type numeric_precision"
            " numeric_precision_radix numeric_scale start_value minimum_value maximum_value"
            " increment cycle_option",
            *("numeric_precision", "numeric_precision_radix", "numeric_scale"),
        ),
        _info_sequences,
    ),
    "sys_types": (
        _arrow_schema(
            "schema name kind type values nullable default checks comment",
            flags=["nullable"],
            lists=["values", "checks"],
        ),
        lambda seen: type_rows(seen.catalog),
    ),
    "info_types": (
        _arrow_schema(
            "database_name database_oid schema_name schema_oid type_oid type_name type_size"
            " logical_type type_category comment internal labels",
            *("database_oid", "schema_oid", "type_oid", "type_size"),
            flags=["internal"],
            lists=["labels"],
        ),
        lambda seen: duckdb_type_rows(seen.catalog),
    ),
    "sys_macros": (
        _arrow_schema("schema name kind form parameters body comment", lists=["parameters"]),
        lambda seen: macro_rows(seen.catalog),
    ),
    "info_functions": (
        _arrow_schema(
            "database_name schema_name function_name function_type return_type description"
            " parameters macro_definition internal",
            flags=["internal"],
            lists=["parameters"],
        ),
        lambda seen: duckdb_function_rows(seen.catalog),
    ),
    "sys_materialized": (
        materialized_rows.COLUMNS,
        lambda seen: materialized_rows.materialized_rows(seen.catalog, seen.state),
    ),
    "sys_holds": (hold_rows.COLUMNS, hold_rows.hold_rows),
    "sys_policies": (_arrow_schema("schema table policy value scope"), stated_policy_rows),
    "sys_tags": (_arrow_schema(tag_rows.COLUMNS, lists=["path"]), tag_rows.tag_rows),
    "sys_roles": (
        _arrow_schema(
            "name id can_login is_superuser creates_roles inherits connection_limit valid_until"
            " member_of bypasses_policies comment",
            *("id", "connection_limit"),
            flags=["can_login", "is_superuser", "creates_roles", "inherits", "bypasses_policies"],
            lists=["member_of"],
        ),
        access_rows.role_rows,
    ),
    "sys_privileges": (
        _arrow_schema(
            "kind schema name column grantee privilege grantable grantor", flags=["grantable"]
        ),
        access_rows.privilege_rows,
    ),
    "sys_access_policies": (
        _arrow_schema("table_schema table_name column_name kind expression tag types"),
        access_rows.policy_rows,
    ),
    "sys_settings": (_arrow_schema("name value description"), _settings),
    "info_schemata": (
        _arrow_schema(
            "catalog_name schema_name schema_owner default_character_set_catalog"
            " default_character_set_schema default_character_set_name sql_path"
        ),
        _info_schemata,
    ),
    "info_tables": (
        _arrow_schema(f"{_TABLE} table_type is_insertable_into table_comment"),
        _info_tables,
    ),
    "info_columns": (
        _arrow_schema(
            f"{_TABLE} column_name ordinal_position column_default is_nullable data_type"
            " character_maximum_length numeric_precision numeric_precision_radix numeric_scale"
            " datetime_precision is_identity identity_generation is_generated"
            " generation_expression column_comment",
            *("ordinal_position", "character_maximum_length", "numeric_precision"),
            *("numeric_precision_radix", "numeric_scale", "datetime_precision"),
            flags=["is_identity"],
        ),
        _info_columns,
    ),
    "info_views": (
        _arrow_schema(f"{_TABLE} view_definition check_option is_updatable is_insertable_into"),
        _info_views,
    ),
    "info_table_constraints": (
        _arrow_schema(f"{_CONSTRAINT} {_TABLE} constraint_type is_deferrable initially_deferred"),
        _info_constraints,
    ),
    "info_key_column_usage": (
        _arrow_schema(
            f"{_CONSTRAINT} {_TABLE} column_name ordinal_position position_in_unique_constraint",
            *("ordinal_position", "position_in_unique_constraint"),
        ),
        _info_key_columns,
    ),
    "info_referential_constraints": (
        _arrow_schema(
            f"{_CONSTRAINT} unique_constraint_catalog unique_constraint_schema"
            " unique_constraint_name match_option update_rule delete_rule"
        ),
        _info_references,
    ),
    **CONSTRAINT_RELATIONS,
    **LINEAGE_RELATIONS,
    **DUCKDB_RELATIONS,
}
SUPPLIED_COLUMNS = {
    **{name: columns for name, (columns, _) in _RELATIONS.items()},
    **{name: columns for name, (columns, _) in ACTIVITY_RELATIONS.items()},
}
