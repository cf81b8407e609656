"""Events over HTTP: the latest, or those after a number, for whoever asks again and again."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gateway.governance.event_list import MOST, events_after
from gateway.governance.events import EventName, EventStatus
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from journal.records.event_rows import EventRow

ROUTER = APIRouter(prefix="/events", tags=["events"], route_class=GovernedRoute)

_Subject = Literal["profile", "dataset", "process", "request"]


class EventView(BaseModel):
    """One event."""

    seq: int
    happened_at: datetime
    name: str
    status: EventStatus
    entity_kind: str | None
    entity: str | None
    nominal_time: datetime | None
    user: str
    duration_us: int | None
    data: dict[str, Any]


class EventsView(BaseModel):
    """Events, the oldest first; ask with ``after`` = ``last`` for those that come later."""

    events: list[EventView]
    last: int


@ROUTER.get("")
def list_events(
    session: SessionOf,
    after: Annotated[int | None, Query(ge=0, description="Events behind this number.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
    name: EventName | None = None,
    status: EventStatus | None = None,
    entity_kind: _Subject | None = None,
    entity: str | None = None,
) -> EventsView:
    """The latest events, or those after a number. It takes MAINTAIN or ADMIN."""
    given = {"name": name, "status": status, "entity_kind": entity_kind, "entity": entity}
    where = {column: str(value) for column, value in given.items() if value is not None}
    rows = session.perform(events_after, after, limit, where)
    last = rows[-1].seq if rows else after or 0
    return EventsView(events=[_view(row) for row in rows], last=last)


def _view(row: EventRow) -> EventView:
    return EventView(
        seq=row.seq,
        happened_at=row.happened_at,
        name=row.name,
        status=EventStatus(row.status),
        entity_kind=row.entity_kind,
        entity=row.entity,
        nominal_time=row.nominal_time,
        user=row.user_name,
        duration_us=row.duration_us,
        data=json.loads(row.data),
    )
