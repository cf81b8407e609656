"""Rows of operations that take several transactions: their steps, and how to undo them."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime, timedelta

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import OPERATIONS
from journal.records.statements import by, delete, execute, insert, select, update

KEPT_FOR = timedelta(days=90)
_ADD = insert(OPERATIONS)
_IN_STATE = select(OPERATIONS, (), by("state"), ["began_at", "id"])
_END = update(OPERATIONS, ["state", "changed_at", "error"], by("id", "state"))
_FORGET = delete(OPERATIONS, {"state": exp.EQ, "changed_at": exp.LT})
RUNNING, DONE, UNDONE, UNDO_FAILED = "RUNNING", "DONE", "UNDONE", "UNDO_FAILED"


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation; ``undo`` is a JSON list of steps that undo it, the last done first."""

    id: str
    name: str
    state: str
    user_name: str
    began_at: datetime
    changed_at: datetime
    undo: str
    error: str | None = None


def add_operation(session: RecordSession, row: OperationRow) -> None:
    """Note that an operation begins, before any of its transactions."""
    execute(session, _ADD, list(astuple(row)))
    for state in (DONE, UNDONE):
        execute(session, _FORGET, [state, row.began_at - KEPT_FOR])


def running_operations(session: RecordSession) -> list[OperationRow]:
    """The operations that began and did not end, the oldest first."""
    return [OperationRow(*row) for row in execute(session, _IN_STATE, [RUNNING])]


def end_operation(
    session: RecordSession, operation: str, state: str, at: datetime, error: str | None = None
) -> None:
    """Note how an operation ended, unless that is known."""
    execute(session, _END, [state, at, error, operation, RUNNING])
