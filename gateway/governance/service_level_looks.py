"""Looks at service levels: what is pending and missed now, and an event for each that is missed.

    look --a mark has passed--> row, event    look --what was missed is there--> row says when

Each mark of an instance is told of once, and only while it is still missing. Suspended entities
have no service levels. At most ``INSTANCES_MAX`` of the latest instances of an entity are looked
at, and those that were missed before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.entity_operations import (
    list_entities,
    live_entities,
    recorded_now,
)
from gateway.governance.entity_scheduling import SCHEDULED, check_named
from gateway.governance.events import EventName, record_event
from gateway.governance.instance_states import InstanceState
from gateway.governance.ownership import EntityRight, has_right
from gateway.governance.service_levels import (
    InstanceProgress,
    LevelMark,
    LevelState,
    ServiceLevel,
    marks_of,
    open_levels,
    progress_of,
)
from gateway.session.operations import Advance, operation
from journal.model.store_session import RecordSession, StoreSession
from journal.records import instance_rows, schedule_rows
from journal.records.instance_data import uses_touching
from journal.records.instance_rows import InstanceFilter
from journal.records.schedule_rows import ScheduleRow
from journal.records.service_level_rows import MissedLevel, add_missed, load_missed, meet_missed

if TYPE_CHECKING:
    from gateway.session.session import Session

INSTANCES_MAX = 200
_EVENTS = {
    LevelMark.SHOULD_START: EventName.SLA_LATE_START,
    LevelMark.SHOULD_END: EventName.SLA_LATE_END,
    LevelMark.LOW: EventName.SLA_LOW,
    LevelMark.HIGH: EventName.SLA_HIGH,
}
_DONE = frozenset({InstanceState.SUCCEEDED, InstanceState.PARTIAL})


@operation
def service_levels(
    session: Session,
    _advance: Advance,
    kind: EntityKind | None = None,
    name: str | None = None,
    *,
    only_missed: bool = False,
) -> list[ServiceLevel]:
    """The marks that are pending or missed now, of entities that the session may read.

    Raises UNKNOWN_ENTITY for the name of none.
    """
    if name is not None:
        check_named(list_entities(session, _advance, kind), kind, name)
    with session.journal.reading_session() as records:
        found = _open_now(records, load_missed(records), recorded_now(session))
    return [
        level
        for entity, levels in found
        if kind in (None, entity.kind) and name in (None, entity.name)
        if has_right(session.catalog, session.settings.role, entity, EntityRight.READ)
        for level in levels
        if level.state is LevelState.MISSED or not only_missed
    ]


@operation
def note_service_levels(session: Session, _advance: Advance) -> list[ServiceLevel]:
    """Note and tell of marks that have passed since the last look; these, the oldest first."""
    now = recorded_now(session)
    with session.journal.reading_session() as records:
        known = load_missed(records)
        found = _open_now(records, known, now)
        if not _has_news(found, known):
            return []
    with session.journal.exclusive_session() as records:
        known = load_missed(records)
        found = _open_now(records, known, now)
        noted = _note(session, records, found, known, now)
        records.commit()
    return noted


_OpenLevels = Sequence[tuple[Entity, list[ServiceLevel]]]


def _note(
    session: Session,
    records: StoreSession,
    found: _OpenLevels,
    known: Sequence[MissedLevel],
    now: datetime,
) -> list[ServiceLevel]:
    told = {row.key for row in known}
    missed = {_key(level): level for _, levels in found for level in levels if _is_missed(level)}
    watched = {entity.key for entity, _ in found}
    for row in known:
        is_watched = (EntityKind(row.kind), row.entity) in watched
        if row.met_at is None and is_watched and row.key not in missed:
            meet_missed(records, row, now)
    new = [level for key, level in missed.items() if key not in told]
    for level in new:
        mark = level.mark.value
        add_missed(records, MissedLevel(*_key(level), level.due_at, now))
        record_event(
            *(session, records, _EVENTS[level.mark], level.kind, level.entity),
            nominal=level.nominal_time,
            data={"mark": mark, "due_at": level.due_at.isoformat()},
        )
    return new


def _has_news(found: _OpenLevels, known: Sequence[MissedLevel]) -> bool:
    missed = {_key(level) for _, levels in found for level in levels if _is_missed(level)}
    watched = {entity.key for entity, _ in found}
    unmet = {
        row.key
        for row in known
        if row.met_at is None and (EntityKind(row.kind), row.entity) in watched
    }
    return bool(missed - {row.key for row in known} or unmet - missed)


def _open_now(records: StoreSession, known: Sequence[MissedLevel], now: datetime) -> _OpenLevels:
    """Of each scheduled entity with marks those that are not met."""
    entities = live_entities(records)
    before: dict[EntityKey, set[datetime]] = {}
    for row in known:
        if row.met_at is None:
            key = (EntityKind(row.kind), row.entity)
            before.setdefault(key, set()).add(row.nominal_time)
    found = []
    for schedule in schedule_rows.load_schedules(records):
        entity = entities.get((EntityKind(schedule.kind), schedule.name))
        if entity is None or schedule.state != SCHEDULED or not marks_of(entity):
            continue
        missed = before.get(entity.key, set())
        look = _process_progress if entity.kind is EntityKind.PROCESS else _dataset_progress
        found.append(
            (entity, open_levels(entity, look(records, entity, schedule, missed, now), now))
        )
    return found


_Progress = Mapping[datetime, InstanceProgress]
_Look = Callable[[RecordSession, Entity, ScheduleRow, set[datetime], datetime], _Progress]


def _process_progress(
    records: RecordSession,
    process: Entity,
    schedule: ScheduleRow,
    missed: set[datetime],
    now: datetime,
) -> _Progress:
    """How far the instances of a process have come, those due that nobody has made included."""
    coming = [] if schedule.next_at is None else process.nominal_times.on_from(schedule.next_at)
    due = takewhile(lambda moment: moment <= now, coming)
    found = dict.fromkeys(islice(due, INSTANCES_MAX), InstanceProgress())
    wanted = InstanceFilter(process.name, process.kind.value, descending=True, limit=INSTANCES_MAX)
    rows = instance_rows.list_instances(records, wanted)
    for moment in missed - {row.nominal for row in rows}:
        there = InstanceFilter(process.name, process.kind.value, since=moment, until=moment)
        rows += instance_rows.list_instances(records, there)
    return found | {row.nominal: progress_of(row.state, row.started_at) for row in rows}


def _dataset_progress(
    records: RecordSession,
    dataset: Entity,
    schedule: ScheduleRow,
    missed: set[datetime],
    now: datetime,
) -> _Progress:
    """Which instances of a dataset are there, from when it was scheduled."""
    latest = takewhile(
        lambda moment: moment >= schedule.changed_at, dataset.nominal_times.back_from(now)
    )
    moments = {*islice(latest, INSTANCES_MAX), *missed}
    return {m: InstanceProgress(is_done=_is_filled(records, dataset.name, m)) for m in moments}


def _is_filled(records: RecordSession, dataset: str, moment: datetime) -> bool:
    """Whether an instance of a process has succeeded that fills an instance of a dataset."""
    for use in uses_touching(records, dataset, "output", moment, moment):
        row = instance_rows.load_instance(records, use.instance)
        if row is not None and InstanceState(row.state) in _DONE:
            return True
    return False


def _is_missed(level: ServiceLevel) -> bool:
    return level.state is LevelState.MISSED


def _key(level: ServiceLevel) -> tuple[str, str, datetime, str]:
    return level.kind, level.entity, level.nominal_time, level.mark.value
