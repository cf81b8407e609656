"""The catalog as data: its changes applied to snapshots, and both as plain JSON structures.

A catalog is the fold of its changes. Where they are stored is the store's business.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from journal.model.access import DropRole, ObjectKey, ObjectKind, PutAccess, PutRole, PutTags
from journal.model.access_json import (
    access_from_json,
    access_to_json,
    put_tags_from_json,
    role_from_json,
    tags_to_json,
)
from journal.model.foreign_key import Deferral, ForeignKey, ReferenceAction
from journal.model.named_definitions import (
    DropDefinition,
    PutDefinition,
    calls_from_json,
    definition_key,
    from_json,
    to_json,
)
from journal.model.plan import (
    CatalogChange,
    DropRelation,
    DropSchema,
    PutDatabaseComment,
    PutRelation,
    PutSchema,
)
from journal.model.policy_scope import PutScopedPolicy, scoped_from_json, scoped_to_json
from journal.model.schema import (
    CatalogSnapshot,
    Check,
    Column,
    Identity,
    Index,
    JournalFormat,
    Materialized,
    Relation,
    Sequence,
    Table,
    TableName,
    Unique,
    View,
    relation_key,
)
from journal.model.sequence_changes import DropSequence, PutSequence
from journal.model.table_index import IndexTerm
from journal.model.triggers import trigger_from_json
from journal.model.version import VersionType


def apply(catalog: CatalogSnapshot, change: CatalogChange) -> CatalogSnapshot:
    """The catalog after one change."""
    match change:
        case PutRelation(relation, instead_of):
            moved = _with_moved_view(catalog, relation, instead_of)
            return moved.with_relation(relation, instead_of=instead_of)
        case DropRelation(name):
            # What is known of a dropped table stays for UNDROP, by a number that is its own.
            return _without_access(catalog, ObjectKind.VIEW, name).without_relation(name)
        case PutSchema(schema, comment):
            return catalog.with_schema(schema, comment)
        case DropSchema(schema):
            gone = TableName(schema, "")
            left = _without_access(catalog, ObjectKind.SCHEMA, gone).without_schema(schema)
            inside = [
                key
                for key in left.access.objects
                if key.kind is ObjectKind.DEFAULT and key.schema == gone.key[0]
            ]
            return left.with_access(left.access.without(inside)) if inside else left
        case PutSequence(sequence, instead_of):
            return catalog.with_sequence(sequence, instead_of=instead_of)
        case DropSequence(name):
            return catalog.without_sequence(name)
        case PutDefinition(found, gone):
            return catalog.with_definition(found, gone)
        case DropDefinition(found):
            return catalog.without_definition(definition_key(found))
        case PutScopedPolicy(policy):
            return catalog.with_policy(policy)
        case PutDatabaseComment(comment):
            return catalog.with_comment(comment)
        case PutRole() | DropRole() | PutAccess() | PutTags():
            return catalog.with_access(catalog.access.after(change))


def _with_moved_view(
    catalog: CatalogSnapshot, relation: Relation, instead_of: TableName | None
) -> CatalogSnapshot:
    """The catalog where what is known of a view goes with it to its new name."""
    old = None if instead_of is None else catalog.get(instead_of)
    if not isinstance(relation, View) or not isinstance(old, View):
        return catalog
    access = catalog.access.with_new_key(relation_key(old), relation_key(relation))
    return catalog if access is catalog.access else catalog.with_access(access)


def _without_access(catalog: CatalogSnapshot, kind: ObjectKind, name: TableName) -> CatalogSnapshot:
    access = catalog.access.without([ObjectKey(kind, 0, *name.key)])
    return catalog if access is catalog.access else catalog.with_access(access)


def touched(change: CatalogChange) -> list[TableName]:
    """The names whose meaning a change alters; two changes of one name conflict."""
    match change:
        case PutRelation(relation, instead_of):
            return [relation.name] if instead_of is None else [relation.name, instead_of]
        case PutSequence(sequence, instead_of):
            return [sequence.name] if instead_of is None else [sequence.name, instead_of]
        case DropRelation(name) | DropSequence(name):
            return [name]
        case PutDefinition(found, gone):
            return [found.name] if gone is None else [found.name, gone.name]
        case DropDefinition(found):
            return [found.name]
        case PutSchema(schema) | DropSchema(schema):
            return [TableName(schema, "")]
        case PutScopedPolicy() | PutRole() | DropRole() | PutAccess() | PutTags():
            return []
        case PutDatabaseComment():
            return []


def change_to_json(change: CatalogChange) -> dict[str, Any]:
    """A plain structure with the change's kind under ``action``."""
    match change:
        case PutRelation(relation, instead_of):
            kind = "table" if isinstance(relation, Table) else "view"
            old = None if instead_of is None else asdict(instead_of)
            raw = asdict(relation)
            raw.update(_foreign_keys_to_json(relation))
            for later in (
                "foreign_keys",
                "indexes",
                "materialized",
                "constraint_comments",
                "triggers",
                "calls",
            ):
                if not raw.get(later, True):
                    # Earlier versions read tables that have none.
                    del raw[later]
            for column in raw["columns"] if kind == "table" else ():
                for later in ("declared", "collation", "spelled"):
                    if column[later] is None:
                        del column[later]
            return {"action": f"put-{kind}", "relation": raw, "instead_of": old}
        case DropRelation(name):
            return {"action": "drop-relation", "name": asdict(name)}
        case PutSchema(schema, comment):
            said = {} if comment is None else {"comment": comment}
            return {"action": "put-schema", "schema": schema, **said}
        case DropSchema(schema):
            return {"action": "drop-schema", "schema": schema}
        case PutSequence(sequence, instead_of):
            old = None if instead_of is None else asdict(instead_of)
            return {"action": "put-sequence", "sequence": asdict(sequence), "instead_of": old}
        case DropSequence(name):
            return {"action": "drop-sequence", "name": asdict(name)}
        case PutDefinition(found, gone):
            earlier = None if gone is None else to_json(gone)
            return {"action": "define", "definition": to_json(found), "instead_of": earlier}
        case DropDefinition(found):
            return {"action": "undefine", "definition": to_json(found)}
        case PutScopedPolicy(policy):
            return {"action": "put-policy", "policy": scoped_to_json(policy)}
        case PutDatabaseComment(comment):
            return {"action": "comment-database", "comment": comment}
        case PutRole(role):
            raw = asdict(role)
            if role.comment is None:
                # Earlier versions read roles that have none.
                del raw["comment"]
            return {"action": "put-role", "role": raw}
        case DropRole(role_id):
            return {"action": "drop-role", "role": role_id}
        case PutAccess(access):
            return {"action": "put-access", "access": access_to_json(access)}
        case PutTags():
            return {"action": "put-tags", "tags": tags_to_json(change)}


def change_from_json(data: dict[str, Any]) -> CatalogChange:
    """The change that ``change_to_json`` wrote; unknown kinds raise ValueError."""
    match data["action"]:
        case "put-table" | "put-view" as action:
            raw = data["relation"]
            relation: Relation = _table(raw) if action == "put-table" else _view(raw)
            old = data["instead_of"]
            return PutRelation(relation, None if old is None else TableName(**old))
        case "drop-relation":
            return DropRelation(TableName(**data["name"]))
        case "put-schema":
            return PutSchema(data["schema"], data.get("comment"))
        case "drop-schema":
            return DropSchema(data["schema"])
        case "put-sequence":
            raw, old = data["sequence"], data["instead_of"]
            owner = None if raw["owner"] is None else (int(raw["owner"][0]), str(raw["owner"][1]))
            sequence = Sequence(**{**raw, "name": TableName(**raw["name"]), "owner": owner})
            return PutSequence(sequence, None if old is None else TableName(**old))
        case "drop-sequence":
            return DropSequence(TableName(**data["name"]))
        case "define":
            gone = data["instead_of"]
            found = from_json(data["definition"])
            return PutDefinition(found, None if gone is None else from_json(gone))
        case "undefine":
            return DropDefinition(from_json(data["definition"]))
        case "put-policy":
            return PutScopedPolicy(scoped_from_json(data["policy"]))
        case "comment-database":
            return PutDatabaseComment(data["comment"])
        case "put-role":
            return PutRole(role_from_json(data["role"]))
        case "drop-role":
            return DropRole(int(data["role"]))
        case "put-access":
            return PutAccess(access_from_json(data["access"]))
        case "put-tags":
            return put_tags_from_json(data["tags"])
        case other:
            raise ValueError(f"unknown catalog change {other!r}")


def _table(raw: dict[str, Any]) -> Table:
    form = {**raw["format"], "version_type": VersionType(raw["format"]["version_type"])}
    return Table(
        **{
            **raw,
            "name": TableName(**raw["name"]),
            "columns": tuple(_column(c) for c in raw["columns"]),
            "key": tuple(raw["key"]),
            "uniques": tuple(_unique(u) for u in raw["uniques"]),
            "checks": tuple(Check(**c) for c in raw["checks"]),
            "format": JournalFormat(**form),
            "properties": tuple((k, v) for k, v in raw["properties"]),
            "physical_names": tuple(raw["physical_names"]),
            "foreign_keys": tuple(_foreign_key(k) for k in raw.get("foreign_keys", ())),
            "indexes": tuple(_index(i) for i in raw.get("indexes", ())),
            "materialized": Materialized.from_json(raw.get("materialized")),
            "constraint_comments": tuple((n, t) for n, t in raw.get("constraint_comments", ())),
            "triggers": tuple(trigger_from_json(t) for t in raw.get("triggers", ())),
            "calls": calls_from_json(raw.get("calls", ())),
        }
    )


def _unique(raw: dict[str, Any]) -> Unique:
    return Unique(raw["name"], tuple(raw["columns"]), raw.get("primary", False))


def _foreign_keys_to_json(relation: Relation) -> dict[str, Any]:
    """The foreign keys of a table; plain ones look as they always have."""
    if not isinstance(relation, Table):
        return {}
    plain = asdict(ForeignKey("", (), 0, ()))
    found = [asdict(key) for key in relation.foreign_keys]
    needed = {"name", "columns", "parent", "parent_columns"}
    kept = [{k: v for k, v in raw.items() if k in needed or v != plain[k]} for raw in found]
    return {"foreign_keys": kept}


def _foreign_key(raw: dict[str, Any]) -> ForeignKey:
    columns, parents = tuple(raw["columns"]), tuple(raw["parent_columns"])
    return ForeignKey(
        raw["name"],
        columns,
        raw["parent"],
        parents,
        ReferenceAction(raw.get("on_delete", ReferenceAction.NO_ACTION)),
        ReferenceAction(raw.get("on_update", ReferenceAction.NO_ACTION)),
        raw.get("match_full", False),
        Deferral(raw.get("deferral", Deferral.NEVER)),
    )


def _index(raw: dict[str, Any]) -> Index:
    return Index(
        **{
            **raw,
            "terms": tuple(IndexTerm(**term) for term in raw["terms"]),
            "columns": tuple(raw["columns"]),
            "included": tuple(raw["included"]),
        }
    )


def _column(raw: dict[str, Any]) -> Column:
    identity = raw["identity"]
    return Column(
        **{
            **raw,
            "identity": None if identity is None else Identity(**identity),
            "earlier_types": tuple(raw.get("earlier_types", ())),
        }
    )


def _view(raw: dict[str, Any]) -> View:
    comments = tuple((name, text) for name, text in raw.get("column_comments", ()))
    read = {"name": TableName(**raw["name"]), "columns": tuple(raw["columns"])}
    return View(**{**raw, **read, "column_comments": comments})
