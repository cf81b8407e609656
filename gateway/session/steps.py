"""Runs the steps of a plan in order, and collects what they wrote and returned."""

from __future__ import annotations

from functools import partial

from gateway.access.ownership import with_owners
from gateway.session.copies.bulk_loads import without_suppressed
from gateway.session.copies.file_copies import export_rows
from gateway.session.diagnosis import with_position
from gateway.session.outcome import StatementOutcome
from gateway.session.request import StatementRequest, digest
from gateway.session.results import buffer_rows, streamed_rows
from journal.model.plan import Export, Fetch, Query, Stage, StatementKind, StatementPlan
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.statement_run import StatementRun
from journal.transactions.transaction import StatementWrites


def run_steps(
    journal: OpenJournal,
    statement: OpenStatement,
    plan: StatementPlan,
    run: StatementRun,
    request: StatementRequest,
) -> StatementOutcome:
    """Run a prepared plan; ``run`` takes what it writes, and a query's rows are streamed."""
    returned: StatementOutcome | None = None
    try:
        for step in plan.steps:
            match step:
                case Stage():
                    loaded = without_suppressed(journal, statement, step, request, run)
                    statement.run(loaded, run)
                case Export():
                    export_rows(journal, statement, step, run, request.settings.timezone)
                case Fetch(query) if plan.kind is StatementKind.READ:
                    returned = _stream_query(statement, query, run, request)
                case Fetch(query):
                    returned = _buffer_query(journal, statement, query, run)
                case _:
                    statement.run(step, run)
    except BaseException:
        for rows in (*(r for _, r in run.rows), *run.ahead.values()):
            statement.transaction.forget(getattr(rows, "files", ()))
        raise
    if returned is None:
        returned = StatementOutcome(plan.tag, run.count, written=run.appended)
    returned.tag, returned.skipped = plan.tag, run.skipped
    returned.notices = plan.notices
    return returned


def record_writes(
    statement: OpenStatement, plan: StatementPlan, run: StatementRun, request: StatementRequest
) -> None:
    """Add the writes of a statement to its transaction."""
    if run.rows or run.changes:
        rows, text = tuple(run.rows), digest(request.parsed, request.dialect)
        catalog = statement.transaction.catalog
        changes = with_owners(run.changes, catalog, request.settings.role)
        origin = request.origin(plan)
        writes = StatementWrites(run.version, rows, changes, text, origin, plan.relied_on)
        statement.transaction.record(writes)


def _stream_query(
    statement: OpenStatement, query: Query, run: StatementRun, request: StatementRequest
) -> StatementOutcome:
    session = statement.session
    session.stream(query, run.parameters)
    explain = partial(with_position, request=request, catalog=statement.transaction.catalog)
    return StatementOutcome("", -1, session.columns(), streamed_rows(statement, explain))


def _buffer_query(
    journal: OpenJournal, statement: OpenStatement, query: Query, run: StatementRun
) -> StatementOutcome:
    session = statement.session
    session.execute(query, run.parameters)
    columns = session.columns()
    table = session.rest_as_arrow()
    return StatementOutcome("", table.num_rows, columns, buffer_rows(journal, table))
