"""Parts of one statement that run one after another: each sees what those before it did.

Nothing is appended before all of them have looked, so what a part did is laid over the rows that
the next one reads: those that it ended are left out, those that it began are added, with the
statement's own version. What all parts did to one table is then appended as one change set, which
knows of no row that a part began and a later one ended. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.plan import P_VERSION, Count, Query, Stage
from journal.model.schema import Table
from journal.sql.relations import column, union_all, version_type, version_value
from journal.sql.sql import cast, named, named_table, relation, select, where
from rewriter.reading.changed_rows import RowChange
from rewriter.writing.changes import (
    BEGINS,
    ENDS,
    OLD_VERSION,
    ChangeSet,
    append_step,
    new_name,
    old_name,
)
from rewriter.writing.reference_values import (
    anti_join,
    equal_conditions,
    flag_conditions,
    staged_new_values,
    staged_old_value,
    without_ended,
)
from rewriter.writing.statement_part import StatementPart, mark_rewritten


def row_change(changes: ChangeSet) -> RowChange:
    """What a staged change set makes of its table's rows."""
    table = changes.table
    version = table.format.version_column

    def after(rows: exp.Query) -> exp.Query:
        names = [*(c.physical for c in table.stored), version]
        left = without_ended(rows, [changes])
        branches = [select([column(n, "q") for n in names], relation(left, "q"))]
        if changes.begins is not False:
            new = [named(changes.new_value(i, c), c.physical) for i, c in enumerate(table.stored)]
            begun = changes.staged_rows([*new, named(_own_version(table), version)])
            branches.append(_begun(changes, begun))
        query = union_all(branches)
        mark_rewritten(query)
        return query

    return after


def combined_part(parts: Sequence[StatementPart], name: str) -> StatementPart:
    """The last of the parts that change one table, with what all of them do to it.

    ``name`` is that of the staged relation of all changes. The count of rows is that of the part.
    """
    last = parts[-1]
    changes = [p.changes for p in parts if p.changes is not None]
    table = last.table
    stage = Stage(name, Query.of(_all_changes(table, changes)))
    written = frozenset(c.physical for c in table.stored)
    together = ChangeSet(table, name, ENDS, BEGINS, written)
    count = last.count
    if count is None and last.changes is not None:
        rows = named_table(last.changes.stage)
        count = Count(Query.of(select([exp.Count(this=exp.Star())], rows)))
    return replace(
        last,
        steps=(*last.steps, stage),
        append=append_step(together),
        changes=together,
        count=count,
        bounded=False,
    )


def _all_changes(table: Table, changes: Sequence[ChangeSet]) -> exp.Query:
    """Rows that were there and have ended; and rows that have begun and not ended since."""
    stored = table.stored
    kind = version_type(table)
    branches: list[exp.Query] = []
    for place, changed in enumerate(changes):
        if changed.ends is not False:
            outputs = [named(column(old_name(i), "s"), old_name(i)) for i in range(len(stored))]
            outputs.append(named(column(OLD_VERSION, "s"), OLD_VERSION))
            outputs += [named(cast(exp.Null(), c.type), new_name(i)) for i, c in enumerate(stored)]
            was_there = exp.NEQ(this=column(OLD_VERSION, "s"), expression=_own_version(table))
            outputs += [named(exp.true(), ENDS), named(exp.false(), BEGINS)]
            ended = changed.staged_rows(outputs)
            branches.append(where(ended, was_there, *flag_conditions(changed.ends, "s")))
        if changed.begins is not False:
            outputs = [named(cast(exp.Null(), c.type), old_name(i)) for i, c in enumerate(stored)]
            outputs.append(named(cast(exp.Null(), kind), OLD_VERSION))
            outputs += [named(changed.new_value(i, c), new_name(i)) for i, c in enumerate(stored)]
            outputs += [named(exp.false(), ENDS), named(exp.true(), BEGINS)]
            begun = _begun(changed, changed.staged_rows(outputs))
            for number, later in enumerate(changes[place + 1 :]):
                if later.ends is not False:
                    begun.append("joins", _ended_again(changed, later, f"e{number}"))
            branches.append(begun)
    return union_all(branches)


def _ended_again(begun: ChangeSet, later: ChangeSet, alias: str) -> exp.Join:
    """Leaves out rows of ``begun`` that ``later`` has ended: rows of the statement itself."""
    table = begun.table
    keys = staged_new_values(begun, table.key, "s")
    same = equal_conditions(keys, [staged_old_value(later, k, alias) for k in table.key])
    own = exp.EQ(this=column(OLD_VERSION, alias), expression=_own_version(table))
    return anti_join(later.stage, alias, [*same, own, *flag_conditions(later.ends, alias)])


def _begun(changes: ChangeSet, rows: exp.Select) -> exp.Select:
    """Those of staged rows that begin."""
    condition = changes.begins_condition
    return rows if condition is None else where(rows, condition)


def _own_version(table: Table) -> exp.Expr:
    """The version of rows that the statement itself begins."""
    version = version_value(table, exp.Placeholder(this=P_VERSION))
    return cast(version, version_type(table))
