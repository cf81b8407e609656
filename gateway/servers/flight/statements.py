"""Statements of Flight clients: run at once or prepared, with rows of parameters, in transactions.

A statement runs when a client asks for information on its flight, and its rows are fetched by a
ticket afterwards: a change that a client does not fetch anything of has happened all the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.servers.arrow_schemas import arrow_type, result_schema
from gateway.servers.flight.results import FlightResult
from gateway.servers.flight.sessions import FlightClient, FlightStatement, SessionSlot
from gateway.servers.limits import ServerLimits
from gateway.session.description import describe
from gateway.session.outcome import StatementOutcome
from gateway.session.results import buffer_rows
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import (
    Begin,
    Commit,
    Explain,
    Rollback,
    SelectedCalls,
    ShowSetting,
    SqlStatement,
)
from rewriter.syntax.parsing import Parsed

_NO_ROWS = pa.schema([])


def run_query(
    client: FlightClient, text: str, transaction: bytes | None, limits: ServerLimits
) -> tuple[bytes, pa.Schema, int]:
    """Run a text; the handle of its result, its schema, and how many rows it has or changed."""
    with client.working(transaction) as worker:
        outcome = _run_text(worker, text)
        return _keep(client, worker, outcome, limits)


def run_update(client: FlightClient, text: str, transaction: bytes | None) -> int:
    """Run a text; how many rows it has changed."""
    with client.working(transaction) as worker:
        outcome = _run_text(worker, text)
        outcome.close()
        return max(outcome.row_count, 0)


def prepare(client: FlightClient, text: str, transaction: bytes | None) -> FlightStatement:
    """A statement that is kept; raises SYNTAX for none or several."""
    with client.working(transaction) as worker:
        found = worker.session.parse(text, placeholders=True)
        if len(found) != 1:
            raise PalimpsestError(
                Code.SYNTAX,
                "a prepared statement holds one statement",
                advice="prepare each by itself",
            )
        _check_control(worker, found[0])
    return FlightStatement(text, found[0], transaction)


def describe_prepared(
    client: FlightClient, statement: FlightStatement
) -> tuple[pa.Schema, pa.Schema, bool]:
    """The schema of its rows, that of its parameters, and whether it gives no rows."""
    parsed = statement.parsed
    with client.working(statement.transaction) as worker:
        session = worker.session
        with session.cancellation.running():
            if isinstance(parsed.statement, SqlStatement | SelectedCalls | Explain):
                found = describe(session, parsed)
                types = [arrow_type(kind or "VARCHAR") for kind in found.parameters]
                given = pa.schema([(f"${i + 1}", kind) for i, kind in enumerate(types)])
                rows = _NO_ROWS if found.columns is None else result_schema(found.columns)
                return rows, given, found.columns is None
            if isinstance(parsed.statement, ShowSetting):
                # It gives a row and changes nothing, though it is no query.
                outcome = session.run(parsed)
                outcome.close()
                return result_schema(outcome.columns or ()), _NO_ROWS, False
    places = [p for p in parsed.parameters if isinstance(p, int)]
    names = [f"${i + 1}" for i in range(max(places, default=-1) + 1)]
    return _NO_ROWS, pa.schema([(name, pa.string()) for name in names]), True


def query_prepared(
    client: FlightClient, statement: FlightStatement, limits: ServerLimits
) -> tuple[bytes, pa.Schema, int]:
    """Run a prepared statement for each of its rows of parameters; as ``run_query``."""
    with client.working(statement.transaction) as worker:
        outcome = _run_prepared(worker.session, statement)
        return _keep(client, worker, outcome, limits)


def update_prepared(client: FlightClient, statement: FlightStatement) -> int:
    """The same without a result; how many rows were changed."""
    with client.working(statement.transaction) as worker:
        outcome = _run_prepared(worker.session, statement)
        outcome.close()
        return max(outcome.row_count, 0)


def begin_savepoint(client: FlightClient, transaction: bytes) -> bytes:
    """The handle of a savepoint in a transaction."""
    own = f"flight_{secrets.token_hex(8)}"
    with client.working(transaction or b"?") as worker:
        worker.session.execute(f"SAVEPOINT {own}")
    handle = secrets.token_bytes(16)
    client.savepoints[handle] = (transaction, own)
    return handle


def end_savepoint(client: FlightClient, handle: bytes, *, releases: bool) -> None:
    """Release a savepoint, or go back to it; raises UNKNOWN_SAVEPOINT."""
    found = client.savepoints.pop(handle, None)
    if found is None:
        raise PalimpsestError(
            Code.UNKNOWN_SAVEPOINT,
            "the session has no such savepoint",
            advice="set one with BeginSavepoint, inside of a transaction",
        )
    transaction, name = found
    with client.working(transaction) as worker:
        if not releases:
            worker.session.execute(f"ROLLBACK TO SAVEPOINT {name}")
        worker.session.execute(f"RELEASE SAVEPOINT {name}")


def _run_text(worker: SessionSlot, text: str) -> StatementOutcome:
    session = worker.session
    outcome = StatementOutcome("EMPTY")
    statements = session.to_run(text)
    for parsed in statements:
        _check_control(worker, parsed)
    for parsed in statements:
        outcome.close()
        with session.cancellation.running():
            outcome = session.run(parsed)
    return outcome


def _check_control(worker: SessionSlot, parsed: Parsed) -> None:
    """Raise ACTIVE_TRANSACTION for SQL that would end a transaction behind its handle's back."""
    ends = isinstance(parsed.statement, Begin | Commit) or parsed.statement == Rollback(None)
    if ends and worker.transaction is not None:
        raise PalimpsestError(
            Code.ACTIVE_TRANSACTION,
            "the transaction was begun by the driver, and ends by the driver",
            advice="call commit or rollback of the connection",
        )


def _run_prepared(session: Session, statement: FlightStatement) -> StatementOutcome:
    rows = statement.rows
    with session.cancellation.running():
        if rows is None or rows.num_columns == 0:
            return session.run(statement.parsed, ())
        values = _values(rows)
        if len(values) == 1:
            return session.run(statement.parsed, values[0])
        if not _is_query(statement.parsed):
            return session.execute_many(statement.text, values)
        return _run_each(session, statement.parsed, values)


def _run_each(session: Session, parsed: Parsed, rows: Sequence[Any]) -> StatementOutcome:
    """The rows of a query for one row of parameters after the other."""
    found: list[pa.Table] = []
    columns = None
    for row in rows:
        outcome = session.run(parsed, row)
        assert outcome.rows is not None
        columns = outcome.columns
        with session.fetching(outcome.rows):
            found.append(outcome.rows.arrow())
    if not found:
        return session.run(parsed, ())
    table = pa.concat_tables(found)
    return StatementOutcome("SELECT", table.num_rows, columns, buffer_rows(session.journal, table))


def _is_query(parsed: Parsed) -> bool:
    statement = parsed.statement
    return isinstance(statement, SqlStatement) and isinstance(statement.ast, exp.Query)


def _values(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Rows of parameters as values of Python."""
    columns = []
    for column in rows.columns:
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True))


def _keep(
    client: FlightClient, worker: SessionSlot, outcome: StatementOutcome, limits: ServerLimits
) -> tuple[bytes, pa.Schema, int]:
    if outcome.rows is None:
        changed = max(outcome.row_count, 0)
        nothing = buffer_rows(worker.session.journal, pa.table({}))
        outcome = StatementOutcome(outcome.tag, changed, [], nothing)
    count = outcome.row_count
    result = FlightResult(outcome, worker.session, worker.lock, limits)
    try:
        return client.keep_result(result), result.schema, count
    except BaseException:
        result.close()
        raise
