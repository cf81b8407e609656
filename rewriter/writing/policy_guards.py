"""Guards for WITH CHECK of row policies: a written row must be visible to the role. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code
from journal.model.plan import Guard, Query, Step
from journal.model.refusal import Refusal, RefusedRows
from journal.model.row_policy import RowUse
from journal.model.schema import Table, relation_key
from journal.sql.relations import column
from journal.sql.sql import limited, select, where
from rewriter.context import RewriteContext
from rewriter.definitions.policy_sources import columns_of_row
from rewriter.reading.policies.conditions import row_security
from rewriter.reading.policies.security import RowSecurity, differs_by_use, masked_columns
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import ChangeSet, new_name

_OF_VALUES = frozenset({Code.DUPLICATE_KEY, Code.ROW_TWICE, Code.FOREIGN_KEY})
"""Guards of these codes show values of rows."""


def policy_guards(reads: Reads, changes: ChangeSet, *, returns: bool = False) -> list[Step]:
    """Guards that the client may write each row that begins; none where no row policy applies.

    ``returns``: the statement reads what it inserts.
    """
    policies = _applying(reads, changes, returns=returns)
    if policies is None:
        return []
    rows = changes.staged_rows([])
    begun = changes.begins_condition
    if begun is not None:
        rows = where(rows, begun)
    return [refuse_unseen(policies.unseen_rows(rows, _new_values(changes)), changes.table)]


def policy_refusals(reads: Reads, changes: ChangeSet) -> list[RefusedRows] | None:
    """The same as rows that a fused query refuses; None where it cannot tell which these are."""
    policies = _applying(reads, changes)
    if policies is None:
        return []
    if policies.has_queries:
        return None
    return [RefusedRows(policies.unseen(_new_values(changes)), _refusal(changes.table))]


def source_guards(
    reads: Reads, table: Table, source: exp.Expr, alias: str, use: RowUse
) -> list[Step]:
    """Guards that the client may write each row that an upsert brings, conflict or not.

    ``source`` are staged rows with their new values.
    """
    policies = row_security(reads, table, use)
    if policies is None or policies.seen is None:
        return []
    values = {c.physical: column(new_name(i), alias) for i, c in enumerate(table.stored)}
    return [refuse_unseen(policies.unseen_rows(select([], source), values), table)]


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


def _applying(reads: Reads, changes: ChangeSet, *, returns: bool = False) -> RowSecurity | None:
    """The policies that rows which begin are to be checked by; None if all of them may be."""
    use = RowUse.INSERT if changes.ends is False and not returns else RowUse.UPSERT
    policies = row_security(reads, changes.table, RowUse.CHANGED if changes.ends is True else use)
    if changes.begins is False or policies is None or policies.seen is None:
        return None
    is_alike = not differs_by_use(changes.table, reads.context)
    if changes.ends is True and is_alike and not _reads_written(policies.seen, changes):
        return None  # They were seen, and the policy looks at nothing that is new.
    return policies


def _new_values(changes: ChangeSet) -> dict[str, exp.Expr]:
    return {c.physical: changes.new_value(i, c) for i, c in enumerate(changes.table.stored)}


def _reads_written(seen: exp.Expr, changes: ChangeSet) -> bool:
    return bool({c.name for c in columns_of_row(seen)} & changes.written)


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
