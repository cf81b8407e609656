"""Changes of the states of instances in the records, by the table of states; one transaction.

The caller has begun the session and commits it. What an event does not change is left as it is.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from gateway.governance.instance_states import InstanceEvent, InstanceState, next_state
from journal.model.store_session import RecordSession
from journal.records import instance_rows
from journal.records.instance_rows import InstanceFilter, InstanceRow

LIVE = (
    InstanceState.WAITING,
    InstanceState.READY,
    InstanceState.RUNNING,
    InstanceState.SUSPENDED,
)
"""The states of instances that have not ended."""


def changed_instance(
    records: RecordSession,
    row: InstanceRow,
    event: InstanceEvent,
    now: datetime,
    **more: Any,
) -> InstanceRow | None:
    """Let an event happen to an instance, with further columns; None where it changes nothing.

    An attempt that runs is ended by whatever takes its instance elsewhere.
    """
    changed = instance_after(row, event, now, **more)
    if changed is None or not instance_rows.change_instance(records, row, changed):
        return None
    if row.state == InstanceState.RUNNING:
        instance_rows.stop_attempt(records, row.id, row.fence, attempt_state(event), now)
    return changed


def instance_after(
    row: InstanceRow, event: InstanceEvent, now: datetime, **more: Any
) -> InstanceRow | None:
    """The row of an instance after an event, with further columns; None where nothing changes."""
    old = InstanceState(row.state)
    new = next_state(old, event)
    if new is old:
        return None
    values: dict[str, Any] = {"state": new.value}
    if new is InstanceState.WAITING:
        values |= {"waiting_since": now, "deadline": None, "missing": (), "not_before": None}
        values |= {"ended_at": None, "error": None, "error_code": None, "check_at": None}
    elif new.is_terminal:
        values |= {"ended_at": now, "missing": ()}
    return replace(row, **(values | more))


def attempt_state(event: InstanceEvent) -> str:
    """What an attempt is whose instance an event takes elsewhere."""
    said = {
        InstanceEvent.SUSPEND: "SUSPENDED",
        InstanceEvent.KILL: "KILLED",
        InstanceEvent.TIME_OUT: "TIMED_OUT",
        InstanceEvent.LOSE_RUNNER: "LOST",
        InstanceEvent.SUCCEED: "SUCCEEDED",
        InstanceEvent.SUCCEED_PARTLY: "PARTIAL",
    }
    return said.get(event, "FAILED")


def apply_to_all(
    records: RecordSession, kind: str, name: str, event: InstanceEvent, now: datetime
) -> list[InstanceRow]:
    """Let an event happen to every instance of an entity that has not ended; those it changed."""
    states = tuple(state.value for state in LIVE)
    rows = instance_rows.list_instances(
        records, InstanceFilter(entity=name, kind=kind, states=states)
    )
    changed = (changed_instance(records, row, event, now) for row in rows)
    return [row for row in changed if row is not None]
