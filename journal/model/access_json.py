"""Roles and grants as plain JSON structures, for the catalog's log. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from journal.model.access import (
    Membership,
    ObjectAccess,
    ObjectKey,
    ObjectKind,
    Privilege,
    PrivilegeGrant,
    Role,
    TablePolicy,
)


def role_from_json(raw: dict[str, Any]) -> Role:
    """The role of which ``raw`` has the fields."""
    return Role(**{**raw, "memberships": tuple(Membership(**m) for m in raw["memberships"])})


def access_to_json(found: ObjectAccess) -> dict[str, Any]:
    """A plain structure."""
    return asdict(found)


def access_from_json(raw: dict[str, Any]) -> ObjectAccess:
    """The access that ``access_to_json`` wrote."""
    key = ObjectKey(**{**raw["key"], "kind": ObjectKind(raw["key"]["kind"])})
    grants = (
        PrivilegeGrant(**{**g, "privilege": Privilege(g["privilege"])}) for g in raw["grants"]
    )
    policies = (TablePolicy(**p) for p in raw.get("policies", ()))
    return ObjectAccess(key, raw["owner"], tuple(grants), tuple(policies))
