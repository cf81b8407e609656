"""Makes instances of scheduled processes whose nominal time has come, many in one transaction.

The caller holds the commit lock, and has the fencing token checked. ``catching_up`` says which
nominal times become instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.governance.catching_up import due_times
from gateway.governance.entity import Entity
from gateway.governance.events import EventName, event_row
from gateway.governance.instance_states import InstanceState
from gateway.governance.process_inputs import (
    DataSpan,
    instance_id,
    instance_inputs,
    instance_outputs,
)
from gateway.governance.process_rules import store_profile
from gateway.governance.scheduler_memory import SchedulerMemory
from journal.model.store_session import StoreSession
from journal.records import event_rows, instance_rows, schedule_rows
from journal.records.event_rows import EventRow
from journal.records.instance_data import DataUse, add_uses
from journal.records.instance_rows import InstanceRow
from journal.records.schedule_rows import ScheduleRow

if TYPE_CHECKING:
    from gateway.session.session import Session

EXECUTION = "EXECUTION"
MADE_AT_ONCE = 40
"""How many instances one look makes, or those of one process; the rest come with the next look."""


def make_instances(
    session: Session,
    records: StoreSession,
    due: Sequence[ScheduleRow],
    memory: SchedulerMemory,
    now: datetime,
) -> bool:
    """Make the instances of due schedules, as many as one look makes; True if more are due."""
    planned: list[tuple[Entity, datetime]] = []
    moved: list[tuple[ScheduleRow, datetime | None]] = []
    has_more = False
    for schedule in due:
        process = memory.process(schedule.name)
        if process is None or schedule.next_at is None:
            continue
        if len(planned) >= MADE_AT_ONCE:
            has_more = True
            break
        found = due_times(process, schedule.next_at, now)
        planned += [(process, moment) for moment in found.nominal]
        moved.append((schedule, found.next_at))
        has_more = has_more or (found.next_at is not None and found.next_at <= now)
    _add_instances(session, records, planned, memory, now)
    schedule_rows.move_schedules(records, moved)
    return has_more


def _add_instances(
    session: Session,
    records: StoreSession,
    planned: Sequence[tuple[Entity, datetime]],
    memory: SchedulerMemory,
    now: datetime,
) -> None:
    ids = [instance_id(process.name, moment) for process, moment in planned]
    there = instance_rows.present_instances(records, ids)
    rows: list[InstanceRow] = []
    uses: list[DataUse] = []
    made: dict[str, list[datetime]] = {}
    for instance, (process, moment) in zip(ids, planned, strict=True):
        if instance in there:
            continue
        rows.append(
            InstanceRow(
                *(instance, "process", process.name, moment, EXECUTION),
                state=InstanceState.WAITING.value,
                version=memory.versions[process.key],
                created_at=now,
                waiting_since=now,
                profile=store_profile(process),
            )
        )
        inputs = instance_inputs(process, memory.known, moment, lambda _n, _m: True).spans
        outputs = instance_outputs(process, memory.known, moment)
        uses += _uses(instance, "input", inputs) + _uses(instance, "output", outputs)
        made.setdefault(process.name, []).append(moment)
    instance_rows.add_instances(records, rows)
    add_uses(records, uses)
    event_rows.add_events(records, [_made_event(session, *one) for one in made.items()])


def _made_event(session: Session, process: str, moments: Sequence[datetime]) -> EventRow:
    return event_row(
        *(session, EventName.INSTANCE_GENERATE, "process", process),
        nominal=moments[-1],
        data={"instances": len(moments)},
    )


def _uses(instance: str, use: str, spans: Sequence[DataSpan]) -> list[DataUse]:
    return [
        DataUse(instance, use, span.dataset, span.first, span.last)
        for span in spans
        if span.first is not None and span.last is not None
    ]
