"""Operations on entities: submit, update, delete, list, look up, and read old versions.

Each change is one transaction of the records, with its entry in the audit log, so that a kill at
any moment leaves an entity as it was before or after. A request for several entities is as many
changes; each has its own result, and a repeat changes only those that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from gateway.governance import entity_checks
from gateway.governance.administration import is_administrator
from gateway.governance.audit_entries import enter_audit
from gateway.governance.dataset_policies import commit_with_policy
from gateway.governance.declared_checks import check_declared, check_late_data
from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.events import EventName, noting_failure, record_event, record_failure
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import Settled, apply_to_all
from gateway.governance.ownership import EntityRight, check_right, has_right, owned
from gateway.governance.planned_instances import PlannedInstance, planned_instances
from gateway.governance.profile_updates import check_move, moves
from gateway.governance.settling import when_settled
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.spelling import spelling_hint
from journal.model.store_session import RecordSession, StoreSession
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records import entity_rows, schedule_rows
from journal.records.entity_rows import EntityRow
from journal.records.safe_mode_rows import check_not_safe, safe_mode_now
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session

_ORDER = list(EntityKind)


@dataclass(frozen=True, slots=True)
class EntityResult:
    """What became of one entity of a request.

    ``outcome`` is VALID, SUBMITTED, UPDATED, DELETED, SCHEDULED, SUSPENDED, TOUCHED,
    UNCHANGED or FAILED; ``state`` is that of the schedule; ``error`` says why it
    failed. ``version`` counts the definitions from 1; None where there is none.
    """

    kind: EntityKind
    name: str
    outcome: str
    version: int | None = None
    error: PalimpsestError | None = None
    state: str | None = None


@operation
def validate_entities(
    session: Session, _advance: Advance, entities: Sequence[Entity]
) -> list[EntityResult]:
    """Check entities as ``submit_entities`` and ``update_entities`` do, and change nothing."""
    with session.journal.reading_session() as records:
        known = live_entities(records)

    def check(entity: Entity) -> EntityResult:
        old = known.get(entity.key)
        wanted = _declared(session, entity, old)
        if old is None:
            entity_checks.check_new(wanted, known)
        else:
            check_right(session, old, EntityRight.CHANGE)
            entity_checks.check_change(old, wanted, known)
        _check_references(session, wanted, known)
        _check_late(session, wanted, known)
        known[wanted.key] = wanted
        return EntityResult(entity.kind, entity.name, "VALID")

    return [_attempted(entity, check) for entity in _in_order(entities)]


@operation
def submit_entities(
    session: Session, _advance: Advance, entities: Sequence[Entity]
) -> list[EntityResult]:
    """Put new entities on record; a repeat changes nothing. One with another definition fails."""
    return _each(session, EventName.ENTITY_SUBMIT, entities, _submit)


@operation
def update_entities(
    session: Session,
    _advance: Advance,
    entities: Sequence[Entity],
    expected_version: int | None = None,
) -> list[EntityResult]:
    """End the definitions of entities now, and let new ones count from now on.

    One that has not the ``expected_version`` fails with STALE_ENTITY.
    """
    change = partial(_update, expected_version=expected_version)
    return _each(session, EventName.ENTITY_UPDATE, entities, change)


@operation
def delete_entity(
    session: Session,
    _advance: Advance,
    kind: EntityKind,
    name: str,
    expected_version: int | None = None,
) -> EntityResult:
    """Let an entity count no more; its definitions stay readable. A repeat changes nothing.

    Raises DEPENDENT_OBJECTS, naming them, where others refer to it, and STALE_ENTITY where it has
    not the ``expected_version``.
    """
    with noting_failure(session, EventName.ENTITY_DELETE, kind.value, name):
        return _delete(session, kind, name, expected_version)


def _delete(
    session: Session, kind: EntityKind, name: str, expected_version: int | None
) -> EntityResult:
    def change(records: RecordSession, settled: Settled) -> EntityResult:
        check_not_safe(records, "to delete entities")
        last = last_version(records, kind, name)
        check_right(session, entity_of(last), EntityRight.CHANGE)
        if last.ended_at is not None:
            return EntityResult(kind, name, "UNCHANGED", last.version)
        _check_version(last, expected_version)
        entity_checks.check_deletable(
            (kind, name), live_entities(records), session.journal.state.catalog
        )
        now = recorded_now(session)
        entity_rows.end_entity(records, last, now)
        schedule_rows.remove_schedule(records, last.kind, name)
        apply_to_all(records, last.kind, name, InstanceEvent.KILL, now, settled)
        note_change(session, records, EventName.ENTITY_DELETE, last)
        return EntityResult(kind, name, "DELETED", last.version)

    def delete(settled: Settled) -> EntityResult:
        deleted = Entity.of(kind, name, {})
        return commit_with_policy(session, deleted, lambda records: change(records, settled))

    return when_settled(session, delete)


@operation
def list_entities(session: Session, _advance: Advance, kind: EntityKind | None) -> list[EntityRow]:
    """The definitions that count, of one kind or all."""
    with session.journal.reading_session() as records:
        found = [row for row in entity_rows.load_entities(records) if row.ended_at is None]
    wanted = [row for row in found if kind is None or row.kind == kind]
    wanted = [row for row in wanted if _may_read(session, entity_of(row))]
    return sorted(wanted, key=lambda row: (_ORDER.index(EntityKind(row.kind)), row.name))


@operation
def entity_history(
    session: Session, _advance: Advance, kind: EntityKind, name: str
) -> list[EntityRow]:
    """Every definition of an entity, the oldest first, also after it was deleted."""
    with session.journal.reading_session() as records:
        last = last_version(records, kind, name)
        check_right(session, entity_of(last), EntityRight.READ)
        return entity_rows.entity_versions(records, kind, name)


@operation
def entity_dependencies(
    session: Session, _advance: Advance, kind: EntityKind, name: str
) -> tuple[list[Entity], list[Entity]]:
    """What an entity refers to, and what refers to it, both also through others."""
    key = (kind, name)
    _, known = readable_entity(session, key)
    found = entity_checks.references(key, known), entity_checks.dependents(key, known)
    on, by = ([one for one in some if _may_read(session, one)] for some in found)
    return on, by


@operation
def process_instances(
    session: Session, _advance: Advance, name: str, start: datetime, end: datetime | None
) -> list[PlannedInstance]:
    """The instances of a process by their nominal times; see ``planned_instances``."""
    process, known = readable_entity(session, (EntityKind.PROCESS, name))
    return planned_instances(process, known, start, end)


def _each(
    session: Session,
    name: EventName,
    entities: Sequence[Entity],
    change: Callable[[Session, Entity], EntityResult],
) -> list[EntityResult]:
    """Change entities one by one, those that others refer to first; failures become events."""
    results: list[EntityResult] = []
    for entity in _in_order(entities):
        result = _attempted(entity, lambda one: change(session, one))
        if result.error is not None:
            record_failure(session, name, entity.kind.value, entity.name, result.error)
        results.append(result)
    return results


def _in_order(entities: Sequence[Entity]) -> list[Entity]:
    return sorted(entities, key=lambda e: _ORDER.index(e.kind))


def _attempted(entity: Entity, change: Callable[[Entity], EntityResult]) -> EntityResult:
    """What a change comes to, its error among it; raises PRIVILEGE."""
    try:
        return change(entity)
    except PalimpsestError as error:
        if error.code is Code.PRIVILEGE:
            raise
        return EntityResult(entity.kind, entity.name, "FAILED", error=error)


def _submit(session: Session, entity: Entity) -> EntityResult:
    wanted = _declared(session, entity, None)

    def change(records: RecordSession) -> EntityResult:
        check_not_safe(records, "to submit entities")
        versions = entity_rows.entity_versions(records, wanted.kind.value, wanted.name)
        if versions and versions[-1].ended_at is None:
            if entity_of(versions[-1]) == wanted:
                return EntityResult(wanted.kind, wanted.name, "UNCHANGED", versions[-1].version)
            raise PalimpsestError(
                Code.DUPLICATE_ENTITY,
                f"{entity} exists already, with another definition",
                advice="update it, or choose another name",
            )
        referenced = _referenced(records, wanted)
        entity_checks.check_new(wanted, referenced)
        _check_references(session, wanted, referenced)
        _check_late(session, wanted, referenced)
        row = _add(session, records, wanted, len(versions) + 1, EventName.ENTITY_SUBMIT)
        return EntityResult(wanted.kind, wanted.name, "SUBMITTED", row.version)

    return commit_with_policy(session, wanted, change)


def _update(session: Session, entity: Entity, *, expected_version: int | None) -> EntityResult:
    resolved = _resolved(session, entity)

    def change(records: RecordSession) -> EntityResult:
        last, known = live_version(records, *entity.key), live_entities(records)
        check_right(session, entity_of(last), EntityRight.CHANGE)
        wanted = owned(session, resolved, entity_of(last))
        _check_references(session, wanted, known)
        _check_version(last, expected_version)
        _check_time_to_update(session, records, entity_of(last), wanted, known)
        if entity_of(last) == wanted:
            return EntityResult(wanted.kind, wanted.name, "UNCHANGED", last.version)
        entity_checks.check_change(entity_of(last), wanted, known)
        _check_late(session, wanted, known)
        entity_rows.end_entity(records, last, recorded_now(session))
        _follow_schedule(records, wanted, recorded_now(session))
        row = _add(session, records, wanted, last.version + 1, EventName.ENTITY_UPDATE)
        return EntityResult(wanted.kind, wanted.name, "UPDATED", row.version)

    return commit_with_policy(session, resolved, change)


def _follow_schedule(records: RecordSession, entity: Entity, now: datetime) -> None:
    """Let the next instance of a scheduled process be one that its new definition has."""
    schedule = schedule_rows.load_schedule(records, entity.kind.value, entity.name)
    if schedule is not None and entity.kind is EntityKind.PROCESS:
        coming = next(entity.nominal_times.on_from(schedule.next_at or now), None)
        schedule_rows.move_schedule(records, schedule.kind, schedule.name, coming)


def touch_version(session: Session, kind: EntityKind, name: str) -> int:
    """Begin a new version of an entity with the definition that it has; its number."""
    with session.journal.exclusive_session() as records:
        check_not_safe(records, "to touch entities")
        last, known = live_version(records, kind, name), live_entities(records)
        entity = entity_of(last)
        check_right(session, entity, EntityRight.CHANGE)
        entity_checks.check_change(entity, entity, known)
        entity_rows.end_entity(records, last, recorded_now(session))
        version = _add(session, records, entity, last.version + 1, EventName.ENTITY_TOUCH).version
        records.commit()
        return version


def _check_version(row: EntityRow, expected: int | None) -> None:
    if expected is not None and expected != row.version:
        raise PalimpsestError(
            Code.STALE_ENTITY,
            f"{row.kind} {row.name} has version {row.version} by now, not {expected}",
            advice="read it again, and change what is there",
        )


def _check_time_to_update(
    session: Session,
    records: RecordSession,
    old: Entity,
    new: Entity,
    known: Mapping[EntityKey, Entity],
) -> None:
    """Raise SAFE_MODE for an update that has to wait, or that only safe mode allows."""
    if not moves(old, new):
        check_not_safe(records, "to update entities")
        return
    found = safe_mode_now(records)
    check_move(
        *(old, new, len(entity_checks.dependents(old.key, known))),
        is_safe=found is not None and found.is_on,
        is_admin=is_administrator(session),
    )


def _declared(session: Session, entity: Entity, old: Entity | None) -> Entity:
    """An entity with what the session and the catalog say of it; raises PRIVILEGE first."""
    return owned(session, _resolved(session, entity), old)


def _may_read(session: Session, entity: Entity) -> bool:
    return has_right(session.catalog, session.settings.role, entity, EntityRight.READ)


def _check_references(session: Session, entity: Entity, known: Mapping[EntityKey, Entity]) -> None:
    """Raise PRIVILEGE for an entity that names one which the session may not read."""
    for key in entity.references:
        if key in known:
            check_right(session, known[key], EntityRight.READ)


def _resolved(session: Session, entity: Entity) -> Entity:
    """The entity with its table's full name; raises for what the store cannot do of it."""
    fields = entity.fields
    if "table" in fields and "profile" not in fields:
        # A table of another store is looked at there.
        (table,) = find_tables(session, fields["table"])
        entity = Entity.of(entity.kind, entity.name, {**fields, "table": str(table.name)})
    check_declared(session, entity)
    return entity


def _check_late(session: Session, entity: Entity, known: Mapping[EntityKey, Entity]) -> None:
    check_late_data(entity, known, committed_state(session.journal).catalog)


def _add(
    session: Session, records: RecordSession, entity: Entity, version: int, action: EventName
) -> EntityRow:
    row = EntityRow(
        entity.kind.value,
        entity.name,
        version,
        entity.definition,
        session.recorded_user or system_user(),
        recorded_now(session),
    )
    entity_rows.add_entity(records, row)
    note_change(session, records, action, row)
    return row


def commit_change(session: Session, records: StoreSession, name: EventName, row: EntityRow) -> None:
    """Record a change of an entity in the audit log and as an event, and commit the session."""
    note_change(session, records, name, row)
    records.commit()


def note_change(session: Session, records: RecordSession, name: EventName, row: EntityRow) -> None:
    """The same without committing."""
    detail = {"version": row.version}
    enter_audit(session, records, name.value, f"{row.kind} {row.name}", detail)
    record_event(session, records, name, row.kind, row.name, data=detail)


def live_entities(records: RecordSession) -> dict[EntityKey, Entity]:
    """The entities that count, by kind and name."""
    rows = entity_rows.load_entities(records)
    return {e.key: e for e in map(entity_of, (row for row in rows if row.ended_at is None))}


def _referenced(records: RecordSession, entity: Entity) -> dict[EntityKey, Entity]:
    """The entities that one names, as far as they are there: of many it names few."""
    found = (entity_rows.entity_versions(records, k.value, name) for k, name in entity.references)
    last = (versions[-1] for versions in found if versions)
    return {e.key: e for e in map(entity_of, (row for row in last if row.ended_at is None))}


def last_version(records: RecordSession, kind: EntityKind, name: str) -> EntityRow:
    """The newest version of an entity, ended or not; raises UNKNOWN_ENTITY where there is none."""
    versions = entity_rows.entity_versions(records, kind.value, name)
    if not versions:
        raise unknown_entity(kind, name)
    return versions[-1]


def live_version(records: RecordSession, kind: EntityKind, name: str) -> EntityRow:
    """The version of an entity that is valid; raises UNKNOWN_ENTITY where there is none."""
    last = last_version(records, kind, name)
    if last.ended_at is not None:
        raise unknown_entity(kind, name)
    return last


def readable_entity(session: Session, key: EntityKey) -> tuple[Entity, dict[EntityKey, Entity]]:
    """An entity that the user may read, and all that there are; raises UNKNOWN_ENTITY."""
    with session.journal.reading_session() as records:
        known = live_entities(records)
    if key not in known:
        raise unknown_entity(*key)
    check_right(session, known[key], EntityRight.READ)
    return known[key], known


def entity_of(row: EntityRow) -> Entity:
    """The entity that a row of the records holds."""
    return Entity(EntityKind(row.kind), row.name, row.definition)


def unknown_entity(kind: EntityKind, name: str, known: Iterable[str] = ()) -> PalimpsestError:
    """The error for a name that no entity of the kind has, with its likes of those ``known``."""
    return PalimpsestError(
        Code.UNKNOWN_ENTITY,
        f"{kind} {name} does not exist",
        advice=f"{spelling_hint(name, known)}palimpsest entity list shows what there is",
    )


def recorded_now(session: Session) -> datetime:
    """The present, as the clock of the journal has it."""
    return to_datetime(session.journal.clock.now())
