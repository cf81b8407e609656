"""Schedules over HTTP: schedule, suspend, resume and touch entities, and where they stand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from gateway.governance import entity_scheduling
from gateway.governance.entity import EntityKind
from gateway.governance.entity_operations import EntityResult
from gateway.governance.service_level_looks import service_levels
from gateway.governance.service_levels import LevelState
from gateway.servers.control.entity_views import ResultsView, results_answer
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from gateway.servers.control.request_bodies import RequestBody

ROUTER = APIRouter(tags=["schedules"], route_class=GovernedRoute)
_KEYS_MAX = 1_000


class KeyView(BaseModel):
    """Which entity."""

    kind: EntityKind
    name: str


class KeysRequest(RequestBody):
    """The entities that are meant."""

    entities: list[KeyView] = Field(min_length=1, max_length=_KEYS_MAX)


class StatusView(BaseModel):
    """Where an entity stands; ``next_at`` is the nominal time of its next instance."""

    kind: EntityKind
    name: str
    version: int
    state: str
    next_at: datetime | None


class LevelView(BaseModel):
    """A mark of a service level that is not met."""

    kind: EntityKind
    entity: str
    nominal_time: datetime
    mark: str
    due_at: datetime
    state: LevelState


@ROUTER.get("/schedules")
def list_schedules(session: SessionOf, kind: EntityKind | None = None) -> list[StatusView]:
    """Where entities stand: SUBMITTED, SCHEDULED or SUSPENDED."""
    found = session.perform(entity_scheduling.entity_status, kind)
    return [
        StatusView(kind=s.kind, name=s.name, version=s.version, state=s.state, next_at=s.next_at)
        for s in found
    ]


@ROUTER.post("/schedules/schedule", response_model=ResultsView)
def schedule(session: SessionOf, wanted: KeysRequest) -> Response:
    """Let instances of entities come to be; a repeat changes nothing."""
    return _changed(session, entity_scheduling.schedule_entities, wanted)


@ROUTER.post("/schedules/suspend", response_model=ResultsView)
def suspend(session: SessionOf, wanted: KeysRequest) -> Response:
    """Let no instance of entities begin; a repeat changes nothing. Safe mode allows it."""
    return _changed(session, entity_scheduling.suspend_entities, wanted)


@ROUTER.post("/schedules/resume", response_model=ResultsView)
def resume(session: SessionOf, wanted: KeysRequest) -> Response:
    """Let suspended entities go on."""
    return _changed(session, entity_scheduling.resume_entities, wanted)


@ROUTER.post("/schedules/touch", response_model=ResultsView)
def touch(session: SessionOf, wanted: KeysRequest) -> Response:
    """Begin a new version of entities with the definition that they have."""
    return _changed(session, entity_scheduling.touch_entities, wanted)


@ROUTER.get("/sla")
def list_levels(
    session: SessionOf,
    kind: EntityKind | None = None,
    name: str | None = None,
    only_missed: bool = False,
) -> list[LevelView]:
    """The marks of service levels that are pending or missed now."""
    found = session.perform(service_levels, kind, name, only_missed=only_missed)
    return [
        LevelView(
            kind=EntityKind(level.kind),
            entity=level.entity,
            nominal_time=level.nominal_time,
            mark=level.mark.value,
            due_at=level.due_at,
            state=level.state,
        )
        for level in found
    ]


def _changed(
    session: SessionOf, change: Callable[..., list[EntityResult]], wanted: KeysRequest
) -> Response:
    keys: list[Any] = [(key.kind, key.name) for key in wanted.entities]
    return results_answer(session.perform(change, keys))
