"""Decides who may do what with an entity: owner, group and permission. No I/O.

    owner: ann        the role that may do what the first digit says, and its members
    group: analysts   the roles that may do what the second says
    permission: 750   4 reading it, 2 changing it, 1 running it: schedules and instances
    run_as: loader    of a process: the role as which its statements run

Whoever has no role, as whoever runs the store, and roles with ADMIN may do everything. What a role
declares runs with that role's rights, or those of one it is a member of, never with more.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from gateway.governance.acting_session import ActingSession
from gateway.governance.entity import Entity, EntityKind
from journal.model.access import DATABASE_KEY, Privilege, Role
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot, Table, relation_key
from journal.model.table_name import TableName

DEFAULT_PERMISSION = "750"


class EntityRight(IntEnum):
    """What somebody may do with an entity, as the bits of a digit."""

    READ = 4
    CHANGE = 2
    RUN = 1


_DONE = {
    EntityRight.READ: "to read",
    EntityRight.CHANGE: "to change",
    EntityRight.RUN: "to run, stop or schedule",
}


def has_right(
    catalog: CatalogSnapshot, role: int | None, entity: Entity, right: EntityRight
) -> bool:
    """Whether a role has a right on an entity; None may do everything."""
    rights = catalog.rights_of(role)
    if rights.is_admin:
        return True
    fields = entity.fields
    digits = [int(digit) for digit in fields.get("permission", DEFAULT_PERMISSION)]
    granted = digits[2]
    for name, digit in ((fields.get("owner"), digits[0]), (fields.get("group"), digits[1])):
        found = None if name is None else catalog.access.by_name(name)
        if found is not None and found.id in rights.names:
            granted |= digit
    return bool(granted & right)


def check_right(session: ActingSession, entity: Entity, right: EntityRight) -> None:
    """Raise PRIVILEGE where the session's role lacks a right on an entity."""
    if not has_right(session.catalog, session.settings.role, entity, right):
        raise PalimpsestError(
            Code.PRIVILEGE,
            f"permission denied {_DONE[right]} {entity}",
            advice="its owner may; group and permission of its definition say who else",
        )


def owned(session: ActingSession, wanted: Entity, old: Entity | None) -> Entity:
    """An entity as the session may declare it: with its owner, and with whom it runs as.

    A definition that leaves them out keeps those of ``old``; what a role declares is its own.
    Raises PRIVILEGE for what a role may not declare, or not give to somebody.
    """
    role = session.settings.role
    catalog = session.catalog
    if catalog.rights_of(role).is_admin:
        return wanted
    actor = None if role is None else catalog.access.roles.get(role)
    if actor is None:
        raise _denied("to declare entities", "the role was dropped")
    fields = wanted.fields
    before = {} if old is None else old.fields
    fields.setdefault("owner", before.get("owner") or actor.name)
    if "owner" not in before or fields["owner"] != before["owner"]:
        _check_may_be(catalog, actor, fields["owner"], f"to give {wanted} to")
    if wanted.kind is EntityKind.PROCESS:
        fields.setdefault("run_as", before.get("run_as") or actor.name)
        _check_may_be(catalog, actor, fields["run_as"], f"to let {wanted} run as")
    _check_kind(catalog, actor, wanted, fields)
    return Entity.of(wanted.kind, wanted.name, fields)


def role_to_run(catalog: CatalogSnapshot, process: Entity) -> int | None:
    """The role as which a process runs; None: with the rights of whoever runs the scheduler.

    Raises UNKNOWN_ROLE where that role is no more.
    """
    name = process.fields.get("run_as")
    if name is None:
        return None
    found = catalog.access.by_name(name)
    if found is None:
        raise PalimpsestError(
            Code.UNKNOWN_ROLE,
            f'{process} runs as role "{name}", which does not exist',
            advice="update the process with another run_as, or make the role",
        )
    return found.id


def _check_kind(
    catalog: CatalogSnapshot, actor: Role, wanted: Entity, fields: dict[str, Any]
) -> None:
    """Raise PRIVILEGE for what takes a privilege of its own to declare."""
    rights = catalog.rights_of(actor.id)
    if wanted.kind is EntityKind.PROFILE:
        raise _denied("to declare profiles, which say where work is done", "it takes ADMIN")
    if "spark" in fields:
        raise _denied("to declare programs that the scheduler starts", "it takes ADMIN")
    if wanted.kind is EntityKind.PROCESS and "profile" in fields:
        raise _denied("to declare processes that run in other stores", "it takes ADMIN")
    if "flag" in fields:
        raise _denied("to declare flags, for which the scheduler looks at files", "it takes ADMIN")
    if not rights.may(DATABASE_KEY, Privilege.CREATE):
        raise _denied("to declare entities", "it takes CREATE ON SYSTEM")
    if "job" in fields and not rights.may(DATABASE_KEY, Privilege.MAINTAIN):
        raise _denied("to declare jobs", "it takes MAINTAIN ON SYSTEM")
    if "tables" in fields:
        raise _denied("to state policies of tables by patterns", "it takes ADMIN")
    if "table" in fields and "profile" not in fields:
        schema, _, name = fields["table"].rpartition(".")
        table = catalog.get(TableName(schema, name))
        if not isinstance(table, Table) or not rights.may(relation_key(table), Privilege.POLICY):
            raise _denied(
                f"to declare table {fields['table']}", "it takes POLICY on the table, or to own it"
            )


def _check_may_be(catalog: CatalogSnapshot, actor: Role, name: str, what: str) -> None:
    """Raise PRIVILEGE unless a role is another, or a member of it."""
    found = catalog.access.by_name(name)
    if found is None or found.id not in catalog.access.member_of(actor.id, inherited=False):
        raise _denied(f'{what} "{name}"', "name a role that yours is a member of")


def _denied(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.PRIVILEGE, f"permission denied {what}", advice=advice)
