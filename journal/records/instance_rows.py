"""Rows of instances, of the data that each reads and fills, and of their attempts.

Whoever changes the state of an instance says which state and which fence it had: the change counts
only if that still holds. Decides nothing; commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.record_types import RecordType
from journal.records.schema import ATTEMPTS, INSTANCES
from journal.records.statements import (
    RecordStatement,
    by,
    execute,
    insert_rows,
    is_among,
    parts,
    select,
    update,
)

_ONE = select(INSTANCES, (), by("id"))
_HELD = select(INSTANCES, ("state", "fence"), by("id"))
_CHANGED = [n for n in INSTANCES.names if n not in {"id", "kind", "entity", "nominal"}]
_CHANGE = update(INSTANCES, _CHANGED, by("id", "state", "fence"))
_END_ATTEMPT = update(
    ATTEMPTS,
    ["state", "ended_at", "error_code", "error", "log", "metrics"],
    by("instance", "n", "state"),
)
_STOP_ATTEMPT = update(ATTEMPTS, ["state", "ended_at"], by("instance", "n", "state"))
_KEEP_LOG = update(ATTEMPTS, ["log"], by("instance", "n"))
_OF_INSTANCE = select(ATTEMPTS, (), by("instance"), ["n"])
_LATE = select(INSTANCES, (), {"check_at": exp.LTE, "life_cycle": exp.EQ}, ["check_at"])
_MOMENTS = frozenset(c.name for c in INSTANCES.columns if c.type is RecordType.MOMENT)


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """An instance: what it is for, where it stands, and what it consumed and produced (as JSON)."""

    id: str
    kind: str
    entity: str
    nominal: datetime
    life_cycle: str
    state: str
    version: int
    runs: int = 0
    tries: int = 0
    fence: int = 0
    owner: str | None = None
    missing: tuple[str, ...] = ()
    consumed: str | None = None
    produced: str | None = None
    created_at: datetime | None = None
    waiting_since: datetime | None = None
    not_before: datetime | None = None
    started_at: datetime | None = None
    deadline: datetime | None = None
    ended_at: datetime | None = None
    check_at: datetime | None = None
    checks: int = 0
    user_name: str | None = None
    forced: bool = False
    error_code: str | None = None
    error: str | None = None
    profile: str | None = None
    unsettled: bool = False


@dataclass(frozen=True, slots=True)
class LiveInstance:
    """What a look of the scheduler needs to know of an instance that has not ended."""

    id: str
    entity: str
    nominal: datetime
    state: str
    tries: int
    fence: int
    owner: str | None
    missing: tuple[str, ...]
    waiting_since: datetime | None
    not_before: datetime | None
    deadline: datetime | None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt of an instance; ``n`` is the fence that it had, ``metrics`` are JSON."""

    instance: str
    n: int
    run: int
    step: str
    state: str
    owner: str
    started_at: datetime
    ended_at: datetime | None = None
    error_code: str | None = None
    error: str | None = None
    log: tuple[str, ...] = ()
    metrics: str | None = None


@dataclass(frozen=True, slots=True)
class InstanceFilter:
    """Which instances a listing gives, in which order, and which page of them.

    ``entity`` may hold ``%`` for any text; ``since`` and ``until`` are nominal times, both
    included; ``text`` stands somewhere in the id, the error or its code.
    """

    entity: str | None = None
    kind: str | None = None
    life_cycle: str | None = None
    states: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    order: str = "nominal"
    descending: bool = False
    offset: int = 0
    limit: int | None = None


_instance_values = attrgetter(*INSTANCES.names)
_attempt_values = attrgetter(*ATTEMPTS.names)
_LIVE_NAMES = (
    *("id", "entity", "nominal", "state", "tries", "fence", "owner", "missing"),
    *("waiting_since", "not_before", "deadline"),
)
_MISSING = _LIVE_NAMES.index("missing")
_LIVE_MOMENTS = [i for i, name in enumerate(_LIVE_NAMES) if name in _MOMENTS]
_LIVE_STATES = ("WAITING", "READY", "RUNNING")
ORDERS = ("nominal", "entity", "state", "started_at", "ended_at", "created_at")
"""What listings may be ordered by."""


def _instance(row: Sequence[Any]) -> InstanceRow:
    values = dict(zip(INSTANCES.names, row, strict=True))
    for name in _MOMENTS:
        moment = values[name]
        if moment is not None and moment.tzinfo is not UTC:
            values[name] = moment.astimezone(UTC)
    values["missing"] = tuple(values["missing"] or ())
    for name in ("forced", "unsettled"):
        values[name] = bool(values[name])
    return InstanceRow(**values)


def add_instances(session: RecordSession, rows: Sequence[InstanceRow]) -> None:
    """Add instances, which must not be there."""
    insert_rows(session, INSTANCES, [_values(row) for row in rows])


def _values(row: InstanceRow | AttemptRow) -> list[Any]:
    found = _instance_values(row) if isinstance(row, InstanceRow) else _attempt_values(row)
    return [list(v) if isinstance(v, tuple) else v for v in found]


def load_instance(session: RecordSession, instance: str) -> InstanceRow | None:
    """One instance by its id."""
    found = execute(session, _ONE, [instance])
    return _instance(found[0]) if found else None


def load_instances(session: RecordSession, ids: Iterable[str]) -> dict[str, InstanceRow]:
    """Those of some instances that are there, by id."""
    found: dict[str, InstanceRow] = {}
    for part in parts(list(ids)):
        for row in execute(session, _by_ids("select", len(part)), part):
            found[row[0]] = _instance(row)
    return found


def present_instances(session: RecordSession, ids: Sequence[str]) -> set[str]:
    """Which of some ids an instance has."""
    found: set[str] = set()
    for part in parts(ids):
        found.update(row[0] for row in execute(session, _by_ids("id", len(part)), part))
    return found


def put_instances(session: RecordSession, rows: Sequence[InstanceRow]) -> None:
    """Put rows in the place of those with their ids.

    The caller holds the commit lock since it has read what they replace.
    """
    for part in parts([row.id for row in rows]):
        execute(session, _by_ids("delete", len(part)), part)
    add_instances(session, rows)


@lru_cache(maxsize=512)
def _by_ids(what: str, number: int) -> RecordStatement:
    ids, query = is_among("id", number), select(INSTANCES)
    assert isinstance(query.ast, exp.Select)
    if what == "select":
        return RecordStatement(query.ast.where(ids), query.gives, has_many=True)
    if what == "id":
        return RecordStatement(query.ast.select("id", append=False).where(ids), (RecordType.TEXT,))
    table = query.ast.find(exp.Table)
    assert table is not None
    return RecordStatement(exp.delete(table).where(ids))


def change_instance(session: RecordSession, old: InstanceRow, new: InstanceRow) -> bool:
    """Put ``new`` in the place of ``old``; False if its state or fence is another by now."""
    named = dict(zip(INSTANCES.names, _values(new), strict=True))
    values = [named[name] for name in _CHANGED]
    # The rows that an UPDATE has found are told by no session; the lock of the caller holds.
    if execute(session, _HELD, [old.id]) != [(old.state, old.fence)]:
        return False
    execute(session, _CHANGE, [*values, old.id, old.state, old.fence])
    # Without that lock another may have come between: what was found is read again.
    return execute(session, _HELD, [old.id]) == [(new.state, new.fence)]


def list_instances(session: RecordSession, wanted: InstanceFilter) -> list[InstanceRow]:
    """The page of instances that a filter gives."""
    shape, values = _shape(wanted)
    statement = _listing(shape, wanted.order, wanted.descending, wanted.limit is not None)
    if wanted.limit is not None:
        values += [wanted.limit, wanted.offset]
    return [_instance(row) for row in execute(session, statement, values)]


def live_instances(session: RecordSession, life_cycle: str) -> list[LiveInstance]:
    """Those that are WAITING, READY or RUNNING, the oldest nominal time first."""
    found = execute(session, _living(), [life_cycle, *_LIVE_STATES])
    return [_live(row) for row in found]


@lru_cache(maxsize=1)
def _living() -> RecordStatement:
    query = select(INSTANCES, _LIVE_NAMES, by("life_cycle"), ["nominal", "id"])
    assert isinstance(query.ast, exp.Select)
    states = [exp.Placeholder() for _ in _LIVE_STATES]
    is_live = exp.In(this=exp.column("state"), expressions=states)
    return RecordStatement(query.ast.where(is_live), query.gives, has_many=True)


def _live(row: Sequence[Any]) -> LiveInstance:
    values = list(row)
    for place in _LIVE_MOMENTS:
        moment = values[place]
        if moment is not None and moment.tzinfo is not UTC:
            values[place] = moment.astimezone(UTC)
    values[_MISSING] = tuple(values[_MISSING] or ())
    return LiveInstance(*values)


def instances_to_check(
    session: RecordSession, until: datetime, life_cycle: str
) -> list[InstanceRow]:
    """Those that look for late data by a moment."""
    return [_instance(row) for row in execute(session, _LATE, [until, life_cycle])]


def count_states(session: RecordSession, wanted: InstanceFilter) -> list[tuple[str, str, int]]:
    """How many instances there are by entity and state, of those that a filter gives."""
    shape, values = _shape(wanted)
    return [(e, s, int(n)) for e, s, n in execute(session, _counting(shape), values)]


Shape = tuple[tuple[str, str, int], ...]


def _shape(wanted: InstanceFilter) -> tuple[Shape, list[Any]]:
    """What a filter compares, apart from the values, so that statements are built once."""
    found: list[tuple[str, str, int]] = []
    values: list[Any] = []
    if wanted.entity is not None:
        found.append(("entity", "LIKE" if "%" in wanted.entity else "=", 1))
        values.append(wanted.entity)
    for name in ("kind", "life_cycle"):
        if getattr(wanted, name) is not None:
            found.append((name, "=", 1))
            values.append(getattr(wanted, name))
    if wanted.states:
        found.append(("state", "IN", len(wanted.states)))
        values += wanted.states
    for name, how in (("since", ">="), ("until", "<=")):
        if getattr(wanted, name) is not None:
            found.append(("nominal", how, 1))
            values.append(getattr(wanted, name))
    if wanted.text is not None:
        found.append(("text", "LIKE", 3))
        values += [f"%{wanted.text}%"] * 3
    return tuple(found), values


_HOW: dict[str, type[exp.Binary]] = {"=": exp.EQ, ">=": exp.GTE, "<=": exp.LTE, "LIKE": exp.Like}


def _conditions(shape: Shape) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for name, how, number in shape:
        if name == "text":
            columns = [exp.column(n) for n in ("id", "error", "error_code")]
            found.append(
                exp.or_(*[exp.Like(this=c, expression=exp.Placeholder()) for c in columns])
            )
        elif how == "IN":
            found.append(is_among(name, number))
        else:
            found.append(_HOW[how](this=exp.column(name), expression=exp.Placeholder()))
    return found


@lru_cache(maxsize=256)
def _listing(shape: Shape, order: str, descending: bool, is_paged: bool) -> RecordStatement:
    query = select(INSTANCES)
    assert isinstance(query.ast, exp.Select)
    ordered = [
        exp.Ordered(this=exp.column(n), desc=descending)
        for n in dict.fromkeys((order, "nominal", "id"))
    ]
    if not is_paged:
        ast = query.ast.where(*_conditions(shape)).order_by(*ordered)
        return RecordStatement(ast, query.gives, has_many=True)
    # Only what the page is chosen by is sorted; the other columns are read of the page alone.
    page = query.ast.select("id", append=False).where(*_conditions(shape)).order_by(*ordered)
    page.set("limit", exp.Limit(expression=exp.Placeholder()))
    page.set("offset", exp.Offset(expression=exp.Placeholder()))
    on_page = exp.In(this=exp.column("id"), query=page.subquery(copy=False))
    ast = query.ast.where(on_page).order_by(*ordered)
    return RecordStatement(ast, query.gives, has_many=True)


@lru_cache(maxsize=256)
def _counting(shape: Shape) -> RecordStatement:
    outputs = [exp.column("entity"), exp.column("state"), exp.Count(this=exp.Star())]
    counted = select(INSTANCES)
    assert isinstance(counted.ast, exp.Select)
    ast = counted.ast.select(*outputs, append=False).where(*_conditions(shape))
    ast = ast.group_by(exp.column("entity"), exp.column("state"))
    ast = ast.order_by(exp.column("entity"), exp.column("state"))
    return RecordStatement(ast, (RecordType.TEXT, RecordType.TEXT, RecordType.BIGINT))


def add_attempts(session: RecordSession, rows: Sequence[AttemptRow]) -> None:
    """Note that attempts began."""
    insert_rows(session, ATTEMPTS, [_values(row) for row in rows])


def end_attempt(session: RecordSession, row: AttemptRow) -> None:
    """Note how an attempt ended, unless that is known."""
    values = [row.state, row.ended_at, row.error_code, row.error, list(row.log), row.metrics]
    execute(session, _END_ATTEMPT, [*values, row.instance, row.n, "RUNNING"])


def stop_attempt(session: RecordSession, instance: str, n: int, state: str, at: datetime) -> None:
    """Note that an attempt was stopped from outside."""
    execute(session, _STOP_ATTEMPT, [state, at, instance, n, "RUNNING"])


def keep_log(session: RecordSession, instance: str, n: int, log: Sequence[str]) -> None:
    """Keep the log of an attempt, however it ended."""
    execute(session, _KEEP_LOG, [list(log), instance, n])


def attempts_of(session: RecordSession, instance: str) -> list[AttemptRow]:
    """The attempts of an instance, the oldest first."""
    found = []
    for row in execute(session, _OF_INSTANCE, [instance]):
        attempt = AttemptRow(*row)
        found.append(
            replace(
                attempt,
                log=tuple(attempt.log or ()),
                started_at=attempt.started_at.astimezone(UTC),
                ended_at=None if attempt.ended_at is None else attempt.ended_at.astimezone(UTC),
            )
        )
    return found
