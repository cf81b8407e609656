"""Submitting entities and scheduling them, all of them or none.

Each entity is submitted and scheduled in transactions of its own; together they are one operation,
which is undone where one of them fails, or its process is killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.governance import entity_checks
from gateway.governance.dataset_policies import commit_with_policy
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import (
    EntityResult,
    live_entities,
    note_change,
    recorded_now,
    submit_entities,
)
from gateway.governance.entity_scheduling import schedule_entities
from gateway.governance.events import EventName
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import Settled, apply_to_all
from gateway.governance.settling import when_settled
from gateway.governance.undoable_operations import (
    UndoStep,
    UndoTable,
    run_undoable,
    undo_abandoned,
)
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import RecordSession
from journal.records import entity_rows, schedule_rows

if TYPE_CHECKING:
    from gateway.session.session import Session

_ORDER = list(EntityKind)
_NAME = "submit and schedule"


@operation
def submit_and_schedule(
    session: Session, advance: Advance, entities: Sequence[Entity]
) -> list[EntityResult]:
    """Put entities on record and schedule those that repeat: all of them, or none.

    Raises what submitting or scheduling one of them refuses; a repeat changes nothing.
    """
    undo_interrupted(session, advance)
    ordered = sorted(entities, key=lambda entity: _ORDER.index(entity.kind))
    steps = [step for entity in ordered for step in _undo_steps(session, entity)]

    def work() -> list[EntityResult]:
        results = []
        for entity in ordered:
            results += _checked(submit_entities(session, advance, [entity]))
        for entity in ordered:
            if "every" in entity.fields:
                results += _checked(schedule_entities(session, advance, [entity.key]))
        return results

    return run_undoable(session, _NAME, steps, UNDO, work)


@operation
def undo_interrupted(session: Session, _advance: Advance) -> list[str]:
    """Undo what a process that is gone has left half done; the ids of these operations."""
    return undo_abandoned(session, UNDO)


def _undo_steps(session: Session, entity: Entity) -> list[UndoStep]:
    """What undoes submitting and scheduling an entity, as far as that changes anything."""
    kind, name = entity.kind.value, entity.name
    with session.journal.reading_session() as records:
        versions = entity_rows.entity_versions(records, kind, name)
        is_scheduled = schedule_rows.load_schedule(records, kind, name) is not None
    is_live = bool(versions) and versions[-1].ended_at is None
    steps = []
    if not is_live:
        version = versions[-1].version + 1 if versions else 1
        steps.append(UndoStep("submit", {"kind": kind, "name": name, "version": version}))
    if not is_scheduled and "every" in entity.fields:
        steps.append(UndoStep("schedule", {"kind": kind, "name": name}))
    return steps


def _checked(results: list[EntityResult]) -> list[EntityResult]:
    for result in results:
        if result.error is not None:
            raise result.error
    return results


def _undo_submit(session: Session, given: Mapping[str, Any]) -> None:
    kind, name, version = given["kind"], given["name"], given["version"]

    def undo(records: RecordSession) -> None:
        versions = entity_rows.entity_versions(records, kind, name)
        if not versions or versions[-1].ended_at is not None:
            return
        if versions[-1].version != version:
            raise PalimpsestError(
                Code.STALE_ENTITY,
                f"{kind} {name} was changed by somebody else meanwhile",
                advice="look at it, and delete it if it is not wanted",
            )
        catalog = session.journal.state.catalog
        entity_checks.check_deletable((EntityKind(kind), name), live_entities(records), catalog)
        entity_rows.end_entity(records, versions[-1], recorded_now(session))
        note_change(session, records, EventName.ENTITY_DELETE, versions[-1])

    commit_with_policy(session, Entity.of(EntityKind(kind), name, {}), undo)


def _undo_schedule(session: Session, given: Mapping[str, Any]) -> None:
    kind, name = given["kind"], given["name"]

    def undo(settled: Settled) -> None:
        with session.journal.exclusive_session() as records:
            if schedule_rows.load_schedule(records, kind, name) is None:
                return
            schedule_rows.remove_schedule(records, kind, name)
            now = recorded_now(session)
            apply_to_all(records, kind, name, InstanceEvent.KILL, now, settled)
            records.commit()

    when_settled(session, undo)


UNDO: UndoTable = {"submit": _undo_submit, "schedule": _undo_schedule}
"""What undoes each step."""
