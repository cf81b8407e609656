"""A catalog's tables in the structures that SQLAlchemy's inspector wants. Pure."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gateway.sqlalchemy_dialect.types import reflected_type
from journal.model.foreign_key import Deferral, ForeignKey, ReferenceAction
from journal.model.schema import CatalogSnapshot, Column, Index, Table, View, fold
from journal.sql import dialects
from journal.sql.unique_keys import logical_text, term_texts
from rewriter.definitions.descriptions import generation_text
from rewriter.definitions.new_relations import kind_of_relation


def column_info(table: Table, column: Column) -> dict[str, Any]:
    """One column for ``get_columns``."""
    info: dict[str, Any] = {
        "name": column.name,
        "type": reflected_type(column.type),
        "nullable": not column.not_null,
        "default": column.default,
        "autoincrement": column.identity is not None,
        "comment": column.comment,
    }
    if column.identity is not None:
        info["identity"] = {
            "always": column.identity.always,
            "start": column.identity.start,
            "increment": column.identity.increment,
        }
    if column.generated is not None:
        info["computed"] = {"sqltext": generation_text(table, column), "persisted": True}
    return info


def key_info(table: Table) -> dict[str, Any]:
    """The primary key for ``get_pk_constraint``."""
    columns = [] if table.hidden_key else _logical(table, table.key)
    return {"constrained_columns": columns, "name": table.key_name}


def unique_infos(table: Table) -> list[dict[str, Any]]:
    """The constraints for ``get_unique_constraints``, in order of their names."""
    return [
        {"name": unique.name, "column_names": _logical(table, unique.columns)}
        for unique in sorted(table.uniques, key=lambda unique: unique.name)
    ]


def index_infos(table: Table) -> list[dict[str, Any]]:
    """The indexes for ``get_indexes``, in order of their names."""
    return [
        _index_info(table, index) for index in sorted(table.indexes, key=lambda index: index.name)
    ]


def _index_info(table: Table, index: Index) -> dict[str, Any]:
    texts = term_texts(table, index)
    included = _logical(table, index.included)
    options: dict[str, Any] = {"palimpsest_include": included}
    if index.predicate is not None:
        options["palimpsest_where"] = logical_text(table, index.predicate)
    names = [t if term.is_column else None for t, term in zip(texts, index.terms, strict=True)]
    info: dict[str, Any] = {
        "name": index.name,
        "unique": index.unique,
        "column_names": names,
        "dialect_options": options,
    }
    if None in names:
        info["expressions"] = texts
    orders = [
        (text, (*["desc"][: term.descending], *["nulls_first"][: term.nulls_first]))
        for text, term in zip(texts, index.terms, strict=True)
        if term.is_column
    ]
    sorting = {name: order for name, order in orders if order}
    return {**info, "column_sorting": sorting} if sorting else info


def foreign_key_infos(
    catalog: CatalogSnapshot, found: Table | View, here: str | None
) -> list[dict[str, Any]]:
    """The constraints for ``get_foreign_keys``, in order of their names.

    A parent in the schema ``here`` is named without it.
    """
    if isinstance(found, View):
        return []
    infos: list[dict[str, Any]] = []
    for reference in catalog.references.get(found.id, ()):
        child, parent, key = reference.child, reference.parent, reference.key
        if child.id == found.id:
            inside = here is not None and parent.name.key[0] == fold(here)
            info: dict[str, Any] = {
                "name": key.name,
                "constrained_columns": _logical(child, key.columns),
                "referred_schema": None if inside else parent.name.schema,
                "referred_table": parent.name.name,
                "referred_columns": _logical(parent, key.parent_columns),
                "options": _options(key),
            }
            infos.append(info)
    return sorted(infos, key=lambda info: str(info["name"]))


def _options(key: ForeignKey) -> dict[str, Any]:
    """What a ForeignKey of a model is given besides its columns."""
    found: dict[str, Any] = {}
    for name, action in (("ondelete", key.on_delete), ("onupdate", key.on_update)):
        if action is not ReferenceAction.NO_ACTION:
            found[name] = str(action)
    if key.is_deferrable:
        found["deferrable"] = True
        if key.deferral is Deferral.INITIALLY:
            found["initially"] = "DEFERRED"
    return {**found, "match": "FULL"} if key.match_full else found


def check_infos(table: Table) -> list[dict[str, Any]]:
    """The constraints for ``get_check_constraints``, in order of their names."""
    names = {c.physical: c.name for c in table.columns}
    found = []
    for check in table.checks:
        condition = dialects.stored(check.expression)
        for used in condition.find_all(exp.Column):
            name = names.get(used.name, used.name)
            used.set("this", exp.to_identifier(name, quoted=not name.isidentifier()))
        found.append({"name": check.name, "sqltext": condition.sql(dialect="duckdb")})
    return sorted(found, key=lambda info: str(info["name"]))


def relation_names(catalog: CatalogSnapshot, schema: str, kind: str) -> list[str]:
    """What a schema has of a kind: TABLE, VIEW or MATERIALIZED VIEW."""
    return sorted(
        r.name.name
        for r in catalog.relations.values()
        if kind_of_relation(r) == kind and r.name.key[0] == fold(schema)
    )


def _logical(table: Table, physical: tuple[str, ...]) -> list[str]:
    return [table.by_physical(name).name for name in physical]
