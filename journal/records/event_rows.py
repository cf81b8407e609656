"""Rows of events: what happened to entities, instances and requests. The newest are kept.

What notifications and metrics are made of. The number of a row is never given again, so that who
reads on from a number misses nothing but what was removed meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace
from datetime import datetime, timedelta

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import EVENT_COUNTS, EVENTS
from journal.records.statements import Where, by, delete, execute, insert, maximum, select

KEPT_ROWS = 100_000
"""How many events stay."""
KEPT_FOR = timedelta(days=90)
_PRUNE_EVERY = 500
_NEWEST, _ADD = maximum(EVENTS, "seq"), insert(EVENTS)
_FORGET_ROWS = delete(EVENTS, {"seq": exp.LTE})
_FORGET_OLD = delete(EVENTS, {"happened_at": exp.LT, "seq": exp.LT})
_COUNTS = select(EVENT_COUNTS, order=["name", "status"])
_COUNT_OF = select(EVENT_COUNTS, (), by("name", "status"))
_UNCOUNT, _PUT_COUNT = delete(EVENT_COUNTS, by("name", "status")), insert(EVENT_COUNTS)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event; ``seq`` is given when it is added, ``data`` is a JSON object."""

    seq: int
    happened_at: datetime
    name: str
    status: str
    entity_kind: str | None
    entity: str | None
    nominal_time: datetime | None
    user_name: str
    duration_us: int | None
    data: str


@dataclass(frozen=True, slots=True)
class EventCount:
    """How many events of a name and status there were, and how long they took together."""

    name: str
    status: str
    events: int
    duration_us: int


def newest_event(session: RecordSession) -> int:
    """The highest number of an event; 0 if there was none."""
    return int(execute(session, _NEWEST)[0][0] or 0)


def add_event(session: RecordSession, row: EventRow) -> EventRow:
    """Add an event in the session's transaction, which holds the commit lock; it is numbered.

    Every some hundred events the oldest go, beyond ``KEPT_ROWS`` and ``KEPT_FOR``.
    """
    numbered = replace(row, seq=newest_event(session) + 1)
    execute(session, _ADD, list(astuple(numbered)))
    _count(session, numbered)
    if numbered.seq % _PRUNE_EVERY == 0:
        execute(session, _FORGET_ROWS, [numbered.seq - KEPT_ROWS])
        execute(session, _FORGET_OLD, [numbered.happened_at - KEPT_FOR, numbered.seq])
    return numbered


def _count(session: RecordSession, row: EventRow) -> None:
    known = execute(session, _COUNT_OF, [row.name, row.status])
    count = EventCount(*known[0]) if known else EventCount(row.name, row.status, 0, 0)
    taken_us = count.duration_us + (row.duration_us or 0)
    execute(session, _UNCOUNT, [row.name, row.status])
    execute(session, _PUT_COUNT, [row.name, row.status, count.events + 1, taken_us])


def load_events(
    session: RecordSession,
    after: int = 0,
    most: int | None = None,
    where: Mapping[str, str] | None = None,
) -> list[EventRow]:
    """Events whose number is higher than ``after``, the oldest first, ``most`` of them.

    ``where`` gives the values of columns that are wanted.
    """
    wanted = dict(where or {})
    conditions: Where = {"seq": exp.GT, **by(*wanted)}
    statement = select(EVENTS, (), conditions, ["seq"], limit=most)
    return [EventRow(*row) for row in execute(session, statement, [after, *wanted.values()])]


def event_counts(session: RecordSession) -> list[EventCount]:
    """The counts of all events by name and status."""
    return [EventCount(*row) for row in execute(session, _COUNTS)]
