"""Operations on schedules of entities: schedule, suspend, resume, touch, and status.

    SUBMITTED --schedule--> SCHEDULED --suspend--> SUSPENDED
                                 ^-------resume-------+

An entity without a row of a schedule is SUBMITTED. Each change is one transaction with its entry in
the audit log; of several entities each has its own result, and a repeat changes nothing. Whatever
makes no sense in a state leaves it as it is. No instance runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.governance import entity_checks
from gateway.governance.catching_up import first_nominal, resumed_nominal
from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.entity_operations import (
    EntityResult,
    commit_change,
    entity_of,
    list_entities,
    live_entities,
    live_version,
    recorded_now,
    touch_version,
    unknown_entity,
)
from gateway.governance.events import EventName, noting_failure
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import Settled, apply_to_all
from gateway.governance.ownership import EntityRight, check_right
from gateway.governance.settling import when_settled
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import StoreSession
from journal.model.system_user import system_user
from journal.records import schedule_rows
from journal.records.entity_rows import EntityRow
from journal.records.safe_mode_rows import check_not_safe
from journal.records.schedule_rows import ScheduleRow

if TYPE_CHECKING:
    from gateway.session.session import Session

SUBMITTED, SCHEDULED, SUSPENDED = "SUBMITTED", "SCHEDULED", "SUSPENDED"


@dataclass(frozen=True, slots=True)
class EntityStatus:
    """Where an entity stands; ``next_at`` is the nominal time of its next instance."""

    kind: EntityKind
    name: str
    version: int
    state: str
    next_at: datetime | None
    changed_at: datetime


_Asked = tuple[datetime, Settled]
"""When, and what is known of attempts in other stores."""
_Change = Callable[["Session", StoreSession, EntityRow, ScheduleRow | None, _Asked], str | None]
"""Changes the schedule of an entity in a session; its new state, None where nothing changes."""


@operation
def schedule_entities(
    session: Session,
    _advance: Advance,
    keys: Sequence[EntityKey],
    at: datetime | None = None,
) -> list[EntityResult]:
    """Let processes and datasets have instances from now on; ``catch_up`` says from when.

    ``at`` is the moment that counts as now; None: the clock's. Scheduling what is scheduled, or
    suspended, changes nothing.
    """
    return _each(session, keys, at, EventName.ENTITY_SCHEDULE, _schedule)


@operation
def suspend_entities(
    session: Session,
    _advance: Advance,
    keys: Sequence[EntityKey],
    at: datetime | None = None,
) -> list[EntityResult]:
    """Let scheduled entities have no further instances, and suspend those that have not ended."""
    return _each(session, keys, at, EventName.ENTITY_SUSPEND, _suspend)


@operation
def resume_entities(
    session: Session,
    _advance: Advance,
    keys: Sequence[EntityKey],
    at: datetime | None = None,
) -> list[EntityResult]:
    """Let suspended entities go on, with their instances; ``catch_up`` says what they missed."""
    return _each(session, keys, at, EventName.ENTITY_RESUME, _resume)


@operation
def touch_entities(
    session: Session, _advance: Advance, keys: Sequence[EntityKey]
) -> list[EntityResult]:
    """Begin a new version of entities with the definition that they have.

    What they refer to is checked again, and instances to come run under the new version.
    """

    def touch(kind: EntityKind, name: str) -> EntityResult:
        with noting_failure(session, EventName.ENTITY_TOUCH, kind.value, name):
            return EntityResult(kind, name, "TOUCHED", touch_version(session, kind, name))

    return _results(keys, touch)


def check_named(rows: Iterable[EntityRow], kind: EntityKind | None, name: str) -> None:
    """Raise UNKNOWN_ENTITY for a name that none of some entities has; ``kind``: that was asked."""
    known = [row.name for row in rows]
    if name not in known:
        raise unknown_entity(kind or EntityKind.PROCESS, name, known)


@operation
def entity_status(
    session: Session, _advance: Advance, kind: EntityKind | None = None, name: str | None = None
) -> list[EntityStatus]:
    """Where entities stand: of one kind, of one name, or all."""
    rows = list_entities(session, _advance, kind)
    if name is not None:
        check_named(rows, kind, name)
        rows = [row for row in rows if row.name == name]
    with session.journal.reading_session() as records:
        schedules = {(row.kind, row.name): row for row in schedule_rows.load_schedules(records)}
    return [_status(row, schedules.get((row.kind, row.name))) for row in rows]


def _status(row: EntityRow, schedule: ScheduleRow | None) -> EntityStatus:
    return EntityStatus(
        EntityKind(row.kind),
        row.name,
        row.version,
        SUBMITTED if schedule is None else schedule.state,
        None if schedule is None else schedule.next_at,
        row.began_at if schedule is None else schedule.changed_at,
    )


def _each(
    session: Session,
    keys: Sequence[EntityKey],
    at: datetime | None,
    name: EventName,
    change: _Change,
) -> list[EntityResult]:
    def changed(kind: EntityKind, entity: str) -> EntityResult:
        with noting_failure(session, name, kind.value, entity):
            return change_one(kind, entity)

    def change_one(kind: EntityKind, entity: str) -> EntityResult:
        return when_settled(session, lambda settled: change_settled(kind, entity, settled))

    def change_settled(kind: EntityKind, entity: str, settled: Settled) -> EntityResult:
        with session.journal.exclusive_session() as records:
            if name is not EventName.ENTITY_SUSPEND:
                check_not_safe(records, f"to {name.value.rpartition('.')[2]} entities")
            last = live_version(records, kind, entity)
            check_right(session, entity_of(last), EntityRight.RUN)
            _check_repeats(kind, entity, entity_of(last))
            old = schedule_rows.load_schedule(records, kind.value, entity)
            asked = (at or recorded_now(session), settled)
            state = change(session, records, last, old, asked)
            if state is None:
                before = SUBMITTED if old is None else old.state
                return EntityResult(kind, entity, "UNCHANGED", last.version, state=before)
            commit_change(session, records, name, last)
        return EntityResult(kind, entity, state, last.version, state=state)

    return _results(keys, changed)


def _results(
    keys: Sequence[EntityKey], change: Callable[[EntityKind, str], EntityResult]
) -> list[EntityResult]:
    results: list[EntityResult] = []
    for kind, name in keys:
        try:
            results.append(change(EntityKind(kind), name))
        except PalimpsestError as error:
            if error.code is Code.PRIVILEGE:
                raise
            results.append(EntityResult(EntityKind(kind), name, "FAILED", error=error))
    return results


def _check_repeats(kind: EntityKind, name: str, entity: Entity) -> None:
    if "every" not in entity.fields:
        raise PalimpsestError(
            Code.ENTITY,
            f"{kind} {name} has no instances, so that nothing of it can be scheduled",
            advice="schedule datasets and processes",
        )


def _schedule(
    session: Session,
    records: StoreSession,
    last: EntityRow,
    old: ScheduleRow | None,
    asked: _Asked,
) -> str | None:
    if old is not None:
        return None
    now, _ = asked
    entity, known = entity_of(last), live_entities(records)
    entity_checks.check_new(entity, known)
    next_at = first_nominal(entity, now) if entity.kind is EntityKind.PROCESS else None
    by = session.recorded_user or system_user()
    row = ScheduleRow(last.kind, last.name, SCHEDULED, next_at, now, by)
    schedule_rows.put_schedule(records, row)
    return SCHEDULED


def _suspend(
    session: Session,
    records: StoreSession,
    last: EntityRow,
    old: ScheduleRow | None,
    asked: _Asked,
) -> str | None:
    if old is None or old.state == SUSPENDED:
        return None
    now, settled = asked
    _put_state(session, records, old, SUSPENDED, now)
    apply_to_all(records, last.kind, last.name, InstanceEvent.SUSPEND, now, settled)
    return SUSPENDED


def _resume(
    session: Session,
    records: StoreSession,
    last: EntityRow,
    old: ScheduleRow | None,
    asked: _Asked,
) -> str | None:
    if old is None or old.state == SCHEDULED:
        return None
    now, _ = asked
    entity: Entity = entity_of(last)
    if old.next_at is not None:
        old = replace(old, next_at=resumed_nominal(entity, old.next_at, now))
    _put_state(session, records, old, SCHEDULED, now)
    apply_to_all(records, last.kind, last.name, InstanceEvent.RESUME, now)
    return SCHEDULED


def _put_state(
    session: Session, records: StoreSession, old: ScheduleRow, state: str, now: datetime
) -> None:
    by = session.recorded_user or system_user()
    changed = replace(old, state=state, changed_at=now, user_name=by)
    schedule_rows.put_schedule(records, changed)
