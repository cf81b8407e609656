"""Refuses to drop or change what a row policy reads, even with CASCADE.

Without what it reads a policy tells nothing, and to drop it as well would show every row. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from journal.model.access import ObjectKind
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, DropRelation, PutRelation, StatementPlan
from journal.model.schema import Relation, Table, View, fold, relation_key
from rewriter.context import RewriteContext
from rewriter.definitions.policy_sources import PolicySources, is_read_by, sources_of


def check_policy_sources(plan: StatementPlan, context: RewriteContext) -> None:
    """Raise DEPENDENT_OBJECTS if a plan takes from a row policy what the policy reads."""
    changes = [step.change for step in plan.steps if isinstance(step, Change)]
    dropped = [c.name for c in changes if isinstance(c, DropRelation)]
    put = [c.relation for c in changes if isinstance(c, PutRelation)]
    # A view goes by its name: one that gets another name is gone for a policy.
    dropped += [
        c.instead_of
        for c in changes
        if isinstance(c, PutRelation) and isinstance(c.relation, View) and c.instead_of is not None
    ]
    if not dropped and not put:
        return
    policies = list(_policies(context))
    if not policies:
        return
    kept = {relation.id for relation in put if isinstance(relation, Table)}
    named = {relation.name.key for relation in put if isinstance(relation, View)}
    gone = [found for name in dropped if (found := context.catalog.get(name)) is not None]
    gone = [
        found
        for found in gone
        if not (found.id in kept if isinstance(found, Table) else found.name.key in named)
    ]
    without = {found.id for found in gone if isinstance(found, Table)}
    for table, sources in policies:
        if table.id in without:
            continue
        for found in gone:
            if is_read_by(found, sources):
                raise _dependent(str(found.name), table, context)
        for relation in put:
            before = _before(relation, context)
            if before is None or not is_read_by(before, sources):
                continue
            for name in _lost_columns(before, relation) & sources.columns:
                raise _dependent(f'column "{name}" of {before.name}', table, context)


def _policies(context: RewriteContext) -> Iterator[tuple[Table, PolicySources]]:
    """The tables whose row policies read others, and what these read."""
    for key, access in context.catalog.access.objects.items():
        if key.kind is not ObjectKind.TABLE:
            continue
        for policy in access.conditions:
            sources = sources_of(policy.expression)
            table = context.catalog.by_id(key.id)
            if table is not None and (sources.tables or sources.views):
                yield table, sources


def _before(relation: Relation, context: RewriteContext) -> Relation | None:
    if isinstance(relation, Table):
        return context.catalog.by_id(relation.id)
    return context.catalog.get(relation.name)


def _lost_columns(before: Relation, after: Relation) -> set[str]:
    """The folded names of columns that have another type afterwards, or are not there."""
    if isinstance(before, Table) and isinstance(after, Table):
        types = {fold(c.name): c.type for c in after.columns}
        return {fold(c.name) for c in before.columns if types.get(fold(c.name)) != c.type}
    old = before.columns if isinstance(before, View) else tuple(c.name for c in before.columns)
    new = after.columns if isinstance(after, View) else tuple(c.name for c in after.columns)
    return {fold(name) for name in old} - {fold(name) for name in new}


def _dependent(what: str, table: Table, context: RewriteContext) -> PalimpsestError:
    is_visible = context.role is None or context.rights.sees(relation_key(table))
    of = str(table.name) if is_visible else "another table"
    return PalimpsestError(
        Code.DEPENDENT_OBJECTS,
        f"{what} is read by the row policy of {of}",
        advice="have the owner of that table drop the policy, or set one that does not read it",
    )
