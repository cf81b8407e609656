"""Decides whether a profile may be updated while other entities refer to it. Pure.

A profile that others refer to moves only in safe mode, when nothing new begins, by an
administrator, and to another address of the same store: a warehouse that has got a new host, or
now asks for TLS. What refers to it reads it by name, so nothing of that needs an update.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from gateway.governance.entity import Entity, EntityKind
from journal.model.errors import Code, PalimpsestError

_PLACE = ("url", "engine", "master")
"""What says where and with what work is done."""


def moves(old: Entity, new: Entity) -> bool:
    """Whether an update of a profile changes where, or with what, work is done."""
    if old.kind is not EntityKind.PROFILE:
        return False
    before, after = old.fields, new.fields
    return any(before.get(field) != after.get(field) for field in _PLACE)


def check_move(old: Entity, new: Entity, dependents: int, *, is_safe: bool, is_admin: bool) -> None:
    """Raise SAFE_MODE, PRIVILEGE or ENTITY where a profile must not move; see the module's head."""
    if dependents == 0 or not moves(old, new):
        return
    if not is_safe:
        raise PalimpsestError(
            Code.SAFE_MODE,
            f"{new} would move, and {dependents} entities refer to it: this needs safe mode",
            advice="palimpsest safe-mode on, update the profile, palimpsest safe-mode off",
        )
    if not is_admin:
        raise PalimpsestError(
            Code.PRIVILEGE,
            f"permission denied to move {new}",
            advice="it takes ADMIN ON SYSTEM; whoever runs the store has it",
        )
    if not is_same_store(old.fields["url"], new.fields["url"]):
        raise PalimpsestError(
            Code.ENTITY,
            f"{new}: the url names another store, and {dependents} entities refer to it",
            advice="keep the kind of the URL and its path, which name the store; for another store"
            " submit another profile",
        )


def is_same_store(old: str, new: str) -> bool:
    """Whether URLs differ in host, port, user and options only.

    >>> is_same_store("palimpsest://a:5433/w", "palimpsest://b/w?sslmode=require")
    True
    """
    before, after = urlsplit(old), urlsplit(new)
    return (before.scheme, before.path) == (after.scheme, after.path)
