"""Service levels: by when an instance should have started, ended, or its data be there. Pure.

    sla: {should_start: 1 HOUR, should_end: 3 HOURS, low: 2 HOURS, high: 4 HOURS}

Each length counts from the nominal time. ``low`` is the mark of danger, ``high`` that at which the
instance counts as missed; a process meets both, and ``should_end``, by succeeding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from gateway.governance.entity import Entity
from gateway.governance.instance_states import InstanceState
from journal.model.duration import Duration
from journal.model.lazy_dataclass import dataclass


class LevelMark(StrEnum):
    """A mark, as definitions call it."""

    SHOULD_START = "should_start"
    SHOULD_END = "should_end"
    LOW = "low"
    HIGH = "high"


class LevelState(StrEnum):
    """Where a mark stands: what it asks for is not there yet, or was not there in time."""

    PENDING = "PENDING"
    MISSED = "MISSED"


@dataclass(frozen=True, slots=True)
class InstanceProgress:
    """How far an instance has come."""

    is_started: bool = False
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """One mark of one instance that is not met."""

    kind: str
    entity: str
    nominal_time: datetime
    mark: LevelMark
    due_at: datetime
    state: LevelState


_DONE = frozenset({InstanceState.SUCCEEDED, InstanceState.PARTIAL})


def marks_of(entity: Entity) -> dict[LevelMark, Duration]:
    """The marks of an entity, in the order in which they stand above."""
    given: Mapping[str, str] = entity.fields.get("sla", {})
    return {mark: Duration.parse(given[mark]) for mark in LevelMark if mark in given}


def progress_of(state: str, started_at: datetime | None) -> InstanceProgress:
    """How far an instance of a process has come, by its state and when it last started.

    One that has failed was started, and is not done; one that waits to be run again is neither.
    """
    found = InstanceState(state)
    is_begun = found is InstanceState.RUNNING or found.is_terminal
    return InstanceProgress(is_begun and started_at is not None, found in _DONE)


def open_levels(
    entity: Entity, progress: Mapping[datetime, InstanceProgress], now: datetime
) -> list[ServiceLevel]:
    """The marks that are not met, of instances whose nominal time has come, the oldest first."""
    return [
        level
        for nominal in sorted(progress)
        if nominal <= now
        for level in _levels_at(entity, nominal, progress[nominal], now)
    ]


def _levels_at(
    entity: Entity, nominal: datetime, progress: InstanceProgress, now: datetime
) -> Iterable[ServiceLevel]:
    for mark, length in marks_of(entity).items():
        is_met = progress.is_started if mark is LevelMark.SHOULD_START else progress.is_done
        if not (is_met or progress.is_done):
            due = length.after(nominal)
            state = LevelState.MISSED if due <= now else LevelState.PENDING
            yield ServiceLevel(entity.kind.value, entity.name, nominal, mark, due, state)
