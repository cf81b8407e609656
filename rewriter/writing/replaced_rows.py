"""All rows of a table replaced by others, in one version: every present row ends, new ones begin.

A key that is in both carries on. INSERT OVERWRITE and materialised views are written so. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import Query, Stage, StatementPlan, Step
from journal.model.schema import Column, Table
from journal.model.triggers import INSERT
from rewriter.context import RewriteContext
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import BEGINS, ENDS, OLD_VERSION, ChangeSet, new_name, old_name
from rewriter.writing.new_rows import NewRows
from rewriter.writing.returning import ReturningClause
from rewriter.writing.row_triggers import refuse_triggers
from rewriter.writing.statement_part import (
    PartNames,
    StatementPart,
    finish_part,
    mark_rewritten,
    plan_of,
    staged_relation,
)
from rewriter.writing.target import AliasedTable


def overwrite_part(
    reads: Reads, part: PartNames, rows: NewRows, target: AliasedTable, result: ReturningClause
) -> StatementPart:
    """The part that puts ``rows`` in the place of all there are."""
    table = target.table
    advice = "DELETE the rows and INSERT the others, in one transaction"
    refuse_triggers(table, INSERT, "INSERT OVERWRITE", advice)
    stage, source = part.relation_name("changed"), part.relation_name("source_rows")
    query = rows.query()
    steps: list[Step] = [*rows.steps, Stage(source, Query.of(query)), *rows.identity_steps(source)]
    count = len(table.stored)
    new = [exp.column(new_name(i)) for i in range(count)]
    begun = exp.select(
        *[exp.alias_(exp.Null(), old_name(i)) for i in range(count)],
        exp.alias_(exp.Null(), OLD_VERSION),
        *new,
        exp.alias_(exp.false(), ENDS),
        exp.alias_(exp.true(), BEGINS),
    ).from_(staged_relation(source))
    ended = exp.select(
        *target.old_values(),
        *[exp.alias_(exp.Null(), new_name(i)) for i in range(count)],
        exp.alias_(exp.true(), ENDS),
        exp.alias_(exp.false(), BEGINS),
    ).from_(mark_rewritten(target.relation(reads)))
    both = exp.union(ended, begun, distinct=False)
    steps.append(Stage(stage, Query.of(both)))
    changes = ChangeSet(table, stage, ENDS, BEGINS, _all_columns(table))
    result.only = BEGINS
    return finish_part(reads, changes, steps, "INSERT", result)


def replaced_rows(
    table: Table,
    rows: exp.Query,
    context: RewriteContext,
    *,
    is_new: bool = False,
    given: list[Column] | None = None,
) -> StatementPlan:
    """The plan that puts a query's rows into a table, which has others unless it ``is_new``.

    ``given`` are the columns that the query has, if it has not all.
    """
    reads, part = Reads(context), PartNames()
    target = AliasedTable(table, table.name.name)
    found = NewRows(reads, table, part, exp.Insert(expression=rows, overriding="SYSTEM"), given)
    result = ReturningClause(None, target.alias)
    if is_new:
        stage = part.relation_name("changed")
        query = found.query()
        steps: list[Step] = [*found.steps, Stage(stage, Query.of(query), rows_of=table)]
        changes = ChangeSet(table, stage, False, True, _all_columns(table))
        written = finish_part(reads, changes, steps, "INSERT", result)
    else:
        written = overwrite_part(reads, part, found, target, result)
    return plan_of(reads, [written], written.result, written.count, "INSERT")


def _all_columns(table: Table) -> frozenset[str]:
    return frozenset(c.physical for c in table.stored)
