"""CREATE, ALTER and DROP of roles, and memberships in them: they change the catalog alone.

A password comes as what it is checked against, which the session has made of it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from journal.model.access import (
    AccessControl,
    DropRole,
    Membership,
    ObjectKind,
    PutRole,
    Rights,
    Role,
)
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan, Step
from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.definitions.access import denied, find_role
from rewriter.definitions.new_relations import ddl_plan
from rewriter.statements.access import AlterRole, CreateRole, DropRoles, GrantRoles, RoleOptions

_RESERVED = frozenset({"public", "none", "current_user", "current_role", "session_user"})
_NUMBERED = frozenset({ObjectKind.TABLE, ObjectKind.SEQUENCE})
_ASK = "ask somebody who holds ADMIN"


def rewrite_create_role(ast: CreateRole, context: RewriteContext) -> StatementPlan:
    """CREATE ROLE, USER and GROUP."""
    _check_may_make_roles(context, "to create a role")
    _check_name(ast.name)
    if context.catalog.access.by_name(ast.name) is not None:
        if ast.exists:
            return ddl_plan([], "CREATE ROLE")
        raise _exists_already(ast.name)
    role = _with_options(Role(context.new_table_id, ast.name), ast.options)
    role = replace(role, verifier=ast.password)
    _check_may_change(role, context)
    for name in ast.member_of:
        role = _member(role, _grantable_role(name, context), False, context.catalog.access)
    access = context.catalog.access.after(PutRole(role))
    steps: list[Step] = [Change(PutRole(role))]
    for names, admin in ((ast.members, False), (ast.admins, True)):
        for name in names:
            changed = _member(access.roles[find_role(name, context).id], role, admin, access)
            access = access.after(PutRole(changed))
            steps.append(Change(PutRole(changed)))
    return replace(ddl_plan(steps, "CREATE ROLE"), notices=_notices(ast.ignored))


def rewrite_alter_role(ast: AlterRole, context: RewriteContext) -> StatementPlan:
    """ALTER ROLE and USER; everybody may change the own password."""
    role = find_role(ast.name, context)
    is_own_password = role.id == context.role and not ast.options and ast.new_name is None
    if not is_own_password:
        _check_may_make_roles(context, "to alter a role")
        _check_may_change(role, context)
    changed = _with_options(role, ast.options)
    if ast.sets_password:
        changed = replace(changed, verifier=ast.password)
    if ast.new_name is not None:
        _check_name(ast.new_name)
        taken = context.catalog.access.by_name(ast.new_name)
        if taken is not None and taken.id != role.id:
            raise _exists_already(ast.new_name)
        changed = replace(changed, name=ast.new_name)
    if not is_own_password:
        _check_may_change(changed, context)
    plan = ddl_plan([Change(PutRole(changed))], "ALTER ROLE")
    return replace(plan, notices=_notices(ast.ignored))


def _notices(ignored: tuple[str, ...]) -> tuple[str, ...]:
    """What is said of options that a dump of roles writes, and that allow nothing here."""
    return tuple(f"{word} has no effect: there is nothing that it would allow" for word in ignored)


def rewrite_drop_roles(ast: DropRoles, context: RewriteContext) -> StatementPlan:
    """DROP ROLE; one that owns something, or has privileges, stays."""
    _check_may_make_roles(context, "to drop a role")
    access = context.catalog.access
    steps: list[Step] = []
    for name in ast.names:
        if ast.exists and access.by_name(name) is None:
            continue
        role = find_role(name, context)
        _check_may_change(role, context)
        if role.id == context.role:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                "the role of this session cannot be dropped",
                advice="drop it from a session of another role",
            )
        named = [a.key for a in access.named_by(role.id)]
        # What is known of dropped ones stays, by numbers that nothing else gets.
        there = {(ObjectKind.TABLE, t.id) for t in context.catalog.tables()}
        there |= {(ObjectKind.SEQUENCE, s.id) for s in context.catalog.sequences.values()}
        left = [k for k in named if k.kind not in _NUMBERED or (k.kind, k.id) in there]
        if left:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f"role {role.name} cannot be dropped: it owns or has privileges on"
                f" {len(left)} object{'s' if len(left) > 1 else ''}",
                advice=f"REASSIGN OWNED BY {role.name} TO another, then DROP OWNED BY {role.name}",
            )
        steps.append(Change(DropRole(role.id)))
    return ddl_plan(steps, "DROP ROLE")


def rewrite_grant_roles(ast: GrantRoles, context: RewriteContext) -> StatementPlan:
    """GRANT and REVOKE of memberships."""
    before = access = context.catalog.access
    for name in ast.roles:
        granted = _grantable_role(name, context)
        for member_name in ast.members:
            member = access.roles[find_role(member_name, context).id]
            if ast.revokes:
                others = tuple(m for m in member.memberships if m.role != granted.id)
                if ast.only_option and len(others) < len(member.memberships):
                    others = (*others, Membership(granted.id))
                member = replace(member, memberships=others)
            else:
                member = _member(member, granted, ast.admin, access)
            access = access.after(PutRole(member))
    changed = (role for i, role in access.roles.items() if role != before.roles[i])
    steps: list[Step] = [Change(PutRole(role)) for role in changed]
    return ddl_plan(steps, "REVOKE ROLE" if ast.revokes else "GRANT ROLE")


def _member(role: Role, of: Role, admin: bool, access: AccessControl) -> Role:
    """A role that is a member of another one; raises GRANT for a circle."""
    if role.id in access.member_of(of.id, inherited=False) or role.id == of.id:
        raise PalimpsestError(
            Code.GRANT,
            f'role "{of.name}" is a member of role "{role.name}"',
            advice=f"a role cannot be a member of itself; REVOKE {role.name} FROM {of.name} first",
        )
    before = next((m for m in role.memberships if m.role == of.id), Membership(of.id))
    others = tuple(m for m in role.memberships if m.role != of.id)
    return replace(role, memberships=(*others, Membership(of.id, before.admin or admin)))


def _grantable_role(name: str, context: RewriteContext) -> Role:
    """A role whose members the client may choose."""
    role, rights = find_role(name, context), context.rights
    if rights.is_admin:
        return role
    own = context.catalog.access.roles.get(context.role or 0)
    if rights.of(role.id).is_admin:
        raise denied(f'to change who is a member of "{role.name}", which holds ADMIN', _ASK)
    if own is not None and own.creates_roles and not role.bypasses_policies:
        return role
    for member in context.catalog.access.member_of(context.role or 0, inherited=True):
        found = context.catalog.access.roles.get(member)
        if found is not None and Membership(role.id, True) in found.memberships:
            return role
    raise denied(
        f'to change who is a member of "{role.name}"',
        f"ask for CREATEROLE, or for {role.name} WITH ADMIN OPTION",
    )


def _check_may_make_roles(context: RewriteContext, what: str) -> None:
    own = context.catalog.access.roles.get(context.role or 0)
    if not context.rights.is_admin and (own is None or not own.creates_roles):
        raise denied(what, f"it takes CREATEROLE or ADMIN; {_ASK}")


def _check_may_change(role: Role, context: RewriteContext) -> None:
    """Raise where a role holds ADMIN, or is to hold it, and the client does not."""
    access = context.catalog.access.after(PutRole(role))
    if not context.rights.is_admin and Rights(access, role.id).is_admin:
        raise denied(f'to change "{role.name}", which holds ADMIN', _ASK)
    if not context.rights.is_admin and role.bypasses_policies:
        raise denied(f'to change "{role.name}", which bypasses policies', _ASK)


def _check_name(name: str) -> None:
    is_two = " (by " in name  # So records show a user and a proxy.
    if fold(name) in _RESERVED or fold(name).startswith("pg_") or not name or is_two:
        raise PalimpsestError(
            Code.RESERVED_NAME, f'a role cannot be called "{name}"', advice="use another name"
        )


def _exists_already(name: str) -> PalimpsestError:
    return PalimpsestError(
        Code.DUPLICATE_ROLE, f'role "{name}" exists already', advice="use another name"
    )


def _with_options(role: Role, options: RoleOptions) -> Role:
    given: dict[str, Any] = dict(options)
    moment = given.get("valid_until")
    if moment is not None:
        given["valid_until"] = _moment(str(moment))
    limit = given.get("connection_limit")
    if limit is not None and limit < -1:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"CONNECTION LIMIT {limit} is not a number of connections",
            advice="write -1 for no limit",
        )
    return replace(role, **given)


def _moment(text: str) -> str | None:
    """A moment as ISO 8601 in UTC, where nothing else is said; None for infinity."""
    if text.strip().lower() == "infinity":
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"'{text}' is not a point in time",
            advice="write VALID UNTIL '2030-01-31 12:00:00+00', or 'infinity'",
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
