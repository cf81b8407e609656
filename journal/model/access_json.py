"""Roles and grants as plain JSON structures, for the catalog's log. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from journal.model.access import (
    Membership,
    ObjectAccess,
    ObjectKey,
    ObjectKind,
    Privilege,
    PrivilegeGrant,
    PutTags,
    Role,
    TableTag,
)
from journal.model.named_definitions import calls_from_json
from journal.model.row_policy import NamedPolicy, TablePolicy


def role_from_json(raw: dict[str, Any]) -> Role:
    """The role of which ``raw`` has the fields."""
    return Role(**{**raw, "memberships": tuple(Membership(**m) for m in raw["memberships"])})


def access_to_json(found: ObjectAccess) -> dict[str, Any]:
    """A plain structure."""
    raw = asdict(found)
    for policy in raw["policies"]:
        if not policy["of"]:
            del policy["of"]
    if not found.calls:
        del raw["calls"]
    return raw


def access_from_json(raw: dict[str, Any]) -> ObjectAccess:
    """The access that ``access_to_json`` wrote."""
    key = ObjectKey(**{**raw["key"], "kind": ObjectKind(raw["key"]["kind"])})
    grants = (
        PrivilegeGrant(**{**g, "privilege": Privilege(g["privilege"])}) for g in raw["grants"]
    )
    policies = (TablePolicy(**p) for p in raw.get("policies", ()))
    tags = tags_from_json(raw.get("tags", ()))
    of_rows = tuple(
        NamedPolicy(**{**p, "roles": tuple(p["roles"])}) for p in raw.get("named_policies", ())
    )
    secures, forces = raw.get("secures_rows", False), raw.get("forces_rows", False)
    calls = calls_from_json(raw.get("calls", ()))
    return ObjectAccess(
        *(key, raw["owner"], tuple(grants), tuple(policies), tags), of_rows, secures, forces, calls
    )


def tags_to_json(change: PutTags) -> dict[str, Any]:
    """A plain structure."""
    return asdict(change)


def put_tags_from_json(raw: dict[str, Any]) -> PutTags:
    """The change that ``tags_to_json`` wrote."""
    key = ObjectKey(**{**raw["key"], "kind": ObjectKind(raw["key"]["kind"])})
    return PutTags(key, tags_from_json(raw["added"]), tags_from_json(raw["removed"]))


def tags_from_json(raw: Iterable[dict[str, Any]]) -> tuple[TableTag, ...]:
    """The tags of which ``raw`` has the fields."""
    return tuple(TableTag(**one) for one in raw)
