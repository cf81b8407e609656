"""Statements about the session itself: BEGIN, COMMIT, savepoints, SET and SHOW."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from gateway.session.blocks import BlockSession, run_do
from gateway.session.constraint_checks import ConstraintSession, set_constraints
from gateway.session.outcome import StatementOutcome
from gateway.session.savepoints import SavepointSession, run_savepoint, transaction_of
from gateway.session.session_calls import CallingSession, run_discard, run_lock
from gateway.session.setting_statements import (
    TransactionSettings,
    show_setting,
    take_read_only,
)
from rewriter.statement import (
    Begin,
    Commit,
    Discard,
    LockTables,
    Release,
    Rollback,
    Savepoint,
    SetConstraints,
    SetSetting,
    ShowSetting,
)
from rewriter.statements.blocks import DoBlock
from rewriter.syntax.parsing import Parsed


class ControlledSession(
    ConstraintSession, SavepointSession, CallingSession, BlockSession, Protocol
):
    """What of a session such statements change."""

    transaction_settings: TransactionSettings

    def begin(self, *, read_only: bool | None = None) -> None:
        """Start an explicit transaction; None: the session's settings say if it may write."""

    def commit(self) -> None:
        """End the transaction."""

    def rollback(self) -> None:
        """Undo the transaction."""


@contextmanager
def _chaining(session: ControlledSession, chains: bool) -> Iterator[None]:
    """With ``chains`` a transaction begins behind the block like the one that it ends."""
    if not chains:
        yield
        return
    is_read_only = transaction_of(session, "AND CHAIN").read_only
    yield
    session.begin(read_only=is_read_only)


def run_control(session: ControlledSession, parsed: Parsed) -> StatementOutcome | None:
    """Run a statement about the session; None for any other statement."""
    match parsed.statement:
        case Begin(read_only):
            session.begin(read_only=read_only)
            return StatementOutcome("BEGIN")
        case Commit(chains):
            with _chaining(session, chains):
                session.commit()
            return StatementOutcome("COMMIT")
        case Rollback(None, chains):
            with _chaining(session, chains):
                session.rollback()
            return StatementOutcome("ROLLBACK")
        case Rollback(str()) | Savepoint() | Release():
            outcome = run_savepoint(session, parsed.statement)
            session.transaction_settings.follow(session, parsed.statement)
            return outcome
        case SetSetting():
            outcome = session.transaction_settings.change(session, parsed.statement)
            if session.transaction is not None:
                take_read_only(session.transaction, session.settings, parsed.statement.name)
            return outcome
        case SetConstraints():
            return set_constraints(session, parsed.statement)
        case ShowSetting(name):
            return show_setting(session, name)
        case Discard():
            return run_discard(session, parsed.statement)
        case LockTables():
            return run_lock(session, parsed.statement)
        case DoBlock():
            return run_do(session, parsed.statement)
        case _:
            return None
