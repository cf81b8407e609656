"""What a session gives every statement besides the client's values: who acts, and what time it is.

In the dialects of DuckDB and PostgreSQL ``now()`` is the moment at which the transaction began, in
the others that of the statement.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

from gateway.session.roles import RoleSession, acting_user
from journal.model.plan import P_NOW, P_STATEMENT_TIME, P_USER
from rewriter.dialect_semantics import DIALECTS

_OF_TRANSACTION = frozenset({"duckdb", "postgres"})


class SessionClock:
    """When a session's transaction and its statement began."""

    def __init__(self) -> None:
        self.statement = self.transaction = datetime.now(UTC)

    def begin(self, *, continues: bool) -> None:
        """A statement begins, and a transaction with it unless it ``continues`` one."""
        self.statement = datetime.now(UTC)
        if not continues:
            self.transaction = self.statement

    def begin_transaction(self) -> None:
        """A transaction begins, with the statement that runs or after another one in it."""
        self.transaction = datetime.now(UTC)


class TimedSession(RoleSession, Protocol):
    """What of a session says who acts, and when."""

    dialect: str
    clock: SessionClock


def own_parameters(session: TimedSession) -> dict[str, Any]:
    """The parameters of a statement that are the session's."""
    clock = session.clock
    is_shared = DIALECTS.get(session.dialect) in _OF_TRANSACTION
    now = clock.transaction if is_shared else clock.statement
    return {P_USER: acting_user(session), P_NOW: now, P_STATEMENT_TIME: clock.statement}
