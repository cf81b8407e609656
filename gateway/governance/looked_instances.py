"""Records what one look of the scheduler changes, in few statements.

    read the rows once -> apply events to them -> record: rows, attempts and events at once

The caller's session holds the commit lock from the first to the last. An event counts only if the
instance still has the state and the fence that the look saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName, EventStatus, event_row
from gateway.governance.instance_states import InstanceEvent, InstanceState
from gateway.governance.instance_transitions import (
    NOTHING_SETTLED,
    STOPPING,
    Settled,
    attempt_state,
    instance_after,
)
from journal.model.store_session import StoreSession
from journal.records import event_rows, instance_rows
from journal.records.event_rows import EventRow
from journal.records.instance_rows import AttemptRow, InstanceRow, LiveInstance

if TYPE_CHECKING:
    from gateway.session.session import Session


class InstanceChanges:
    """Rows of instances as they are in a transaction, and as they will be.

    ``ids`` are those that may change; ``attempts`` are those that begin. ``settled`` is known of
    attempts in other stores, ``out_of_reach`` are instances that nothing can stop now.
    """

    def __init__(
        self,
        session: Session,
        records: StoreSession,
        ids: Collection[str],
        now: datetime,
        settled: Settled = NOTHING_SETTLED,
        out_of_reach: Collection[str] = (),
    ) -> None:
        self._settled = settled
        self._out_of_reach = out_of_reach
        self._session = session
        self._records = records
        self._now = now
        self._rows = instance_rows.load_instances(records, sorted(ids))
        self._changed: dict[str, InstanceRow] = {}
        self._events: list[EventRow] = []
        self.attempts: list[AttemptRow] = []
        self.stopped: Counter[str] = Counter()
        """How many instances of each process ran before, and do so no more."""

    def current(self, instance: str) -> InstanceRow | None:
        """The row of an instance with what was applied to it; None where it is gone."""
        return self._changed.get(instance, self._rows.get(instance))

    def apply(
        self, seen: LiveInstance | InstanceRow, event: InstanceEvent, **more: Any
    ) -> InstanceRow | None:
        """Let an event happen, with further columns; the new row, None where it changes nothing.

        Raises UnsettledError as ``instance_after`` does.
        """
        row = self._unchanged_row(seen)
        if row is None or (event in STOPPING and row.id in self._out_of_reach):
            return None
        changed = instance_after(row, event, self._now, self._settled, **more)
        if changed is None:
            return None
        if row.state == InstanceState.RUNNING:
            state = attempt_state(event)
            instance_rows.stop_attempt(self._records, row.id, row.fence, state, self._now)
            self.stopped[row.entity] += 1
        self._changed[row.id] = changed
        return changed

    def set_missing(self, seen: LiveInstance, missing: tuple[str, ...]) -> None:
        """Note what an instance lacks."""
        row = self._unchanged_row(seen)
        if row is not None:
            self._changed[row.id] = replace(row, missing=missing)

    def add_timeout(self, row: LiveInstance, missing: tuple[str, ...]) -> None:
        """Add the event of an instance that waited, or ran, for too long."""
        data = {"missing": list(missing)} if missing else {"attempt": row.fence}
        self._events.append(
            event_row(
                *(self._session, EventName.INSTANCE_TIMEOUT, "process", row.entity),
                nominal=row.nominal,
                status=EventStatus.FAILED,
                data=data,
            )
        )

    def record(self) -> None:
        """Put everything on record, in the session's transaction."""
        instance_rows.put_instances(self._records, list(self._changed.values()))
        instance_rows.add_attempts(self._records, self.attempts)
        event_rows.add_events(self._records, self._events)

    def _unchanged_row(self, seen: LiveInstance | InstanceRow) -> InstanceRow | None:
        row = self.current(seen.id)
        is_same = row is not None and (row.state, row.fence) == (seen.state, seen.fence)
        return row if is_same else None
