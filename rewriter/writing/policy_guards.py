"""Guards that a row which a role writes is one that it sees: WITH CHECK of a row policy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code
from journal.model.plan import Guard, Query, Step
from journal.model.refusal import Refusal, RefusedRows
from journal.model.schema import Table, relation_key
from journal.sql.relations import column
from journal.sql.sql import limited, named, select, where
from rewriter.context import RewriteContext
from rewriter.reading.row_security import RowSecurity, masked_columns
from rewriter.writing.changes import ChangeSet, new_name

_OF_VALUES = frozenset({Code.DUPLICATE_KEY, Code.ROW_TWICE, Code.FOREIGN_KEY})
"""Guards of these codes show values of rows."""


def policy_guards(context: RewriteContext, changes: ChangeSet) -> list[Step]:
    """Guards that the client sees each row that begins; none where no row policy applies."""
    hidden = _hidden(context, changes)
    if hidden is None:
        return []
    failed = changes.staged_rows([named(exp.Literal.number(1), "found")])
    begun = changes.begins_condition
    if begun is not None:
        failed = where(failed, begun)
    return [refuse_unseen(where(failed, hidden), changes.table)]


def policy_refusals(context: RewriteContext, changes: ChangeSet) -> list[RefusedRows]:
    """The same as rows that a fused query refuses."""
    hidden = _hidden(context, changes)
    return [] if hidden is None else [RefusedRows(hidden, _refusal(changes.table))]


def source_guards(
    context: RewriteContext, table: Table, source: exp.Expr, alias: str
) -> list[Step]:
    """Guards that the client sees each row that an upsert brings, conflict or not.

    ``source`` are staged rows with their new values.
    """
    policies = RowSecurity.of(table, context)
    if policies is None or policies.seen is None:
        return []
    values = {c.physical: column(new_name(i), alias) for i, c in enumerate(table.stored)}
    found = select([named(exp.Literal.number(1), "found")], source, unseen(policies, values))
    return [refuse_unseen(found, table)]


def unseen(policies: RowSecurity, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """The condition of rows that are not seen, over values by physical column."""
    seen = exp.Coalesce(this=policies.seen_by(values), expressions=[exp.false()])
    return exp.Not(this=seen)


def without_values(
    steps: Iterable[Step], tables: Iterable[Table], context: RewriteContext
) -> list[Step]:
    """Steps whose guards show no values of rows, where columns of some table are masked."""
    if context.role is None or not any(masked_columns(t, context) for t in tables):
        return list(steps)
    return [_without_value(s) if isinstance(s, Guard) else s for s in steps]


def without_masked_values(
    guards: Iterable[Guard], tables: Iterable[Table], context: RewriteContext
) -> list[Guard]:
    """Guards that show no values of rows, where columns of some table are masked for anybody."""
    access = context.catalog.access
    is_masked = any(access.has_masks(relation_key(table)) for table in tables)
    return [_without_value(g) if is_masked else g for g in guards]


def _without_value(guard: Guard) -> Guard:
    if guard.code not in _OF_VALUES:
        return guard
    return replace(guard, message=guard.message.replace("{0}", ".."))


def _hidden(context: RewriteContext, changes: ChangeSet) -> exp.Expr | None:
    """The condition of rows that begin and are not seen; None if there can be none."""
    policies = RowSecurity.of(changes.table, context)
    if changes.begins is False or policies is None or policies.seen is None:
        return None
    if changes.ends is True and not _reads_written(policies.seen, changes):
        return None  # They were seen, and the policy looks at nothing that is new.
    places = enumerate(changes.table.stored)
    return unseen(policies, {c.physical: changes.new_value(i, c) for i, c in places})


def _reads_written(seen: exp.Expr, changes: ChangeSet) -> bool:
    return bool({c.name for c in seen.find_all(exp.Column)} & changes.written)


def refuse_unseen(rows: exp.Select, table: Table) -> Guard:
    """A guard that there are no such rows."""
    why = _refusal(table)
    return Guard(Query.of(limited(rows)), why.code, why.message, why.advice)


def _refusal(table: Table) -> Refusal:
    name = str(table.name).replace("{", "{{").replace("}", "}}")
    return Refusal(
        Code.ROW_POLICY,
        f"the row policy of {name} hides a row that the statement would write",
        "write rows that the policy lets the role see; docs/roles.md says how policies work",
    )
