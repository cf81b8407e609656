"""Rows of instances, of the data that each reads and fills, and of their attempts.

Whoever changes the state of an instance says which state and which fence it had: the change counts
only if that still holds. Decides nothing; commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.record_types import RecordTable, RecordType
from journal.records.schema import ATTEMPTS, INSTANCE_DATA, INSTANCES
from journal.records.statements import (
    RecordStatement,
    by,
    execute,
    insert,
    select,
    update,
)

_ONE = select(INSTANCES, (), by("id"))
_CHANGED = [n for n in INSTANCES.names if n not in {"id", "kind", "entity", "nominal"}]
_CHANGE = update(INSTANCES, _CHANGED, by("id", "state", "fence"))
_BATCH = 200
_ADD_ATTEMPT = insert(ATTEMPTS)
_END_ATTEMPT = update(
    ATTEMPTS,
    ["state", "ended_at", "error_code", "error", "log", "metrics"],
    by("instance", "n", "state"),
)
_STOP_ATTEMPT = update(ATTEMPTS, ["state", "ended_at"], by("instance", "n", "state"))
_KEEP_LOG = update(ATTEMPTS, ["log"], by("instance", "n"))
_OF_INSTANCE = select(ATTEMPTS, (), by("instance"), ["n"])
_USES = select(INSTANCE_DATA, (), by("instance"), ["use", "dataset"])
_TOUCHING = select(
    INSTANCE_DATA,
    (),
    {"dataset": exp.EQ, "use": exp.EQ, "first_at": exp.LTE, "last_at": exp.GTE},
    ["instance"],
)
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


@dataclass(frozen=True, slots=True)
class DataUse:
    """The instances of a dataset, from the first to the last, that an instance reads or fills."""

    instance: str
    use: str
    dataset: str
    first_at: datetime
    last_at: datetime


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


ORDERS = ("nominal", "entity", "state", "started_at", "ended_at", "created_at")
"""What listings may be ordered by."""


def _instance(row: Sequence[Any]) -> InstanceRow:
    values = dict(zip(INSTANCES.names, row, strict=True))
    for name in _MOMENTS:
        if values[name] is not None:
            values[name] = values[name].astimezone(UTC)
    values["missing"] = tuple(values["missing"] or ())
    values["forced"] = bool(values["forced"])
    return InstanceRow(**values)


def add_instances(session: RecordSession, rows: Sequence[InstanceRow]) -> None:
    """Add instances, which must not be there."""
    _add(session, INSTANCES, [_values(row) for row in rows])


def add_data(session: RecordSession, rows: Iterable[DataUse]) -> None:
    """Note what instances read and fill."""
    _add(session, INSTANCE_DATA, [list(astuple(row)) for row in rows])


def _add(session: RecordSession, table: RecordTable, rows: Sequence[list[Any]]) -> None:
    for begin in range(0, len(rows), _BATCH):
        part = rows[begin : begin + _BATCH]
        execute(session, insert(table, len(part)), [v for row in part for v in row])


def _values(row: InstanceRow) -> list[Any]:
    return [list(v) if isinstance(v, tuple) else v for v in astuple(row)]


def load_instance(session: RecordSession, instance: str) -> InstanceRow | None:
    """One instance by its id."""
    found = execute(session, _ONE, [instance])
    return _instance(found[0]) if found else None


def change_instance(session: RecordSession, old: InstanceRow, new: InstanceRow) -> bool:
    """Put ``new`` in the place of ``old``; False if its state or fence is another by now."""
    named = dict(zip(INSTANCES.names, _values(new), strict=True))
    values = [named[name] for name in _CHANGED]
    # The rows that an UPDATE has found are told by no session; the lock of the caller holds.
    now = load_instance(session, old.id)
    if now is None or (now.state, now.fence) != (old.state, old.fence):
        return False
    execute(session, _CHANGE, [*values, old.id, old.state, old.fence])
    # Without that lock another may have come between: what was found is read again.
    after = load_instance(session, old.id)
    return after is not None and (after.state, after.fence) == (new.state, new.fence)


def list_instances(session: RecordSession, wanted: InstanceFilter) -> list[InstanceRow]:
    """The page of instances that a filter gives."""
    shape, values = _shape(wanted)
    statement = _listing(shape, wanted.order, wanted.descending, wanted.limit is not None)
    if wanted.limit is not None:
        values += [wanted.limit, wanted.offset]
    return [_instance(row) for row in execute(session, statement, values)]


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
            holders = [exp.Placeholder() for _ in range(number)]
            found.append(exp.In(this=exp.column(name), expressions=holders))
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
    ast = query.ast.where(*_conditions(shape)).order_by(*ordered)
    if is_paged:
        ast.set("limit", exp.Limit(expression=exp.Placeholder()))
        ast.set("offset", exp.Offset(expression=exp.Placeholder()))
    return RecordStatement(ast, query.gives)


@lru_cache(maxsize=256)
def _counting(shape: Shape) -> RecordStatement:
    outputs = [exp.column("entity"), exp.column("state"), exp.Count(this=exp.Star())]
    counted = select(INSTANCES)
    assert isinstance(counted.ast, exp.Select)
    ast = counted.ast.select(*outputs, append=False).where(*_conditions(shape))
    ast = ast.group_by(exp.column("entity"), exp.column("state"))
    ast = ast.order_by(exp.column("entity"), exp.column("state"))
    return RecordStatement(ast, (RecordType.TEXT, RecordType.TEXT, RecordType.BIGINT))


def uses_of(session: RecordSession, instance: str) -> list[DataUse]:
    """What an instance reads and fills."""
    return [_use(row) for row in execute(session, _USES, [instance])]


def uses_touching(
    session: RecordSession, dataset: str, use: str, first_at: datetime, last_at: datetime
) -> list[DataUse]:
    """Which instances read, or fill, an instance of a dataset between two moments."""
    return [_use(row) for row in execute(session, _TOUCHING, [dataset, use, last_at, first_at])]


def _use(row: Sequence[Any]) -> DataUse:
    instance, use, dataset, first_at, last_at = row
    return DataUse(instance, use, dataset, first_at.astimezone(UTC), last_at.astimezone(UTC))


def add_attempt(session: RecordSession, row: AttemptRow) -> None:
    """Note that an attempt began."""
    values = astuple(row)
    execute(session, _ADD_ATTEMPT, [list(v) if isinstance(v, tuple) else v for v in values])


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
