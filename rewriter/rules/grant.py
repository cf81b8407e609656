"""GRANT and REVOKE on what there is or will be, and OWNER TO: they change the catalog alone.

Differs from PostgreSQL: REVOKE by an owner takes a privilege away whoever granted it; GRANT raises
where PostgreSQL warns that not everything was granted; ALL means the privileges of SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from journal.model.access import (
    GRANTABLE,
    OF_COLUMNS,
    PUBLIC,
    STANDARD,
    ObjectAccess,
    ObjectKey,
    ObjectKind,
    Privilege,
    PrivilegeGrant,
    PutAccess,
    Rights,
    default_key,
)
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan, Step
from journal.model.schema import Relation, Table, relation_key
from rewriter.context import RewriteContext
from rewriter.definitions.access import (
    column_key,
    database_key,
    denied,
    find_grantee,
    find_relation_by,
    find_role,
    privilege_named,
    schema_key,
    sequence_key,
)
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.sequences import find_sequence
from rewriter.definitions.tags import known_tag
from rewriter.definitions.user_types import named_type, unknown_type
from rewriter.name_resolution import position_of, table_name
from rewriter.statements.access import (
    AlterDefaultPrivileges,
    ChangeOwner,
    GrantPrivileges,
    ReassignOwned,
)
from rewriter.syntax.statements.grants import FREE_TO_USE

Wanted = tuple[Privilege, str]
"""A privilege, and the column that it is for; an empty text: the whole object."""


def rewrite_grant(ast: GrantPrivileges, context: RewriteContext) -> StatementPlan:
    """GRANT and REVOKE of privileges."""
    roles = [find_grantee(name, context) for name in ast.roles]
    if ast.with_option and PUBLIC in roles:
        raise PalimpsestError(
            Code.GRANT, "PUBLIC cannot be given a grant option", advice="name roles"
        )
    if ast.kind in FREE_TO_USE:
        return _without_effect(ast, "GRANT", context)
    steps = []
    for key, relation, node in _objects(ast, context):
        wanted = list(_named_privileges(ast, key, relation, node))
        known = context.rights.access_of(key)
        changed = _changed(ast, known, roles, wanted, context)
        if changed != known:
            steps.append(Change(PutAccess(changed)))
    return ddl_plan(list(steps), "REVOKE" if ast.revokes else "GRANT")


def rewrite_default_privileges(
    ast: AlterDefaultPrivileges, context: RewriteContext
) -> StatementPlan:
    """ALTER DEFAULT PRIVILEGES: by members of the roles that it is for, or by ADMIN."""
    rights, grant = context.rights, ast.grant
    if grant.kind in FREE_TO_USE:
        return _without_effect(grant, "ALTER DEFAULT PRIVILEGES", context)
    kind = ObjectKind(grant.kind.lower())
    if kind is ObjectKind.SCHEMA and grant.objects:
        raise PalimpsestError(
            Code.GRANT, "a schema lies in no schema", advice="leave IN SCHEMA out"
        )
    owners = [find_role(name, context).id for name in ast.owners] or [context.role or PUBLIC]
    for owner in owners:
        if not rights.is_admin and owner not in rights.names:
            raise denied("to change default privileges of a role", "become a member of it first")
    roles = [find_grantee(name, context) for name in grant.roles]
    schemas = [schema_key(node, context).schema for node in grant.objects] or [""]
    steps: list[Step] = []
    for owner in owners:
        for schema in schemas:
            key = default_key(kind, owner, schema)
            wanted = list(_named_privileges(grant, ObjectKey(kind), None, None))
            known = rights.access_of(key)
            if grant.revokes:
                grants = _revoked(grant, known.grants, roles, wanted, PUBLIC)
            else:
                grants = _granted(known.grants, roles, wanted, grant.with_option, PUBLIC)
            if grants != known.grants:
                steps.append(Change(PutAccess(replace(known, grants=grants))))
    return ddl_plan(steps, "ALTER DEFAULT PRIVILEGES")


def _without_effect(ast: GrantPrivileges, tag: str, context: RewriteContext) -> StatementPlan:
    """A plan that grants nothing, as everybody may use such objects, and says so."""
    for name in ast.roles:
        find_grantee(name, context)
    said = f"GRANT ON {ast.kind} has no effect: everybody may use {ast.kind.lower()}"
    return replace(ddl_plan([], tag), notices=(said,))


def rewrite_change_owner(ast: ChangeOwner, context: RewriteContext) -> StatementPlan:
    """ALTER .. OWNER TO: by the owner, who must be a member of the new one, or by ADMIN."""
    role, rights = find_role(ast.role, context), context.rights
    tag = f"ALTER {ast.kind}"
    if ast.kind == "SCHEMA":
        key = schema_key(ast.name, context)
    elif ast.kind == "SEQUENCE" or _is_sequence(ast, context):
        key = sequence_key(ast.name, context)
    elif ast.kind in {"TYPE", "DOMAIN"}:
        return _owner_of_type(ast, context)
    else:
        try:
            found = find_relation_by(ast.name, context)
        except PalimpsestError as error:
            if ast.exists and error.code is Code.UNKNOWN_TABLE:
                return ddl_plan([], tag)
            raise
        wanted = ("TABLE", "MATERIALIZED VIEW") if isinstance(found, Table) else ("VIEW", "TABLE")
        if ast.kind not in wanted:
            raise PalimpsestError(
                Code.WRONG_OBJECT,
                f"{found.name} is not a {ast.kind.lower()}",
                advice=f"use ALTER {'TABLE' if isinstance(found, Table) else 'VIEW'}",
                position=position_of(ast.name),
            )
        key = relation_key(found)
    members = context.catalog.access.member_of(context.role or 0, inherited=False)
    if not rights.owns(key):
        raise denied(f"to change the owner of {ast.name.name}", "its owner may")
    if not rights.is_admin and role.id not in members:
        raise denied(f'to give it to "{role.name}"', "become a member of that role first")
    known = rights.access_of(key)
    # As in PostgreSQL: what the old owner had goes to the new one, who needs no grants.
    others = tuple(g for g in known.grants if g.role not in {known.owner, role.id})
    return ddl_plan([Change(PutAccess(replace(known, owner=role.id, grants=others)))], tag)


def _is_sequence(ast: ChangeOwner, context: RewriteContext) -> bool:
    """True where ALTER TABLE names a sequence, as dumps of older servers do."""
    return (
        ast.kind == "TABLE"
        and context.catalog.get(table_name(ast.name, context)) is None
        and find_sequence(ast.name, context) is not None
    )


def _owner_of_type(ast: ChangeOwner, context: RewriteContext) -> StatementPlan:
    """OWNER TO of a type: it belongs to whoever owns its schema, and to nobody else."""
    role = find_role(ast.role, context)
    found = named_type(ast.name, context)
    if found is None:
        if ast.exists:
            return ddl_plan([], f"ALTER {ast.kind}")
        raise unknown_type(ast.name, context)
    key = schema_key(exp.Table(this=exp.to_identifier(found.name.schema)), context)
    if not context.catalog.rights_of(role.id).owns(key):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{found.name} belongs to the owner of its schema, which {role.name} is not",
            advice=f"ALTER SCHEMA {found.name.schema} OWNER TO {role.name}, or leave it out",
            position=position_of(ast.name),
        )
    return ddl_plan([], f"ALTER {ast.kind}")


def rewrite_reassign(ast: ReassignOwned, context: RewriteContext) -> StatementPlan:
    """REASSIGN OWNED: by members of all the roles that it names, or by ADMIN."""
    rights, access = context.rights, context.catalog.access
    new = find_role(ast.to, context)
    old = [find_role(name, context) for name in ast.roles]
    for role in (*old, new):
        if not rights.is_admin and role.id not in rights.names:
            raise denied(
                f'to reassign objects of "{role.name}"', "become a member of that role first"
            )
    gone = {role.id for role in old}
    steps: list[Step] = []
    for known in access.objects.values():
        if known.owner in gone:
            others = tuple(g for g in known.grants if g.role not in {known.owner, new.id})
            steps.append(Change(PutAccess(replace(known, owner=new.id, grants=others))))
    return ddl_plan(steps, "REASSIGN OWNED")


def _objects(
    ast: GrantPrivileges, context: RewriteContext
) -> Iterator[tuple[ObjectKey, Relation | None, exp.Table | None]]:
    match ast.kind:
        case "SYSTEM":
            yield ObjectKey(ObjectKind.DATABASE), None, None
        case "DATABASE":
            for node in ast.objects:
                yield database_key(node, context), None, node
        case "SCHEMA":
            for node in ast.objects:
                yield schema_key(node, context), None, node
        case "SEQUENCE":
            for node in ast.objects:
                yield sequence_key(node, context), None, node
        case "TAG":
            for node in ast.objects:
                yield known_tag(node.name, context), None, node
        case "ALL TABLES" | "ALL SEQUENCES":
            for node in ast.objects:
                yield from _in_schema(ast.kind, schema_key(node, context), node, context)
        case _:
            for node in ast.objects:
                found = _relation_or_sequence(node, context)
                if isinstance(found, ObjectKey):
                    yield found, None, node
                else:
                    yield relation_key(found), found, node


def _relation_or_sequence(node: exp.Table, context: RewriteContext) -> Relation | ObjectKey:
    """What stands without a kind may be a sequence, as in PostgreSQL."""
    try:
        return find_relation_by(node, context)
    except PalimpsestError as error:
        if error.code is not Code.UNKNOWN_TABLE:
            raise
        try:
            return sequence_key(node, context)
        except PalimpsestError:
            raise error from None


def _in_schema(
    kind: str, schema: ObjectKey, node: exp.Table, context: RewriteContext
) -> Iterator[tuple[ObjectKey, Relation | None, exp.Table | None]]:
    catalog, rights = context.catalog, context.rights
    if kind == "ALL SEQUENCES":
        for sequence in catalog.sequences.values():
            key = ObjectKey(ObjectKind.SEQUENCE, sequence.id)
            if sequence.name.key[0] == schema.schema and rights.sees(key):
                yield key, None, node
        return
    for relation in catalog.relations.values():
        key = relation_key(relation)
        if relation.name.key[0] == schema.schema and rights.sees(key):
            yield key, relation, node


def _named_privileges(
    ast: GrantPrivileges, key: ObjectKey, relation: Relation | None, node: exp.Table | None
) -> Iterator[Wanted]:
    if not ast.privileges:
        every = GRANTABLE[key.kind] if ast.revokes else STANDARD[key.kind]
        yield from ((privilege, "") for privilege in every)
    for word, columns in ast.privileges:
        if word == "ALL":
            named = [p for p in STANDARD[key.kind] if p in OF_COLUMNS]
        else:
            named = [privilege_named(word)]
        for privilege in named:
            if privilege not in GRANTABLE[key.kind]:
                raise PalimpsestError(
                    Code.GRANT,
                    f"{privilege} is no privilege on a {key.kind}",
                    advice="those are " + ", ".join(GRANTABLE[key.kind]),
                )
            if columns and (relation is None or privilege not in OF_COLUMNS):
                raise PalimpsestError(
                    Code.GRANT,
                    f"{privilege} is not granted on columns",
                    advice="columns of tables take " + ", ".join(sorted(OF_COLUMNS)),
                )
            if relation is None or not columns:
                yield privilege, ""
            else:
                assert node is not None
                yield from ((privilege, column_key(relation, c, node)) for c in columns)


def _changed(
    ast: GrantPrivileges,
    known: ObjectAccess,
    roles: list[int],
    wanted: list[Wanted],
    context: RewriteContext,
) -> ObjectAccess:
    rights, key = context.rights, known.key
    for privilege, column in wanted:
        if not ast.privileges and not rights.owns(key):
            continue  # Of ALL, what one may grant.
        if not rights.may_grant(key, privilege, column):
            raise denied(
                f"to grant {privilege} on this {key.kind}",
                "its owner may, and whoever was given it WITH GRANT OPTION",
            )
    able = [w for w in wanted if rights.may_grant(key, *w)]
    grantor = PUBLIC if rights.owns(key) else int(context.role or 0)
    if not ast.revokes:
        return replace(known, grants=_granted(known.grants, roles, able, ast.with_option, grantor))
    return _without_dependents(
        replace(known, grants=_revoked(ast, known.grants, roles, able, grantor)),
        known,
        ast.cascade,
        context,
    )


def _granted(
    grants: Iterable[PrivilegeGrant],
    roles: list[int],
    able: list[Wanted],
    option: bool,
    grantor: int,
) -> tuple[PrivilegeGrant, ...]:
    found = {(g.role, g.privilege, g.column, g.grantor): g for g in grants}
    for role in roles:
        for privilege, column in able:
            place = (role, privilege, column, grantor)
            before = found.get(place)
            grantable = option or (before is not None and before.grantable)
            found[place] = PrivilegeGrant(role, privilege, column, grantable, grantor)
    return tuple(found.values())


def _revoked(
    ast: GrantPrivileges,
    grants: Iterable[PrivilegeGrant],
    roles: list[int],
    able: list[Wanted],
    grantor: int,
) -> tuple[PrivilegeGrant, ...]:
    whole = {privilege for privilege, column in able if not column}
    kept: list[PrivilegeGrant] = []
    for grant in grants:
        is_named = grant.privilege in whole or (grant.privilege, grant.column) in able
        is_meant = grant.role in roles and is_named and grantor in (PUBLIC, grant.grantor)
        if not is_meant:
            kept.append(grant)
        elif ast.only_option:
            kept.append(replace(grant, grantable=False))
    return tuple(kept)


def _without_dependents(
    access: ObjectAccess, before: ObjectAccess, cascade: bool, context: RewriteContext
) -> ObjectAccess:
    """Take off what was granted by those who cannot grant it any more; raises unless CASCADE."""
    control = context.catalog.access
    while True:
        now = control.after(PutAccess(access))
        kept = tuple(
            g
            for g in access.grants
            if g.grantor == PUBLIC
            or Rights(now, g.grantor).may_grant(access.key, g.privilege, g.column)
        )
        if kept == access.grants:
            return access
        if not cascade:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                "others were granted the privilege by whoever is to lose it",
                advice="add CASCADE to take it from them as well",
            )
        access = replace(before, grants=kept)
