"""Rows of schedules: which entities are scheduled or suspended, and who runs the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.schema import ENTITY_SCHEDULES, SCHEDULER_LEASES
from journal.records.statements import (
    RecordStatement,
    by,
    delete,
    execute,
    insert,
    insert_rows,
    is_among,
    parts,
    select,
    update,
)

_ADD = insert(ENTITY_SCHEDULES)
_ALL = select(ENTITY_SCHEDULES, order=["kind", "name"])
_OF_ONE = select(ENTITY_SCHEDULES, (), by("kind", "name"))
_IS_DUE = {"kind": exp.EQ, "state": exp.EQ, "next_at": exp.LTE}
_REMOVE = delete(ENTITY_SCHEDULES, by("kind", "name"))
_MOVE = update(ENTITY_SCHEDULES, ["next_at"], by("kind", "name"))
_LEASE = select(SCHEDULER_LEASES, (), by("name"))
_ADD_LEASE = insert(SCHEDULER_LEASES)
_values = attrgetter(*ENTITY_SCHEDULES.names)
_TAKE = update(SCHEDULER_LEASES, ["owner", "fence", "taken_at"], by("name"))


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """Where the schedule of an entity stands: SCHEDULED or SUSPENDED, since when and by whom."""

    kind: str
    name: str
    state: str
    next_at: datetime | None
    changed_at: datetime
    user_name: str


def _schedule_row(row: tuple[Any, ...]) -> ScheduleRow:
    kind, name, state, next_at, changed_at, user_name = row
    return ScheduleRow(
        kind,
        name,
        state,
        None if next_at is None else next_at.astimezone(UTC),
        changed_at.astimezone(UTC),
        user_name,
    )


def load_schedules(session: RecordSession) -> list[ScheduleRow]:
    """Every entity that was scheduled."""
    return [_schedule_row(row) for row in execute(session, _ALL)]


def load_schedule(session: RecordSession, kind: str, name: str) -> ScheduleRow | None:
    """The schedule of one entity; None while it is only submitted."""
    found = execute(session, _OF_ONE, [kind, name])
    return _schedule_row(found[0]) if found else None


def due_schedules(
    session: RecordSession, kind: str, state: str, until: datetime, most: int
) -> list[ScheduleRow]:
    """Those of a kind in a state whose next instance is due by a moment, the ``most`` oldest."""
    return [_schedule_row(row) for row in execute(session, _due(most), [kind, state, until])]


@lru_cache(maxsize=8)
def _due(most: int) -> RecordStatement:
    return select(ENTITY_SCHEDULES, (), _IS_DUE, ["next_at", "name"], limit=most)


def put_schedule(session: RecordSession, row: ScheduleRow) -> None:
    """Put the schedule of an entity in the place of the one it had."""
    execute(session, _REMOVE, [row.kind, row.name])
    execute(session, _ADD, list(astuple(row)))


def move_schedule(session: RecordSession, kind: str, name: str, next_at: datetime | None) -> None:
    """Note which instance of an entity is the next to be made."""
    execute(session, _MOVE, [next_at, kind, name])


def move_schedules(
    session: RecordSession, moved: Sequence[tuple[ScheduleRow, datetime | None]]
) -> None:
    """The same for many schedules, which the caller has read under the commit lock."""
    for part in parts(moved):
        kinds = {row.kind for row, _ in part}
        for kind in kinds:
            names = [row.name for row, _ in part if row.kind == kind]
            execute(session, _remove_some(len(names)), [kind, *names])
    added = [replace(row, next_at=next_at) for row, next_at in moved]
    insert_rows(session, ENTITY_SCHEDULES, [list(_values(row)) for row in added])


@lru_cache(maxsize=256)
def _remove_some(number: int) -> RecordStatement:
    removal = delete(ENTITY_SCHEDULES, by("kind")).ast
    assert isinstance(removal, exp.Delete)
    return RecordStatement(removal.where(is_among("name", number)))


def remove_schedule(session: RecordSession, kind: str, name: str) -> None:
    """Let an entity have no schedule."""
    execute(session, _REMOVE, [kind, name])


def take_lease(session: RecordSession, name: str, owner: str, at: datetime) -> int:
    """Be the one who runs what a lease is for; the fencing token, above all that there were."""
    found = execute(session, _LEASE, [name])
    fence = 1 if not found else int(found[0][2]) + 1
    if found:
        execute(session, _TAKE, [owner, fence, at, name])
    else:
        execute(session, _ADD_LEASE, [name, owner, fence, at])
    return fence


def lease_fence(session: RecordSession, name: str) -> int:
    """The highest fencing token of a lease; 0 before the first."""
    found = execute(session, _LEASE, [name])
    return int(found[0][2]) if found else 0
