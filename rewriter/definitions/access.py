"""Roles and the objects that privileges are on, found by the names that a statement gives. Pure."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

from journal.model.access import PUBLIC, ObjectKey, ObjectKind, Privilege, Role
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Relation, Table, TableName, fold, relation_key
from journal.model.visibility import visible_to
from rewriter.context import RewriteContext
from rewriter.definitions.sequences import find_sequence, unknown_sequence
from rewriter.name_resolution import (
    check_database,
    is_database,
    position_of,
    table_name,
    unknown_column,
    unknown_table,
)

CURRENT = frozenset({"current_user", "current_role", "session_user"})


def find_role(name: str, context: RewriteContext) -> Role:
    """The role of a name, or of CURRENT_USER; raises UNKNOWN_ROLE."""
    access = context.catalog.access
    if name in CURRENT and context.role is not None and context.role in access.roles:
        return access.roles[context.role]
    found = access.by_name(name)
    if found is None:
        known = [role.name for role in access.roles.values()]
        close = get_close_matches(name, known, n=3)
        advice = f"did you mean {' or '.join(close)}?" if close else f"CREATE ROLE {name}"
        raise PalimpsestError(Code.UNKNOWN_ROLE, f'role "{name}" does not exist', advice=advice)
    return found


def find_grantee(name: str, context: RewriteContext) -> int:
    """The id of a role, or of PUBLIC."""
    return PUBLIC if name == "public" else find_role(name, context).id


def denied(what: str, advice: str) -> PalimpsestError:
    """The error for somebody who may not do something; ``what`` follows "permission denied"."""
    return PalimpsestError(Code.PRIVILEGE, f"permission denied {what}", advice=advice)


def find_relation_by(node: exp.Table, context: RewriteContext) -> Relation:
    """The table or view of a name, if the client has any privilege on it; raises UNKNOWN_TABLE."""
    name = table_name(node, context)
    found = context.catalog.get(name)
    if found is None or not context.rights.sees(relation_key(found)):
        raise unknown_table(name, as_shown(context).catalog, node)
    if context.catalog.is_own(found.name):
        raise PalimpsestError(
            Code.GRANT,
            f"{found.name} is a temporary table, which its session alone sees",
            advice="grant on tables that stay",
            position=position_of(node),
        )
    return found


def as_shown(context: RewriteContext) -> RewriteContext:
    """The context in which only what the client has privileges on is there."""
    return context.with_catalog(visible_to(context.catalog, context.rights))


def schema_key(node: exp.Table, context: RewriteContext) -> ObjectKey:
    """The key of a schema; raises UNKNOWN_SCHEMA."""
    check_database(exp.Table(this=node.this, db=node.args.get("catalog")), context.catalog)
    name = fold(node.name)
    if name not in context.catalog.schemas:
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"schema {node.name} does not exist",
            advice="check the spelling",
            position=position_of(node),
        )
    return key_of_schema(name)


def key_of_schema(name: str) -> ObjectKey:
    """The key of a schema of that name."""
    return ObjectKey(ObjectKind.SCHEMA, 0, *TableName(name, "").key)


def sequence_key(node: exp.Table, context: RewriteContext) -> ObjectKey:
    """The key of a sequence; raises UNKNOWN_TABLE."""
    found = find_sequence(node, context)
    key = None if found is None else ObjectKey(ObjectKind.SEQUENCE, found.id)
    if key is None or not context.rights.sees(key):
        raise unknown_sequence(node, as_shown(context))
    return key


def database_key(node: exp.Table, context: RewriteContext) -> ObjectKey:
    """The key of the database, which there is one of; raises UNKNOWN_SCHEMA."""
    if not is_database(node.name, context.catalog):
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"there is no database {node.name}",
            advice=f"the database is {context.catalog.database}",
            position=position_of(node),
        )
    return ObjectKey(ObjectKind.DATABASE)


def column_key(found: Relation, name: str, node: exp.Expr) -> str:
    """What a column is called in grants: its physical name, or that in the view."""
    if isinstance(found, Table):
        column = found.find(name)
        if column is None:
            raise unknown_column(name, found, node)
        return column.physical
    if found.columns and fold(name) not in map(fold, found.columns):
        raise unknown_column(name, found, node)
    return fold(name)


def privilege_named(word: str) -> Privilege:
    """The privilege of that name; raises GRANT."""
    if word == "TRIGGER":
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "TRIGGER is not supported: tables have no triggers",
            advice="leave it out",
        )
    try:
        return Privilege(word)
    except ValueError:
        raise PalimpsestError(
            Code.GRANT,
            f"there is no privilege {word}",
            advice="the privileges are " + ", ".join(Privilege),
        ) from None
