"""Procedures on legal holds: ``CALL system.hold(..)`` and ``CALL system.release(..)``.

They look at the names and conditions a client gives and hand values down to
``journal.erasure.holds``. Releasing tells which jobs waited for the hold: they are run again by
whoever runs jobs.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.procedures.conditions import condition_to_keep, read_condition
from gateway.procedures.earlier_journals import earlier_tables
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.procedures import bind_arguments, find_tables
from gateway.session.outcome import StatementOutcome
from journal.erasure import audit, holds
from journal.erasure.holds import Hold, HoldScope
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query, StatementKind, StatementPlan
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.sql import dialects
from journal.sql.relations import Reader, ident
from journal.transactions.reading import reading
from rewriter.definitions.lasting_conditions import check_lasts

if TYPE_CHECKING:
    from gateway.session.session import Session


def place_hold(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """``system.hold(table, where, subject, reason)``: its id, and what it covers."""
    given = bind_arguments("system.hold", arguments, ("table", "where", "subject", "reason"))
    reason = str(given.get("reason") or "").strip()
    if not reason:
        raise _hold_error("a hold needs a reason", "say why: REASON 'matter 2024-17'")
    table = find_tables(session, str(given["table"]))[0] if given.get("table") else None
    where, subject = given.get("where"), given.get("subject")
    if where is not None and subject is not None:
        raise _hold_error("a hold is for a condition or for a person", "place two holds")
    if table is None and subject is None:
        raise _hold_error(
            "a hold needs a table or a person", "name a table, or FOR SUBJECT email = .."
        )
    named, value = _subject(session, table, str(subject)) if subject else (None, None)
    predicate = _predicate(session, table, where) if where is not None and table else None
    scope = (
        HoldScope.SUBJECT
        if subject
        else HoldScope.PREDICATE
        if where is not None
        else HoldScope.TABLE
    )
    erasure = erasure_of(session)
    journal = erasure.journal
    hashed = None if named is None else holds.subject_hashes(journal, named, value or "")
    hold = Hold(
        id=uuid.uuid4().hex[:12],
        scope=scope,
        table_id=None if table is None else table.id,
        predicate=predicate,
        subject_column=named,
        subject_value=hashed,
        reason=reason,
        placed_by=session.recorded_user,
        placed_at=to_datetime(session.journal.clock.now()),
    )
    by = session.recorded_user or system_user()
    placed = [(hold, table), *_of_earlier(session, hold, table, where)]

    def place(records: StoreSession) -> None:
        for one, of in placed:
            holds.place(records, one)
            detail = {"scope": one.scope.value, "table": None if of is None else str(of.name)}
            audit.record(journal, records, by, "hold.place", one.id, detail)

    erasure.change_holds(place, by)
    return _hold_outcome(session, "hold", hold, table)


def release_hold(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """``system.release(hold)``: what it covered."""
    given = bind_arguments("system.release", arguments, ("hold",))
    at = to_datetime(session.journal.clock.now())
    erasure = erasure_of(session)
    found = holds.find(erasure.journal, str(given.get("hold")))
    by = session.recorded_user or system_user()

    def release(records: StoreSession) -> None:
        # Those of the table's earlier journals were placed with it.
        told = (found.placed_at, found.placed_by)
        beside = [h for h in holds.active_in(records) if (h.placed_at, h.placed_by) == told]
        for one in (found, *(h for h in beside if h.id != found.id)):
            holds.release(records, one, session.recorded_user, at)
            audit.record(erasure.journal, records, by, "hold.release", one.id, {})

    erasure.change_holds(release, by)
    table = session.journal.state.catalog.by_id(found.table_id or 0)
    return _hold_outcome(session, "released", found, table)


def _of_earlier(
    session: Session, hold: Hold, table: Table | None, where: object
) -> Iterator[tuple[Hold, Table]]:
    """The same hold on what a table held before it lost its primary key, journal by journal.

    A condition that cannot be asked there keeps all of it.
    """
    for old in [] if table is None else earlier_tables(session, table):
        made = replace(hold, id=uuid.uuid4().hex[:12], table_id=old.id)
        if hold.scope is HoldScope.PREDICATE:
            try:
                made = replace(made, predicate=_predicate(session, old, where))
            except PalimpsestError:
                made = replace(made, scope=HoldScope.TABLE, predicate=None)
        yield made, old


def _hold_outcome(session: Session, name: str, hold: Hold, table: Table | None) -> StatementOutcome:
    shown = None if table is None else str(table.name)
    rows = {name: [hold.id], "scope": [hold.scope.value], "table": [shown], "reason": [hold.reason]}
    schema = pa.schema([(n, pa.string()) for n in rows])
    return session.executor.table_outcome("CALL", pa.table(rows, schema=schema))


def _subject(session: Session, table: Table | None, text: str) -> tuple[str, str]:
    named, equals, value = text.partition("=")
    named, value = named.strip(), value.strip()
    if not equals or not named or not value:
        raise _hold_error(f'"{text}" names nobody', "write column=value: email=ada@example.org")
    tables = [table] if table is not None else list(session.journal.state.catalog.tables())
    if not any(holds.identifies(t, named) for t in tables):
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'no table has a column "{named}"' if table is None else f"{table.name} has none",
            advice="name the column that holds the person's identifier, or its type in erasures",
        )
    return named, value


def _predicate(session: Session, table: Table, where: object) -> str:
    """The text of a condition (a value or its text), after the store has checked it."""
    condition = where if isinstance(where, exp.Expr) else read_condition(session, str(where))
    kept = condition_to_keep(session, condition, table)
    check_lasts(kept, table, "a hold")
    predicate = holds.physical_predicate(kept, table)
    _first_row(session, table, dialects.stored(predicate))
    return predicate


def changing_holds(session: Session) -> Iterator[tuple[Table, str]]:
    """The active holds whose condition finds other rows for other sessions, and why.

    Conditions are refused as they are placed; holds of earlier versions were taken with any.
    """
    catalog = session.journal.state.catalog
    for hold in holds.all_holds(session.journal):
        table = None if hold.table_id is None else catalog.by_id(hold.table_id)
        if table is None or hold.predicate is None or not hold.is_active:
            continue
        condition = exp.Paren(this=dialects.stored(hold.predicate))
        names = {column.physical: column.name for column in table.columns}
        for used in condition.find_all(exp.Column):
            used.set("this", ident(names.get(used.name, used.name)))
        try:
            check_lasts(condition.this, table, f"hold {hold.id}")
        except PalimpsestError as error:
            yield table, f"{error.message}: release it, and place one that does not"


def check_no_row_held(session: Session, table: Table) -> None:
    """Raise HELD if a hold covers a row of a table that is to leave the gateway's care."""
    concerned = holds.active(session.journal, table)
    whole = holds.whole_table(concerned)
    holders = [] if whole is None else [whole.description()]
    if whole is None:
        for holding in holds.conditions(erasure_of(session).journal, table, concerned):
            if _first_row(session, table, holding.condition):
                holders.append(holding.told)
    if holders:
        raise _hold_error(
            f"{table.name} cannot leave: {holders[0]} keeps rows that anybody could remove then",
            "release the hold first; SELECT * FROM system.holds shows it",
        )


def _first_row(session: Session, table: Table, condition: exp.Expr) -> list[tuple[Any, ...]]:
    """A row version that meets a condition over physical columns, if there is one."""
    with reading(session.journal) as statement:
        rows = Reader(table, statement.committed.tables[table.id].tiers).journal()
        looked = exp.select("*").from_(rows.subquery("t")).where(condition)
        plan = StatementPlan(StatementKind.READ, (), tables=frozenset({table.id}))
        statement.prepare(plan, {})
        statement.session.execute(Query.of(looked.limit(1)), {})
        return statement.session.fetch_many(1)


def _hold_error(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.HELD, message, advice=advice)
