"""Checks the statements of a process, and runs them in one transaction.

    begin -> each statement, its parameters bound -> one commit, in which the instance ends, too

Whoever loses the instance meanwhile commits nothing: the commit checks it. A transaction that comes
second is run again, as a client's statement would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gateway.governance.entity import Entity
from gateway.governance.process_inputs import parameter_names
from journal.model.errors import Code, PalimpsestError
from journal.transactions.transaction import Alongside, Transaction
from rewriter.statement import Begin, Commit, Release, Rollback, Savepoint
from rewriter.syntax.parsing import parse

if TYPE_CHECKING:
    from gateway.session.session import Session
    from rewriter.limits import Limits

_OF_TRANSACTIONS = (Begin, Commit, Rollback, Savepoint, Release)


def check_statements(entity: Entity, text: str, dialect: str, limits: Limits) -> None:
    """Raise ENTITY for statements of a process that it cannot run."""
    try:
        names = parameter_names(entity)
        for parsed in parse(text, dialect, limits, placeholders=True):
            if isinstance(parsed.statement, _OF_TRANSACTIONS):
                raise PalimpsestError(
                    Code.PROCESS_SQL,
                    f"{parsed.text.strip()[:80]} begins or ends a transaction",
                    advice="leave it out: all statements of a process run in one transaction",
                )
            unknown = [str(name) for name in parsed.parameters if name not in names]
            if unknown:
                raise PalimpsestError(
                    Code.PROCESS_SQL,
                    f"there is no parameter {', '.join(unknown)}",
                    advice=f"use {', '.join(names)}, or declare it under parameters",
                )
    except PalimpsestError as error:
        raise PalimpsestError(
            Code.ENTITY, f"{entity}: sql: {error.message}", advice=error.advice
        ) from error


def run_statements(
    own: Session,
    text: str,
    values: Mapping[str, Any],
    alongside: Callable[[Transaction], Alongside],
    log_line: Callable[[str], None],
) -> int:
    """Run statements in one transaction of a session; how many rows they have changed.

    ``alongside`` is given the transaction, and returns what its commit records besides. Where
    nothing was written nothing is committed, and the caller records it.
    """
    attempt = 0
    while True:
        try:
            return _run_once(own, text, values, alongside, log_line)
        except PalimpsestError as error:
            own.rollback()
            if error.code is not Code.SERIALIZATION or attempt == own.settings.retries:
                raise
            log_line(f"another transaction came first; again: {error.message}")
            own.retries.wait(attempt)
            attempt += 1
        except BaseException:
            own.rollback()
            raise


def _run_once(
    own: Session,
    text: str,
    values: Mapping[str, Any],
    alongside: Callable[[Transaction], Alongside],
    log_line: Callable[[str], None],
) -> int:
    own.begin()
    transaction = own.transaction
    assert transaction is not None
    transaction.alongside = alongside(transaction)
    changed = 0
    for parsed in own.parse(text):
        outcome = own.run(parsed, values)
        outcome.close()
        changed += max(outcome.row_count, 0) if outcome.rows is None else 0
        log_line(f"{outcome.tag}: {outcome.row_count} rows")
    assert own.transaction is transaction, "no statement of a process ends its transaction"
    own.commit()
    return changed
