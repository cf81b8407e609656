"""SAVEPOINT, RELEASE and ROLLBACK TO of a session's transaction."""

from __future__ import annotations

from typing import Protocol

from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.transactions.transaction import Transaction
from rewriter.statement import Release, Rollback, Savepoint


class SavepointSession(Protocol):
    """What of a session is needed to set savepoints."""

    transaction: Transaction | None

    def begin_implicitly(self) -> None:
        """Begin a transaction where the next statement would begin one."""


def in_progress() -> PalimpsestError:
    """The error for a BEGIN inside a transaction."""
    return PalimpsestError(
        Code.ACTIVE_TRANSACTION,
        "a transaction is in progress already",
        advice="COMMIT or ROLLBACK it first; use SAVEPOINT to nest",
    )


def run_savepoint(
    session: SavepointSession, statement: Rollback | Savepoint | Release
) -> StatementOutcome:
    """Set, release or go back to a savepoint; raises NO_TRANSACTION, UNKNOWN_SAVEPOINT."""
    tag = type(statement).__name__.upper()
    try:
        match statement:
            case Rollback(str() as name):
                transaction_of(session, "ROLLBACK TO").rollback_to(name)
            case Savepoint(name):
                transaction_of(session, tag).savepoint(name)
            case Release(name):
                transaction_of(session, tag).release(name)
    except PalimpsestError:
        if session.transaction is not None:
            session.transaction.fail()
        raise
    return StatementOutcome(tag)


def transaction_of(session: SavepointSession, what: str) -> Transaction:
    """The open transaction; raises NO_TRANSACTION for none, in which ``what`` is not possible."""
    session.begin_implicitly()
    if session.transaction is None:
        raise PalimpsestError(
            Code.NO_TRANSACTION,
            f"{what} needs a transaction",
            advice="start one with BEGIN",
        )
    return session.transaction
