"""Combines PostgreSQL's named row policies into the conditions of one policy.

    CREATE POLICY --NamedPolicy--> combined --TablePolicy--> what a role has of the rows

For each use of rows one condition: any of the permissive policies and all of the restrictive ones
that are for the role; without a permissive one there are no rows. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.access import PUBLIC, ObjectAccess, PutAccess
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan
from journal.model.row_policy import NamedPolicy, RowUse, TablePolicy
from journal.model.schema import Table, relation_key
from journal.sql.sql import all_of, any_of, expression
from rewriter.context import RewriteContext
from rewriter.definitions.access import find_grantee, find_relation_by
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.table_policies import IS_ROLE
from rewriter.name_resolution import position_of
from rewriter.reading.policies.texts import checked_text, invalid

COMMANDS = ("ALL", "SELECT", "INSERT", "UPDATE", "DELETE")


def secured_table(node: exp.Table, context: RewriteContext) -> Table:
    """The table of a name; raises WRONG_OBJECT for a view."""
    found = find_relation_by(node, context)
    if isinstance(found, Table) and found.materialized is None:
        return found
    raise PalimpsestError(
        Code.WRONG_OBJECT,
        f"{found.name} is a view, which shows rows under the policies of its tables",
        advice="set the policy on the tables it is made of",
        position=position_of(node),
    )


def access_of(table: Table, context: RewriteContext) -> ObjectAccess:
    """What is kept of a table's policies; raises INVALID_DEFINITION beside one without a name."""
    access = context.rights.access_of(relation_key(table))
    is_unnamed = any(not p.column for p in access.policies) and not access.secures_rows
    if is_unnamed:
        raise invalid(
            f"{table.name} has a row policy without a name",
            f"ALTER TABLE {table.name} DROP ROW POLICY",
        )
    return access


def put_policies(access: ObjectAccess, tag: str) -> StatementPlan:
    """The plan that keeps a table's policies, with what they come to."""
    return ddl_plan([Change(PutAccess(_with_conditions(access)))], tag)


def with_comment(
    node: exp.Table, name: str, text: str | None, context: RewriteContext
) -> ObjectAccess:
    """A table's policies with another comment on one of them."""
    table = secured_table(node, context)
    access = access_of(table, context)
    found = find_policy(access, name, table)
    said = replace(found, comment=text)
    kept = tuple(said if p is found else p for p in access.named_policies)
    return replace(access, named_policies=kept)


def without_roles(access: ObjectAccess, roles: Collection[int]) -> ObjectAccess:
    """Without policies for these roles alone, and without the roles in others."""
    if not any(role in roles for p in access.named_policies for role in p.roles):
        return access
    left = (replace(p, roles=tuple(sorted({*p.roles} - {*roles}))) for p in access.named_policies)
    return _with_conditions(replace(access, named_policies=tuple(p for p in left if p.roles)))


def _with_conditions(access: ObjectAccess) -> ObjectAccess:
    """With what the policies come to where they are in force; columns' masks stay."""
    masks = tuple(p for p in access.policies if p.column)
    rows = _conditions(access.named_policies) if access.secures_rows else ()
    return replace(access, policies=(*masks, *rows))


def find_policy(access: ObjectAccess, name: str, table: Table) -> NamedPolicy:
    """The policy of a name; raises UNKNOWN_POLICY."""
    for policy in access.named_policies:
        if policy.name == name:
            return policy
    known = ", ".join(p.name for p in access.named_policies) or "none"
    raise PalimpsestError(
        Code.UNKNOWN_POLICY,
        f'policy "{name}" for table "{table.name.name}" does not exist',
        advice=f"its policies are {known}",
    )


def check_new_name(access: ObjectAccess, name: str, table: Table) -> None:
    """Raise DUPLICATE_POLICY where a policy of the table has the name."""
    if any(p.name == name for p in access.named_policies):
        raise PalimpsestError(
            Code.DUPLICATE_POLICY,
            f'policy "{name}" for table "{table.name.name}" already exists',
            advice=f"ALTER POLICY {name} ON {table.name}, or DROP POLICY first",
        )


def checked_policy(
    policy: NamedPolicy,
    using: exp.Expr | None,
    check: exp.Expr | None,
    table: Table,
    context: RewriteContext,
) -> NamedPolicy:
    """A policy with conditions in the place of its own; raises SYNTAX for what its command has
    none of."""
    if using is not None and policy.command == "INSERT":
        raise _misplaced("only WITH CHECK is allowed for INSERT")
    if check is not None and policy.command in {"SELECT", "DELETE"}:
        raise _misplaced("WITH CHECK cannot be applied to SELECT or DELETE")
    if using is not None:
        policy = replace(policy, using=checked_text(using, table, None, context))
    if check is not None:
        policy = replace(policy, check=checked_text(check, table, None, context))
    return policy


def roles_of(names: Sequence[str], context: RewriteContext) -> tuple[int, ...]:
    """The ids of roles, PUBLIC among them; raises UNKNOWN_ROLE."""
    found = {find_grantee(name, context) for name in names}
    return (PUBLIC,) if PUBLIC in found or not found else tuple(sorted(found))


def _conditions(policies: Sequence[NamedPolicy]) -> tuple[TablePolicy, ...]:
    """What policies come to: the condition of rows that are seen, and where others differ."""
    seen = _combined(policies, "SELECT", is_new=False)
    uses = (
        (RowUse.INSERT, _combined(policies, "INSERT", is_new=True)),
        (RowUse.UPDATE, _combined(policies, "UPDATE", is_new=False)),
        (RowUse.CHANGED, _combined(policies, "UPDATE", is_new=True)),
        (RowUse.DELETE, _combined(policies, "DELETE", is_new=False)),
    )
    differing = (TablePolicy("", text, use.value) for use, text in uses if text != seen)
    return (TablePolicy("", seen), *differing)


def _combined(policies: Iterable[NamedPolicy], command: str, *, is_new: bool) -> str:
    """The condition of present rows of a command, or of new ones."""
    permissive: list[exp.Expr] = []
    restrictive: list[exp.Expr] = []
    for policy in policies:
        text = policy.using if not is_new or policy.check is None else policy.check
        if policy.command not in {"ALL", command} or text is None:
            continue
        condition: exp.Expr = exp.paren(expression(text))
        asked = [_is_role(role) for role in policy.roles if role != PUBLIC]
        if policy.restrictive:
            none = [exp.Not(this=exp.paren(any_of(*asked)))] if asked else []
            restrictive.append(exp.paren(any_of(*none, condition)))
        else:
            which = [exp.paren(any_of(*asked))] if asked else []
            permissive.append(exp.paren(all_of(*which, condition)))
    if not permissive:
        return canonical_text(exp.false())
    return canonical_text(all_of(exp.paren(any_of(*permissive)), *restrictive))


def _is_role(role: int) -> exp.Expr:
    return exp.Anonymous(this=IS_ROLE, expressions=[exp.Literal.number(role)])


def _misplaced(message: str) -> PalimpsestError:
    return PalimpsestError(Code.SYNTAX, message, advice="see docs/roles.md for what each is for")
