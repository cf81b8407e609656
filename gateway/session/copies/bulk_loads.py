"""Leaves suppressed rows out of a bulk load and counts them, if the client wants that.

Otherwise the commit refuses them all. They are compared with the suppression list where they are
staged, before any guard looks at them; what is suppressed meanwhile the commit still refuses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from gateway.session.request import StatementRequest
from journal.model.plan import Query, Stage
from journal.model.schema import Table
from journal.sql.relations import column, ident
from journal.sql.row_layout import fields_of
from journal.sql.sql import relation, select
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.statement_run import StatementRun

if TYPE_CHECKING:
    from journal.erasure.seam import ErasureJournal

SKIP = "skip"
_ROW = "_row"


def without_suppressed(
    journal: OpenJournal,
    statement: OpenStatement,
    step: Stage,
    request: StatementRequest,
    run: StatementRun,
) -> Stage:
    """A stage, less the new rows that were erased if these are to be skipped; ``run`` counts."""
    table, fence = step.rows_of, statement.committed.fence
    said = step.skips if request.skips is None else request.skips
    if table is None or (request.batch is not None and said is None):
        return step
    skips = request.settings.suppressed_rows == SKIP if said is None else said
    if not skips or not fence.concerns(table):
        return step
    from journal.erasure.list_parameters import list_parameters

    known = cast("ErasureJournal", journal)
    session, query = statement.session, step.query.ast
    assert isinstance(query, exp.Query)
    whole, caught = f"{step.name}_whole", f"{step.name}_caught"
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.null()]))
    numbered = select(
        [*(column(n, "q") for n in query.named_selects), exp.alias_(number, ident(_ROW))],
        relation(query.copy(), "q"),
    )
    statement.run(Stage(whole, Query.of(numbered)), run)
    rows = _as_journal(table, query.named_selects, whole)
    source = statement.comparable_rows((*fields_of(table), (_ROW, "BIGINT")), rows)
    entries = Query.of(fence.entries(table, source, _ROW))
    session.stage(caught, entries, {**run.parameters, **list_parameters(known, entries)})
    run.skipped += session.count(caught)
    kept = select(
        [column(n, "w") for n in query.named_selects],
        exp.alias_(exp.to_table(whole), "w", table=True),
    )
    same = exp.EQ(this=column(_ROW, "c"), expression=column(_ROW, "w"))
    gone = exp.alias_(exp.to_table(caught), "c", table=True)
    kept.append("joins", exp.Join(this=gone, kind="ANTI", on=same))
    return replace(step, query=Query.of(kept))


def _as_journal(table: Table, given: list[str], name: str) -> exp.Select:
    """The staged rows in the names that the journal has for them."""
    named = zip(given, (n for n, _ in fields_of(table)), strict=True)
    outputs: list[exp.Expr] = [exp.alias_(column(g, "a"), ident(n)) for g, n in named]
    return select([*outputs, column(_ROW, "a")], exp.alias_(exp.to_table(name), "a", table=True))
