"""Changes states of instances in the records, one transaction each.

The caller has begun the session and commits it. What an event does not change is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
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
Settled = Mapping[str, int]
"""Up to which fence no attempt of an instance commits any more, by id; see ``settling``."""
STOPPING = frozenset(
    {InstanceEvent.SUSPEND, InstanceEvent.KILL, InstanceEvent.TIME_OUT, InstanceEvent.FAIL}
)
"""What may happen to an instance only if none of its attempts has committed, or will."""
NOTHING_SETTLED: Settled = {}


class UnsettledError(Exception):
    """An attempt of an instance may have committed in another store, or may do so yet."""

    def __init__(self, row: InstanceRow) -> None:
        super().__init__(row.id)
        self.row = row


def changed_instance(
    records: RecordSession,
    row: InstanceRow,
    event: InstanceEvent,
    now: datetime,
    *,
    settled: Settled = NOTHING_SETTLED,
    **more: Any,
) -> InstanceRow | None:
    """Let an event happen to an instance, with further columns; None where it changes nothing.

    An attempt that runs is ended by whatever takes its instance elsewhere. Raises UnsettledError.
    """
    changed = instance_after(row, event, now, settled, **more)
    if changed is None or not instance_rows.change_instance(records, row, changed):
        return None
    if row.state == InstanceState.RUNNING:
        instance_rows.stop_attempt(records, row.id, row.fence, attempt_state(event), now)
    return changed


def instance_after(
    row: InstanceRow,
    event: InstanceEvent,
    now: datetime,
    settled: Settled = NOTHING_SETTLED,
    **more: Any,
) -> InstanceRow | None:
    """The row of an instance after an event, with further columns; None where nothing changes.

    Raises UnsettledError for what stops an instance that has attempts in another store which may
    have committed, unless it is ``settled`` up to its fence.
    """
    old = InstanceState(row.state)
    new = next_state(old, event)
    if new is old:
        return None
    if row.unsettled and event in STOPPING and settled.get(row.id, -1) < row.fence:
        raise UnsettledError(row)
    values: dict[str, Any] = {"state": new.value}
    if new.is_terminal or new is InstanceState.SUSPENDED:
        values["unsettled"] = False
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
        InstanceEvent.FIND_COMMITTED: "SUCCEEDED",
        InstanceEvent.SUCCEED_PARTLY: "PARTIAL",
    }
    return said.get(event, "FAILED")


def apply_to_all(
    records: RecordSession,
    kind: str,
    name: str,
    event: InstanceEvent,
    now: datetime,
    settled: Settled = NOTHING_SETTLED,
) -> list[InstanceRow]:
    """Let an event happen to every instance of an entity that has not ended; those it changed.

    Raises UnsettledError as ``changed_instance`` does.
    """
    states = tuple(state.value for state in LIVE)
    rows = instance_rows.list_instances(
        records, InstanceFilter(entity=name, kind=kind, states=states)
    )
    changed = (changed_instance(records, row, event, now, settled=settled) for row in rows)
    return [row for row in changed if row is not None]
