"""Statements on rows that are in memory: looked up there, they ask nothing of the store.

    rows in memory? --no--> the usual way
    plain form?     --yes-> answered here         --no--> computed by the store, on the rows given

Whatever fails here is left to the usual way, which tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.cancellation import Cancellation
from gateway.plan_cache import plan_key
from gateway.results import HeldRows, Outcome, StreamedRows
from gateway.running import Asked, digest
from gateway.time_points import TimePoints, check_present
from journal import lookup, plain_rows
from journal.errors import Code, PalimpsestError
from journal.plain_rows import Row
from journal.plan import Kind, PlainChange, PlainRead, StatementPlan
from journal.protocol import OpenStatement, RowsInMemory
from journal.schema import Table
from journal.stores.base import ResultColumn
from journal.transaction import StatementWrites, Transaction

if TYPE_CHECKING:
    from gateway.executor import Executor

_TOLD = {Code.CANCELLED, Code.SERIALIZATION}


class Recall:
    """An executor's short way; see the module's head."""

    def __init__(self, executor: Executor, rows: RowsInMemory) -> None:
        self._executor = executor
        self._rows = rows

    def is_likely(self, transaction: Transaction, asked: Asked) -> bool:
        """True if the rows that a statement looked up the last time are in memory."""
        usual = plan_key(asked.parsed, asked.settings, asked.dialect, batch=False, swift=True)
        keyed = self._executor.cache.keyed(usual)
        if not keyed:
            return False
        return self._rows.recalled(transaction, keyed, asked.parameters) is not None

    def plan(
        self, statement: OpenStatement, asked: Asked, times: TimePoints
    ) -> tuple[StatementPlan, dict[str, Any]] | None:
        """A plan on rows that are in memory, and its parameters; None if it needs others."""
        plan = self._executor.plan_for(statement, replace(asked, swift=True, recalled=True), times)
        if not plan.asks_nothing:
            return None
        rows = self._rows.recalled(statement.transaction, plan.keyed, asked.parameters)
        if rows is None:
            return None
        given = dict(asked.parameters)
        for place, (table, row) in zip(plan.keyed, rows, strict=True):
            given |= place.bound(row.version, row.values, len(table.stored))
        return plan, given

    def attempt(
        self, transaction: Transaction, asked: Asked, times: TimePoints, cancellation: Cancellation
    ) -> Outcome | None:
        """Run a statement on rows that are in memory; None if that cannot be."""
        if not self.is_likely(transaction, asked):
            return None
        outcome: Outcome | None = None
        statement = self._rows.aside(transaction)
        try:
            found = self.plan(statement, asked, times)
            if found is not None:
                plan, given = found
                if plan.kind is not Kind.READ:
                    check_present(asked.settings, plan)
                    transaction.check_writable(plan.tag)
                outcome = self._plainly(transaction, plan, asked)
                if outcome is None:
                    statement.session.use_zone(asked.settings.timezone)
                    with cancellation.watching(statement.session):
                        outcome = self._executor.run_steps(statement, plan, asked, given)
        except PalimpsestError as error:
            if error.code in _TOLD:
                raise
            return None
        finally:
            if outcome is None or not isinstance(outcome.rows, StreamedRows):
                statement.close()
        return outcome

    def _plainly(
        self, transaction: Transaction, plan: StatementPlan, asked: Asked
    ) -> Outcome | None:
        """What a plan with a plain form does; None if the store must do it."""
        rows = None
        if plan.plain is not None:
            rows = self._rows.recalled(transaction, plan.keyed[:1], asked.parameters)
        if not rows:
            return None
        table, row = rows[0]
        match plan.plain:
            case PlainRead():
                return _shown(table, plan.plain, row)
            case PlainChange() if row.values is None:
                return Outcome(plan.tag, 0)
            case PlainChange():
                self._rows.check_latest(transaction, table, row)
                return self._changed(transaction, plan, table, row, asked)
            case _:
                return None

    def _changed(
        self,
        transaction: Transaction,
        plan: StatementPlan,
        table: Table,
        row: Row,
        asked: Asked,
    ) -> Outcome | None:
        assert isinstance(plan.plain, PlainChange)
        assert row.values is not None
        version = self._executor.journal.clock.next()
        ends = (row.values, row.version, version)
        if plan.plain.values is None:
            rows: list[plain_rows.JournalRow] = [ends, (row.values, version, version)]
        else:
            values = _assigned(table, plan.plain, row.values, asked.parameters)
            if values is None:
                return None
            rows = [ends, (values, version, None)]
        held = plain_rows.in_memory(table, rows)
        transaction.record(StatementWrites(version, ((table.id, held),), (), digest(asked.parsed)))
        return Outcome(plan.tag, 1)


def _assigned(
    table: Table, change: PlainChange, old: tuple[Any, ...], parameters: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """The new values of a row; None where the store has to convert or to refuse one."""
    found = list(old)
    for place, node in change.values or ():
        stored = table.stored[place]
        value = lookup.constant(node, parameters)
        if value is None:
            if stored.not_null:
                return None
        else:
            value = plain_rows.as_stored(stored.type, value)
            if value is None:
                return None
        found[place] = value
    return tuple(found)


def _shown(table: Table, read: PlainRead, row: Row) -> Outcome:
    kinds = [plain_rows.plain_type(table.stored[place].type) for _, place in read.columns]
    plain = [kind for kind in kinds if kind is not None]
    assert len(plain) == len(kinds)
    rows: list[tuple[Any, ...]] = []
    if row.values is not None:
        rows.append(tuple(row.values[place] for _, place in read.columns))
    names = [name for name, _ in read.columns]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = [k.array(c) for c, k in zip(columns, plain, strict=True)]
    held = HeldRows(pa.Table.from_arrays(arrays, names=names), lambda _: rows)
    described = [ResultColumn(n, k.name) for n, k in zip(names, plain, strict=True)]
    return Outcome("SELECT", -1, described, held)
