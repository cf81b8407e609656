"""Operations on instances: read, suspend, resume, kill and rerun them.

A nominal time alone means one instance, two mean a span. What makes no sense in a state changes
nothing, and the answer is that state. Each change of an instance is a transaction with its event
and its entry in the audit log; what is suspended or killed commits nothing from then on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.audit_entries import enter_audit
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.entity_operations import (
    entity_of,
    last_version,
    live_entities,
    recorded_now,
    unknown_entity,
)
from gateway.governance.events import EventName, record_event
from gateway.governance.instance_making import EXECUTION
from gateway.governance.instance_states import InstanceEvent, InstanceState, next_state
from gateway.governance.instance_transitions import Settled, changed_instance
from gateway.governance.ownership import EntityRight, check_right, has_right
from gateway.governance.planned_instances import PlannedInstance, planned_instances
from gateway.governance.process_inputs import instance_id, shown_moment
from gateway.governance.settling import when_settled
from gateway.session.known_words import check_word
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import StoreSession
from journal.model.system_user import system_user
from journal.records import instance_rows, schedule_rows
from journal.records.entity_rows import entity_versions
from journal.records.instance_data import uses_of, uses_touching
from journal.records.instance_rows import AttemptRow, InstanceFilter, InstanceRow
from journal.records.safe_mode_rows import check_not_safe

if TYPE_CHECKING:
    from gateway.session.session import Session

UNSCHEDULED = "UNSCHEDULED"
"""What a nominal time is that passed without an instance."""
DEPTH_MAX = 50
_ASKED = {
    InstanceEvent.SUSPEND: EventName.INSTANCE_SUSPEND,
    InstanceEvent.RESUME: EventName.INSTANCE_RESUME,
    InstanceEvent.KILL: EventName.INSTANCE_KILL,
    InstanceEvent.RERUN: EventName.INSTANCE_RERUN,
}


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """Where the instance of a nominal time stands; ``row`` is None where there is none yet."""

    nominal: datetime
    state: str
    row: InstanceRow | None = None


@dataclass(frozen=True, slots=True)
class InstanceChange:
    """The state of an instance before and after what somebody asked for; equal: nothing changed."""

    id: str
    nominal: datetime
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TriageStep:
    """An instance on the way to why another one did not succeed, and how far from that it is."""

    depth: int
    id: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class InstanceDependencies:
    """The instances that fill what an instance reads, and those that read what it fills."""

    producers: tuple[InstanceRow, ...]
    consumers: tuple[InstanceRow, ...]


@operation
def instance_status(
    session: Session,
    _advance: Advance,
    process: str,
    start: datetime,
    end: datetime | None = None,
) -> list[InstanceStatus]:
    """Where the instances of a process stand, by nominal time, also those that are not made yet.

    These are WAITING, or UNSCHEDULED where their time has passed. Raises SETTING_VALUE for moments
    outside of the process's time.
    """
    with session.journal.reading_session() as records:
        known = live_entities(records)
        entity = _process(known.get((EntityKind.PROCESS, process)), process)
        check_right(session, entity, EntityRight.READ)
        planned = planned_instances(entity, known, start, end)
        return _statuses(records, process, planned)


@operation
def find_instances(
    session: Session, _advance: Advance, wanted: InstanceFilter
) -> list[InstanceRow]:
    """The instances that a filter gives, in its order, its page of them.

    Raises SETTING_VALUE for words that it cannot have, UNKNOWN_ENTITY for the name of no process.
    """
    wanted = _checked(wanted)
    with session.journal.reading_session() as records:
        _check_named(session, records, wanted.entity)
        if session.catalog.rights_of(session.settings.role).is_admin:
            return instance_rows.list_instances(records, wanted)
        known = live_entities(records)
        found = instance_rows.list_instances(records, replace(wanted, limit=None))
    seen = [row for row in found if _may_read(session, known, row.entity)]
    end = None if wanted.limit is None else wanted.offset + wanted.limit
    return seen[wanted.offset : end]


@operation
def summarize_instances(
    session: Session, _advance: Advance, wanted: InstanceFilter
) -> dict[str, dict[str, int]]:
    """How many instances there are in each state, by entity, of those that a filter gives.

    With both moments of a span UNSCHEDULED counts nominal times without an instance. Raises as
    ``find_instances`` does.
    """
    wanted = _checked(wanted)
    with session.journal.reading_session() as records:
        _check_named(session, records, wanted.entity)
        found: dict[str, dict[str, int]] = {}
        for entity, state, number in instance_rows.count_states(records, wanted):
            found.setdefault(entity, {})[state] = number
        if not session.catalog.rights_of(session.settings.role).is_admin:
            readable = live_entities(records)
            found = {name: n for name, n in found.items() if _may_read(session, readable, name)}
        if wanted.since is None or wanted.until is None or wanted.states:
            return found
        names = [wanted.entity] if wanted.entity and "%" not in wanted.entity else list(found)
        known = live_entities(records)
    for name in names:
        process = known.get((EntityKind.PROCESS, name))
        if process is not None:
            begin = max(wanted.since, process.nominal_times.start)
            times = process.nominal_times.on_from(begin)
            planned = 0
            for moment in times:
                if moment > wanted.until:
                    break
                planned += 1
            counts = found.setdefault(name, {})
            missing = planned - sum(counts.values())
            if missing > 0:
                counts[UNSCHEDULED] = missing
    return found


@operation
def instance_attempts(
    session: Session, _advance: Advance, process: str, nominal: datetime
) -> list[AttemptRow]:
    """The attempts of an instance with their logs, the oldest first."""
    with session.journal.reading_session() as records:
        _check_right(session, records, process, EntityRight.READ)
        row = _instance(records, process, nominal)
        return instance_rows.attempts_of(records, row.id)


@operation
def change_instances(
    session: Session,
    _advance: Advance,
    event: InstanceEvent,
    process: str,
    start: datetime,
    end: datetime | None = None,
    *,
    force: bool = False,
    at: datetime | None = None,
) -> list[InstanceChange]:
    """Suspend, resume, kill or rerun the instances of a process; the states before and after.

    A rerun takes up a job over several tables where it failed; with ``force`` it does all of it
    again. Raises UNKNOWN_INSTANCE where ``start`` alone has no instance, SAFE_MODE, and
    PROCESS_STORE where an instance runs in a store that cannot be asked what it has committed.
    """
    event = InstanceEvent(event)

    def change(settled: Settled) -> list[InstanceChange]:
        span = (process, start, end)
        return _changed_instances(session, event, span, settled, force=force, at=at)

    return when_settled(session, change)


def _changed_instances(
    session: Session,
    event: InstanceEvent,
    span: tuple[str, datetime, datetime | None],
    settled: Settled,
    *,
    force: bool,
    at: datetime | None,
) -> list[InstanceChange]:
    process, start, end = span
    with session.journal.exclusive_session() as records:
        _check_right(session, records, process, EntityRight.RUN)
        if event in {InstanceEvent.RERUN, InstanceEvent.RESUME}:
            check_not_safe(records, f"to {event} instances")
        if end is None:
            rows = [_instance(records, process, start)]
        else:
            wanted = InstanceFilter(entity=process, since=start, until=end)
            rows = instance_rows.list_instances(records, wanted)
        now = at or recorded_now(session)
        changes = [
            _change(session, records, row, (event, now), settled, force=force) for row in rows
        ]
        records.commit()
    return changes


@operation
def triage_instance(
    session: Session, _advance: Advance, process: str, nominal: datetime
) -> list[TriageStep]:
    """Why an instance did not succeed: it, and the instances that should have filled its inputs.

    The deepest come last; those from which nothing goes further are what to look at.
    """
    found: list[TriageStep] = []
    with session.journal.reading_session() as records:
        _check_right(session, records, process, EntityRight.READ)
        todo: list[tuple[int, InstanceRow]] = [(0, _instance(records, process, nominal))]
        seen: set[str] = set()
        while todo:
            depth, row = todo.pop(0)
            if row.id in seen or row.state == InstanceState.SUCCEEDED or depth > DEPTH_MAX:
                continue
            seen.add(row.id)
            found.append(TriageStep(depth, row.id, row.state, _reason(row)))
            todo += [(depth + 1, other) for other in _producers(records, row)]
    return found


@operation
def instance_dependencies(
    session: Session, _advance: Advance, process: str, nominal: datetime
) -> InstanceDependencies:
    """The instances from which one has its data, and those that read what it fills."""
    with session.journal.reading_session() as records:
        _check_right(session, records, process, EntityRight.READ)
        row = _instance(records, process, nominal)
        return InstanceDependencies(
            tuple(_producers(records, row)), tuple(_touching(records, row, "output", "input"))
        )


def _checked(wanted: InstanceFilter) -> InstanceFilter:
    """A filter with its words as they are on record. Raises SETTING_VALUE for what is none."""
    check_word("order of instances", wanted.order, instance_rows.ORDERS)
    states = tuple(check_word("state of an instance", s, InstanceState) for s in wanted.states)
    life_cycle = wanted.life_cycle
    if life_cycle is not None:
        life_cycle = check_word("life cycle of instances", life_cycle, [EXECUTION])
    return replace(wanted, states=states, life_cycle=life_cycle, order=wanted.order.lower())


def _check_named(session: Session, records: StoreSession, name: str | None) -> None:
    """Raise UNKNOWN_ENTITY for a process that there never was, as far as the session may know."""
    if name is None or "%" in name:
        return
    if session.catalog.rights_of(session.settings.role).is_admin and entity_versions(
        records, EntityKind.PROCESS.value, name
    ):
        return
    known = live_entities(records)
    readable = [n for kind, n in known if kind == EntityKind.PROCESS]
    readable = [n for n in readable if _may_read(session, known, n)]
    if name not in readable:
        raise unknown_entity(EntityKind.PROCESS, name, readable)


def _statuses(
    records: StoreSession, process: str, planned: list[PlannedInstance]
) -> list[InstanceStatus]:
    if not planned:
        return []
    span = InstanceFilter(entity=process, since=planned[0].nominal, until=planned[-1].nominal)
    rows = {row.nominal: row for row in instance_rows.list_instances(records, span)}
    schedule = schedule_rows.load_schedule(records, EntityKind.PROCESS.value, process)
    found = []
    for one in planned:
        row = rows.get(one.nominal)
        passed = schedule is not None and (
            schedule.next_at is None or one.nominal < schedule.next_at
        )
        state = UNSCHEDULED if passed else InstanceState.WAITING.value
        found.append(InstanceStatus(one.nominal, state if row is None else row.state, row))
    return found


def _change(
    session: Session,
    records: StoreSession,
    row: InstanceRow,
    asked: tuple[InstanceEvent, datetime],
    settled: Settled,
    *,
    force: bool,
) -> InstanceChange:
    event, now = asked
    before = InstanceState(row.state)
    if next_state(before, event) is before:
        return InstanceChange(row.id, row.nominal, row.state, row.state)
    by = session.recorded_user or system_user()
    more: dict[str, Any] = {}
    if event is InstanceEvent.RERUN:
        is_partial = before in {InstanceState.PARTIAL, InstanceState.FAILED}
        more = {
            "runs": row.runs + 1,
            "tries": 0,
            "user_name": by,
            "forced": force or not is_partial,
            "consumed": None,
        }
    changed = changed_instance(records, row, event, now, settled=settled, **more)
    if changed is None:
        return InstanceChange(row.id, row.nominal, row.state, row.state)
    name, data = _ASKED[event], {"before": row.state, "after": changed.state}
    enter_audit(session, records, name.value, row.id, data)
    record_event(*(session, records, name, row.kind, row.entity), nominal=row.nominal, data=data)
    return InstanceChange(row.id, row.nominal, row.state, changed.state)


def _may_read(session: Session, known: KnownEntities, process: str) -> bool:
    entity = known.get((EntityKind.PROCESS, process))
    role = session.settings.role
    return entity is not None and has_right(session.catalog, role, entity, EntityRight.READ)


def _check_right(session: Session, records: StoreSession, process: str, right: EntityRight) -> None:
    """Raise PRIVILEGE where the session lacks a right on a process, also on a deleted one."""
    entity = entity_of(last_version(records, EntityKind.PROCESS, process))
    check_right(session, entity, right)


def _instance(records: StoreSession, process: str, nominal: datetime) -> InstanceRow:
    found = instance_rows.load_instance(records, instance_id(process, nominal))
    if found is None:
        raise PalimpsestError(
            Code.UNKNOWN_INSTANCE,
            f"process {process} has no instance at {shown_moment(nominal)}",
            advice="palimpsest instance list shows those that there are",
        )
    return found


def _process(entity: Entity | None, name: str) -> Entity:
    if entity is None:
        raise unknown_entity(EntityKind.PROCESS, name)
    return entity


def _producers(records: StoreSession, row: InstanceRow) -> list[InstanceRow]:
    return _touching(records, row, "input", "output")


def _touching(records: StoreSession, row: InstanceRow, own: str, other: str) -> list[InstanceRow]:
    """The instances whose data of one use is what this one has of another."""
    found: dict[str, None] = {}
    for use in uses_of(records, [row.id]).get(row.id, ()):
        if use.use == own:
            span = (use.first_at, use.last_at)
            for touching in uses_touching(records, use.dataset, other, *span):
                found[touching.instance] = None
    loaded = (instance_rows.load_instance(records, name) for name in found if name != row.id)
    return [one for one in loaded if one is not None]


def _reason(row: InstanceRow) -> str:
    if row.error is not None:
        return f"{row.error_code or ''} {row.error}".strip()
    if row.missing:
        return f"waits for {', '.join(row.missing)}"
    return row.state.lower().replace("_", " ")


def instance_objects(rows: Iterable[InstanceRow]) -> list[dict[str, Any]]:
    """Instances as JSON has them."""
    return [
        {
            "id": row.id,
            "entity": row.entity,
            "nominal": row.nominal.isoformat(),
            "life_cycle": row.life_cycle,
            "state": row.state,
            "version": row.version,
            "attempts": row.fence,
            "profile": row.profile,
            "missing": list(row.missing),
            "started_at": None if row.started_at is None else row.started_at.isoformat(),
            "ended_at": None if row.ended_at is None else row.ended_at.isoformat(),
            "error_code": row.error_code,
            "error": row.error,
        }
        for row in rows
    ]
