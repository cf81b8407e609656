"""Rows about roles, what they are granted, and policies: of what a role sees, as of now. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.system_views.source import SystemViewSource, tables_of
from journal.model.access import PUBLIC, ObjectKey, ObjectKind, Rights, tag_key
from journal.model.row_policy import TablePolicy
from journal.model.schema import CatalogSnapshot, Relation, Table, fold, relation_key
from rewriter.definitions.table_policies import shown_policy, shown_text
from rewriter.definitions.tags import mask_family, tag_names

Row = tuple[Any, ...]
_Named = tuple[ObjectKey, str | None, str | None, Relation | None]


def role_rows(seen: SystemViewSource) -> Iterator[Row]:
    """Name, id, attributes and memberships of each role; everybody sees all of them."""
    access = seen.rights.access
    for role in sorted(access.roles.values(), key=lambda r: r.name):
        member_of = [_role(seen.rights, m.role) for m in role.memberships]
        yield (
            *(role.name, role.id, role.can_login, role.is_superuser, role.creates_roles),
            *(role.inherits, role.connection_limit, role.valid_until, member_of),
            *(role.bypasses_policies, role.comment),
        )


def privilege_rows(seen: SystemViewSource) -> Iterator[Row]:
    """Each privilege on what the role sees; that of an owner is called OWNER."""
    rights = seen.rights
    for key, schema, name, relation in _objects(seen.catalog):
        found = rights.access_of(key)
        place = (key.kind.value, schema, name)
        if found.owner is not None:
            yield (*place, None, _role(rights, found.owner), "OWNER", True, None)
        for grant in found.grants:
            grantor = None if grant.grantor == PUBLIC else _role(rights, grant.grantor)
            yield (
                *(*place, _column(relation, grant.column), _role(rights, grant.role)),
                *(str(grant.privilege), grant.grantable, grantor),
            )
    for key, access in rights.access.objects.items():
        if key.kind is ObjectKind.DEFAULT and (rights.is_admin or key.id in rights.names):
            owner = _role(rights, key.id) if key.id else None
            for grant in access.grants:
                yield (
                    *(f"new {key.name}", key.schema or None, owner, None),
                    *(_role(rights, grant.role), str(grant.privilege), grant.grantable, None),
                )


def policy_rows(seen: SystemViewSource) -> Iterator[Row]:
    """The policies on tables that the role sees; of its own tables with their expressions."""
    rights = seen.rights
    for table in tables_of(seen):
        key = relation_key(table)
        for policy in sorted(rights.access.of(key).policies, key=lambda p: p.column):
            shown = shown_policy(table, policy, seen.catalog) if rights.owns(key) else None
            yield (
                *(table.name.schema, table.name.name, _column(table, policy.column)),
                *("masking" if policy.column else _kind(policy), shown, None, None),
            )
    for name in sorted(tag_names(rights.access).values(), key=fold):
        for mask in rights.access.masks_of(name):
            shown = shown_text(mask.expression, rights.access) if rights.is_admin else None
            yield (None, None, None, "tag", shown, name, mask_family(mask))


def _kind(policy: TablePolicy) -> str:
    """What a condition on rows counts for."""
    return f"row {policy.of.lower()}".strip()


def _objects(catalog: CatalogSnapshot) -> Iterator[_Named]:
    yield ObjectKey(ObjectKind.DATABASE), None, None, None
    for folded, name in sorted(catalog.schemas.items()):
        yield ObjectKey(ObjectKind.SCHEMA, 0, folded), name, None, None
    for relation in sorted(catalog.relations.values(), key=lambda r: r.name.key):
        if not catalog.is_own(relation.name):
            yield relation_key(relation), relation.name.schema, relation.name.name, relation
    for found in sorted(catalog.sequences.values(), key=lambda s: s.name.key):
        key = ObjectKey(ObjectKind.SEQUENCE, found.id)
        yield key, found.name.schema, found.name.name, None
    for name in sorted(tag_names(catalog.access).values(), key=fold):
        yield tag_key(name), None, name, None


def _column(relation: Relation | None, physical: str) -> str | None:
    if not physical or not isinstance(relation, Table):
        return physical or None
    return next((c.name for c in relation.columns if c.physical == physical), physical)


def _role(rights: Rights, role: int) -> str:
    if role == PUBLIC:
        return "PUBLIC"
    known = rights.access.roles.get(role)
    return str(role) if known is None else known.name
