"""Rows of events: what happened to entities, instances and requests. The newest are kept.

What notifications and metrics are made of. The number of a row is never given again, so that who
reads on from a number misses nothing but what was removed meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import EVENT_COUNTS, EVENTS
from journal.records.record_types import RecordType
from journal.records.statements import (
    RecordStatement,
    Where,
    by,
    delete,
    execute,
    insert,
    insert_rows,
    maximum,
    select,
    update,
)

KEPT_ROWS = 100_000
"""How many events stay."""
KEPT_FOR = timedelta(days=90)
_PRUNE_EVERY = 500
_NEWEST = maximum(EVENTS, "seq")
_FORGET_ROWS = delete(EVENTS, {"seq": exp.LTE})
_FORGET_OLD = delete(EVENTS, {"happened_at": exp.LT, "seq": exp.LT})
_COUNTS = select(EVENT_COUNTS, order=["name", "status"])
_COUNT_OF = select(EVENT_COUNTS, (), by("name", "status"))
_CHANGE_COUNT = update(EVENT_COUNTS, ["events", "duration_us"], by("name", "status"))
_PUT_COUNT = insert(EVENT_COUNTS)
_values = attrgetter(*EVENTS.names)


def _events_by_entity() -> RecordStatement:
    entity, seq = exp.column("entity"), exp.column("seq")
    query = select(EVENTS, (), {"seq": exp.GT}).ast
    assert isinstance(query, exp.Select)
    numbers = [exp.Max(this=seq.copy()), exp.Count(this=exp.Star())]
    query = query.select(entity, *numbers, append=False).group_by(entity.copy())
    return RecordStatement(query, (RecordType.TEXT, RecordType.BIGINT, RecordType.BIGINT))


_BY_ENTITY = _events_by_entity()


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
    (numbered,) = add_events(session, [row])
    return numbered


def add_events(session: RecordSession, rows: Sequence[EventRow]) -> list[EventRow]:
    """The same for several events, in their order."""
    if not rows:
        return []
    newest = newest_event(session)
    numbered = [replace(row, seq=newest + n) for n, row in enumerate(rows, start=1)]
    insert_rows(session, EVENTS, [list(_values(row)) for row in numbered])
    by_name: dict[tuple[str, str], list[EventRow]] = {}
    for row in numbered:
        by_name.setdefault((row.name, row.status), []).append(row)
    for (name, status), some in by_name.items():
        _count(session, name, status, some)
    last = numbered[-1]
    if last.seq // _PRUNE_EVERY > newest // _PRUNE_EVERY:
        execute(session, _FORGET_ROWS, [last.seq - KEPT_ROWS])
        execute(session, _FORGET_OLD, [last.happened_at - KEPT_FOR, last.seq])
    return numbered


def events_by_entity(session: RecordSession, after: int) -> dict[str | None, tuple[int, int]]:
    """Of events with a higher number: by entity the highest, and how many there are."""
    found = execute(session, _BY_ENTITY, [after])
    return {entity: (int(highest), int(number)) for entity, highest, number in found}


def _count(session: RecordSession, name: str, status: str, rows: Sequence[EventRow]) -> None:
    taken_us = sum(row.duration_us or 0 for row in rows)
    known = execute(session, _COUNT_OF, [name, status])
    if known:
        count = EventCount(*known[0])
        more = [count.events + len(rows), count.duration_us + taken_us]
        execute(session, _CHANGE_COUNT, [*more, name, status])
    else:
        execute(session, _PUT_COUNT, [name, status, len(rows), taken_us])


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
