"""Operations of several transactions that happen whole or not at all.

    noted with what undoes it --> steps --> DONE
                                   | error, or whoever ran it is gone
                                   v
                                 undone in reverse --> UNDONE, or UNDO_FAILED with an event

What undoes a step is noted before the first step begins, and does nothing where the step was not
done. So whoever comes after a kill, at any moment, undoes all of them. An operation that runs holds
a lock by its name, which ends with its process: nobody undoes what is still under way.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from gateway.governance.events import EventName, EventStatus, record_event
from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records.operation_rows import (
    DONE,
    RUNNING,
    UNDO_FAILED,
    UNDONE,
    OperationRow,
    add_operation,
    end_operation,
    running_operations,
)

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.operations")
T = TypeVar("T")
Undo = Callable[["Session", Mapping[str, Any]], None]
"""Undoes a step by its arguments; does nothing where the step was not done, or is undone."""


@dataclass(frozen=True, slots=True)
class UndoStep:
    """What undoes one step: a name among those of ``UndoTable``, and arguments of JSON."""

    name: str
    arguments: Mapping[str, Any]


UndoTable = Mapping[str, Undo]
"""What the names of steps mean."""


def run_undoable(
    session: Session, name: str, steps: Sequence[UndoStep], table: UndoTable, work: Callable[[], T]
) -> T:
    """Do ``work``, which takes the steps in this order; whatever it raises leaves nothing done.

    Where undoing fails as well, an event tells people, and what ``work`` raised is raised.
    """
    undo = [[step.name, dict(step.arguments)] for step in reversed(steps)]
    now, by = _now(session), session.recorded_user or system_user()
    row = OperationRow(uuid.uuid4().hex[:12], name, RUNNING, by, now, now, json.dumps(undo))
    with session.journal.exclusive(_lock_of(row)) as is_mine:
        assert is_mine, "the name is new"
        with session.journal.exclusive_session() as records:
            add_operation(records, row)
            records.commit()
        try:
            done = work()
        except BaseException as error:
            kind = type(error).__name__
            _undo(
                session, row, table, error.recorded if isinstance(error, PalimpsestError) else kind
            )
            raise
        _end(session, row, DONE)
    return done


def undo_abandoned(session: Session, table: UndoTable) -> list[str]:
    """Undo operations whose process is gone; the ids of those that were undone."""
    with session.journal.reading_session() as records:
        found = running_operations(records)
    undone = []
    for row in found:
        with session.journal.exclusive(_lock_of(row)) as is_mine:
            if not is_mine:
                continue
            with session.journal.reading_session() as records:
                still = {other.id for other in running_operations(records)}
            if row.id in still and _undo(session, row, table, "whoever ran it is gone"):
                undone.append(row.id)
    return undone


def _undo(session: Session, row: OperationRow, table: UndoTable, why: str) -> bool:
    """Undo every step; False where one could not be, of which an event tells."""
    failed: list[str] = []
    for name, arguments in json.loads(row.undo):
        try:
            with failures():
                table[name](session, arguments)
        except PalimpsestError as error:
            failed.append(f"{name}: {error.recorded}")
    told = "; ".join(failed) or None
    data = {"operation": row.name, "id": row.id, "why": why[:500]}
    if failed:
        _LOG.error("operation %s (%s) could not be undone: %s", row.id, row.name, told)
        _end(session, row, UNDO_FAILED, told, {**data, "error": told})
        return False
    _end(session, row, UNDONE, why, data)
    return True


def _end(
    session: Session,
    row: OperationRow,
    state: str,
    error: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    with session.journal.exclusive_session() as records:
        end_operation(records, row.id, state, _now(session), error)
        if state != DONE:
            is_failed = state == UNDO_FAILED
            name = EventName.ROLLBACK_FAILED if is_failed else EventName.ROLLED_BACK
            status = EventStatus.FAILED if is_failed else EventStatus.SUCCEEDED
            record_event(session, records, name, None, None, status=status, data=data)
        records.commit()


def _lock_of(row: OperationRow) -> str:
    return f"op:{row.id}"


def _now(session: Session) -> datetime:
    return to_datetime(session.journal.clock.now())
