"""One statement for many rows of parameters: as one over all of them, or once for each.

All of them or none. Rows go together as an Arrow table where that is faster and means the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.session.cancellation import Cancellation
from gateway.session.given_moments import GivenSession, rounded_batch
from gateway.session.outcome import StatementOutcome
from gateway.session.parameters import batch_table
from gateway.session.results import BufferedRows, buffer_rows
from journal.model.errors import Code, PalimpsestError
from journal.transactions.transaction import Status, Transaction
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_JOINED_ROWS_MIN = 50
_BATCH_MARK = "\0batch"


class BatchSession(GivenSession, Protocol):
    """What of a session is needed to run a statement many times."""

    autocommit: bool
    transaction: Transaction | None
    cancellation: Cancellation

    def parse(self, text: str, placeholders: bool = True) -> list[Parsed]:
        """The statements of a text."""

    def run(
        self, parsed: Parsed, parameters: Any = None, batch: pa.Table | None = None
    ) -> StatementOutcome:
        """Run one parsed statement."""

    def new_transaction(self) -> Transaction:
        """A transaction that has begun."""

    def begin(self) -> None:
        """Start an explicit transaction."""

    def commit(self) -> None:
        """End the transaction."""

    def rollback(self) -> None:
        """Undo the transaction."""


def execute_many(session: BatchSession, text: str, rows: Sequence[Any]) -> StatementOutcome:
    """Run the one change in ``text`` for each row of parameters; raises INTERFACE for others.

    With RETURNING, the rows are what each row of parameters gave, one after the other.
    """
    statements = session.parse(text)
    if len(statements) != 1:
        raise PalimpsestError(
            Code.INTERFACE, "executemany takes one statement", advice="call it for each"
        )
    (parsed,) = statements
    if isinstance(parsed.statement, SqlStatement) and isinstance(parsed.statement.ast, exp.Query):
        raise PalimpsestError(
            Code.INTERFACE,
            "executemany runs changes, not queries",
            advice="call execute for each row of parameters, or join with a VALUES list",
        )
    if not rows:
        return StatementOutcome("EMPTY", 0)
    with session.cancellation.running():
        batch = batch_table(parsed, rows) if _can_batch(parsed.statement, len(rows)) else None
        if batch is None:
            return _run_each(session, parsed, rows)
        return _run_batch(session, parsed, rows, rounded_batch(session, parsed, batch))


def _run_each(session: BatchSession, parsed: Parsed, rows: Sequence[Any]) -> StatementOutcome:
    if session.transaction is None and session.autocommit:
        session.begin()
        try:
            outcome = _run_each(session, parsed, rows)
            session.commit()
            return outcome
        except BaseException:
            session.rollback()
            raise
    total = 0
    returned: list[pa.Table] = []
    for row in rows:
        outcome = session.run(parsed, row)
        total += max(outcome.row_count, 0)
        if isinstance(outcome.rows, BufferedRows):
            returned.append(outcome.rows.arrow())
    if outcome.columns is not None and returned:
        found = buffer_rows(session.journal, pa.concat_tables(returned))
        return StatementOutcome(outcome.tag, total, outcome.columns, found)
    outcome.row_count = total
    return outcome


def _run_batch(
    session: BatchSession, parsed: Parsed, rows: Sequence[Any], batch: pa.Table
) -> StatementOutcome:
    """Run a statement for all rows at once; one by one where rows depend on one another."""
    if session.transaction is None and not session.autocommit:
        session.transaction = session.new_transaction()
    if session.transaction is not None and session.transaction.status is Status.OPEN:
        session.transaction.savepoint(_BATCH_MARK)
    try:
        outcome = session.run(parsed, None, batch)
    except PalimpsestError as error:
        if error.code is not Code.ROW_TWICE:
            raise
        if session.transaction is not None:
            session.transaction.rollback_to(_BATCH_MARK)
            session.transaction.release(_BATCH_MARK)
        return _run_each(session, parsed, rows)
    if session.transaction is not None:
        session.transaction.release(_BATCH_MARK)
    return outcome


def _can_batch(statement: object, rows: int) -> bool:
    if not isinstance(statement, SqlStatement):
        return False
    if statement.ast.key in {"update", "delete"}:
        # A few rows are found faster one by one than by a join with the whole table.
        return rows >= _JOINED_ROWS_MIN
    if statement.ast.key != "insert":
        return False
    values = statement.ast.expression
    return values is not None and values.key == "values" and len(values.expressions) == 1
