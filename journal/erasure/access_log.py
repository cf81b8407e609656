"""Enters changes of roles, grants and policies in the audit log, in their own commit.

An entry says what was granted and revoked, and which attributes of a role are others; a password is
"changed", whatever it was. Who makes a table is its owner without an entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from journal.erasure import audit
from journal.erasure.seam import SecretJournal
from journal.model.access import (
    PUBLIC,
    AccessControl,
    DropRole,
    ObjectKey,
    ObjectKind,
    PrivilegeGrant,
    PutAccess,
    PutRole,
    PutTags,
    Role,
    TableTag,
)
from journal.model.catalog import apply
from journal.model.plan import CatalogChange, PutRelation
from journal.model.policy import is_policy
from journal.model.policy_scope import PutScopedPolicy
from journal.model.row_policy import NamedPolicy, TablePolicy
from journal.model.schema import CatalogSnapshot, Table
from journal.model.store_session import RecordSession
from journal.model.system_user import system_user
from journal.model.version import Version

_Properties = tuple[tuple[str, str], ...]


def record_access_changes(
    journal: SecretJournal,
    session: RecordSession,
    committed: CatalogSnapshot,
    changes: Iterable[tuple[Version, CatalogChange]],
    actor: str | None,
) -> None:
    """Append an entry for each change of access, in the transaction that commits it."""
    catalog = committed
    for _, change in changes:
        after = apply(catalog, change)
        entry = None
        if isinstance(change, PutRole | DropRole | PutAccess | PutTags):
            entry = _entry(catalog, after, change)
        elif isinstance(change, PutScopedPolicy):
            known = catalog.policies.get(change.policy.key)
            old = () if known is None else known.properties
            entry = _policy_entry(str(change.policy), old, change.policy.properties)
        elif isinstance(change, PutRelation) and isinstance(change.relation, Table):
            before, table = catalog.by_id(change.relation.id), change.relation
            old = () if before is None else before.properties
            entry = _policy_entry(f"table {table.name}", old, table.properties)
        if entry is not None:
            audit.record(journal, session, actor or system_user(), *entry)
        catalog = after


def _policy_entry(
    place: str, before: _Properties, after: _Properties
) -> tuple[str, str, dict[str, Any]] | None:
    """What of a policy of retention, compaction and schedules is another; None: nothing."""
    old, new = dict(before), dict(after)
    changed = {n: new.get(n) for n in {*old, *new} if is_policy(n) and old.get(n) != new.get(n)}
    return ("policy.change", place, changed) if changed else None


def _entry(
    before: CatalogSnapshot,
    after: CatalogSnapshot,
    change: PutRole | DropRole | PutAccess | PutTags,
) -> tuple[str, str, dict[str, Any]] | None:
    """Action, object and detail; None for what is no news."""
    old, new = before.access, after.access
    match change:
        case DropRole(gone):
            return "role.drop", _name(old, gone), {}
        case PutRole(role):
            known = old.roles.get(role.id)
            action = "role.create" if known is None else "role.alter"
            return action, role.name, _differences(known, role, new)
        case PutAccess(access):
            known_access = old.of(access.key)
            granted = _grant_texts(set(access.grants) - set(known_access.grants), new)
            revoked = _grant_texts(set(known_access.grants) - set(access.grants), old)
            detail: dict[str, Any] = {}
            if granted:
                detail["granted"] = granted
            if revoked:
                detail["revoked"] = revoked
            if access.policies != known_access.policies:
                detail["policies"] = _policy_texts(access.policies)
            if access.named_policies != known_access.named_policies:
                detail["row policies"] = [_named_text(p, new) for p in access.named_policies]
            if access.forces_rows != known_access.forces_rows:
                detail["forced on the owner"] = access.forces_rows
            if access.owner != known_access.owner and access.key in old.objects:
                detail["owner"] = None if access.owner is None else _name(new, access.owner)
            return ("access.change", shown_object(access.key, after), detail) if detail else None
        case PutTags(key):
            then, now = set(old.of(key).tags), set(new.of(key).tags)
            told = {"tagged": now - then, "untagged": then - now}
            shown = {name: _tag_texts(tags, after) for name, tags in told.items() if tags}
            return ("tag.change", shown_object(key, after), shown) if shown else None


def _tag_texts(tags: Iterable[TableTag], catalog: CatalogSnapshot) -> list[str]:
    return sorted(
        f"{t.tag}{f' ({t.column})' if t.column else ''}"
        + (f" from {_source(t, catalog)}" if t.source else "")
        for t in tags
    )


def _source(tag: TableTag, catalog: CatalogSnapshot) -> str:
    place = shown_object(ObjectKey(ObjectKind.TABLE, tag.source), catalog)
    return f"{place} ({tag.source_column})" if tag.source_column else place


def _differences(known: Role | None, role: Role, access: AccessControl) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(Role):
        value = getattr(role, field.name)
        if field.name == "id" or (known is not None and value == getattr(known, field.name)):
            continue
        if field.name == "verifier":
            found["password"] = "none" if value is None else "set"
        elif field.name == "memberships":
            found["member_of"] = [
                _name(access, m.role) + (" with admin option" if m.admin else "") for m in value
            ]
        else:
            found[field.name] = value
    return found


def _grant_texts(grants: Iterable[PrivilegeGrant], access: AccessControl) -> list[str]:
    return sorted(
        f"{g.privilege}{f' ({g.column})' if g.column else ''} to {_name(access, g.role)}"
        + (" with grant option" if g.grantable else "")
        for g in grants
    )


def _policy_texts(policies: Iterable[TablePolicy]) -> list[str]:
    """All policies that hold from now on."""
    return [
        f"{f'mask ({p.column})' if p.column else f'rows {p.of}'.strip()}: {p.expression}"
        for p in policies
    ]


def _named_text(policy: NamedPolicy, access: AccessControl) -> str:
    """A row policy with a name, in short."""
    kind = "restrictive" if policy.restrictive else "permissive"
    roles = ", ".join(_name(access, role) for role in policy.roles)
    return (
        f"{policy.name}: {kind} for {policy.command} to {roles}"
        f" using {policy.using} check {policy.check}"
    )


def _name(access: AccessControl, role: int) -> str:
    if role == PUBLIC:
        return "PUBLIC"
    known = access.roles.get(role)
    return str(role) if known is None else known.name


def shown_object(key: ObjectKey, catalog: CatalogSnapshot) -> str:
    """An object as people call it: ``table main.people``."""
    if key.kind is ObjectKind.TABLE:
        found = catalog.by_id(key.id)
        return f"table {key.id if found is None else found.name}"
    if key.kind is ObjectKind.SEQUENCE:
        name = next((str(s.name) for s in catalog.sequences.values() if s.id == key.id), key.id)
        return f"sequence {name}"
    if key.kind is ObjectKind.DEFAULT:
        made_by = f" made by {_name(catalog.access, key.id)}" if key.id else ""
        inside = f" in schema {key.schema}" if key.schema else ""
        return f"new {key.name}s{made_by}{inside}"
    if key.kind is ObjectKind.DATABASE:
        return "the database"
    if key.kind is ObjectKind.TAG:
        return f"tag {key.name}"
    return f"{key.kind} {key.schema}" + (f".{key.name}" if key.name else "")
