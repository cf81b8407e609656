"""Statements on rows that are in memory: looked up there, they ask nothing of the store.

    rows in memory? --no--> the usual way
    plain form?     --yes-> answered here         --no--> computed by the store, on the rows given

Whatever fails here is left to the usual way, which tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.session.cancellation import Cancellation
from gateway.session.plan_cache import plan_key
from gateway.session.request import StatementRequest, digest
from gateway.session.results import BufferedRows, StatementOutcome, StreamedRows
from gateway.session.time_points import TimePoints, check_present
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import (
    AllocateIdentity,
    PointChange,
    PointInsert,
    PointRead,
    StatementKind,
    StatementPlan,
)
from journal.model.schema import Table
from journal.model.store_session import ResultColumn
from journal.model.version import Version
from journal.transactions import lookup, plain_rows
from journal.transactions.plain_rows import Row
from journal.transactions.protocol import OpenStatement, RowsInMemory
from journal.transactions.row_cache import is_key_value
from journal.transactions.transaction import StatementWrites, Transaction
from rewriter.statement import SqlStatement

if TYPE_CHECKING:
    from gateway.session.executor import Executor

_TOLD = {Code.CANCELLED, Code.SERIALIZATION}


class CachedRows:
    """An executor's short way; see the module's head."""

    def __init__(self, executor: Executor, rows: RowsInMemory) -> None:
        self._executor = executor
        self._rows = rows

    def is_likely(self, transaction: Transaction, asked: StatementRequest) -> bool:
        """True if the rows that a statement looked up the last time may be in memory."""
        swift = replace(asked, swift=self._executor.journal.can_fail)
        usual = plan_key(swift, transaction.plans)
        keyed = self._executor.cache.keyed(usual)
        if self._rows.is_complete:
            # Which segments a transaction reads is known once a statement of it has begun.
            return bool(keyed) or _is_one_row(asked)
        return bool(keyed) and self._rows.recalled(transaction, keyed, asked.parameters) is not None

    def plan(
        self, statement: OpenStatement, asked: StatementRequest, times: TimePoints
    ) -> tuple[StatementPlan, dict[str, Any]] | None:
        """A plan on rows that are in memory, and its parameters; None if it needs others."""
        plan = self._executor.plan_for(statement, replace(asked, swift=True, recalled=True), times)
        if isinstance(plan.plain, PointInsert):
            return plan, dict(asked.parameters)
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
        self,
        transaction: Transaction,
        asked: StatementRequest,
        times: TimePoints,
        cancellation: Cancellation,
    ) -> StatementOutcome | None:
        """Run a statement on rows that are in memory; None if that cannot be."""
        if not self.is_likely(transaction, asked):
            return None
        outcome: StatementOutcome | None = None
        statement = self._rows.aside(transaction)
        try:
            found = self.plan(statement, asked, times)
            if found is not None:
                plan, given = found
                if plan.kind is not StatementKind.READ:
                    check_present(asked.settings, plan)
                    transaction.check_writable(plan.tag)
                outcome = self._plainly(statement, plan, asked)
                if outcome is None and self._may_compute(plan, asked):
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

    def _may_compute(self, plan: StatementPlan, asked: StatementRequest) -> bool:
        """True if what a plan computes of the rows that it is given is the same everywhere."""
        if isinstance(plan.plain, PointInsert):
            return False
        return not self._rows.is_complete or _is_one_row(asked)

    def _plainly(
        self, statement: OpenStatement, plan: StatementPlan, asked: StatementRequest
    ) -> StatementOutcome | None:
        """What a plan with a plain form does; None if the store must do it."""
        transaction = statement.transaction
        if isinstance(plan.plain, PointInsert):
            return self._inserted(statement, plan, plan.plain, asked)
        rows = None
        if plan.plain is not None:
            rows = self._rows.recalled(transaction, plan.keyed[:1], asked.parameters)
        if not rows:
            return None
        table, row = rows[0]
        match plan.plain:
            case PointRead():
                return _shown(table, plan.plain, row)
            case PointChange() if row.values is None:
                return StatementOutcome(plan.tag, 0)
            case PointChange():
                self._rows.check_latest(transaction, table, row)
                return self._changed(transaction, plan, table, row, asked)
            case _:
                return None

    def _inserted(
        self,
        statement: OpenStatement,
        plan: StatementPlan,
        insert: PointInsert,
        asked: StatementRequest,
    ) -> StatementOutcome | None:
        transaction = statement.transaction
        table = transaction.catalog.by_id(insert.table_id)
        assert table is not None
        if not plain_rows.has_plain_values(table):
            return None
        found: list[Any] = []
        for stored, node in zip(table.stored, insert.values, strict=True):
            if isinstance(node, AllocateIdentity):
                value: Any = self._executor.number(statement, node)
            else:
                value = lookup.constant(node, asked.parameters)
            kept = None if value is None else plain_rows.as_stored(stored.type, value)
            if kept is None and (value is not None or stored.not_null):
                return None
            found.append(kept)
        if not table.hidden_key and not self._is_free(transaction, table, found):
            return None
        version = self._executor.journal.clock.next()
        _record(transaction, table, version, [(tuple(found), version, None)], asked)
        return StatementOutcome(plan.tag, 1)

    def _is_free(self, transaction: Transaction, table: Table, values: Sequence[Any]) -> bool:
        """True if it is known that there is no row of the new one's key."""
        places = {c.physical: i for i, c in enumerate(table.stored)}
        key = tuple(values[places[name]] for name in table.key)
        if not all(is_key_value(table, n, v) for n, v in zip(table.key, key, strict=True)):
            return False
        row = self._rows.seen_by(transaction, table, key)
        return row is not None and row.values is None

    def _changed(
        self,
        transaction: Transaction,
        plan: StatementPlan,
        table: Table,
        row: Row,
        asked: StatementRequest,
    ) -> StatementOutcome | None:
        assert isinstance(plan.plain, PointChange)
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
        _record(transaction, table, version, rows, asked)
        return StatementOutcome(plan.tag, 1)


def _is_one_row(asked: StatementRequest) -> bool:
    """True for an INSERT of one row of VALUES, which is computed here on every store."""
    statement = asked.parsed.statement
    if not isinstance(statement, SqlStatement) or not isinstance(statement.ast, exp.Insert):
        return False
    if any(statement.ast.args.get(name) for name in ("conflict", "overwrite", "returning")):
        return False
    rows = statement.ast.expression
    return isinstance(rows, exp.Values) and len(rows.expressions) == 1


def _record(
    transaction: Transaction,
    table: Table,
    version: Version,
    rows: Sequence[plain_rows.JournalRow],
    asked: StatementRequest,
) -> None:
    held = plain_rows.in_memory(table, rows)
    transaction.record(StatementWrites(version, ((table.id, held),), (), digest(asked.parsed)))


def _assigned(
    table: Table, change: PointChange, old: tuple[Any, ...], parameters: Mapping[str, Any]
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


def _shown(table: Table, read: PointRead, row: Row) -> StatementOutcome:
    kinds = [plain_rows.plain_type(table.stored[place].type) for _, place in read.columns]
    plain = [kind for kind in kinds if kind is not None]
    assert len(plain) == len(kinds)
    rows: list[tuple[Any, ...]] = []
    if row.values is not None:
        rows.append(tuple(row.values[place] for _, place in read.columns))
    names = [name for name, _ in read.columns]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = [k.array(c) for c, k in zip(columns, plain, strict=True)]
    held = BufferedRows(pa.Table.from_arrays(arrays, names=names), lambda _: rows)
    described = [ResultColumn(n, k.name) for n, k in zip(names, plain, strict=True)]
    return StatementOutcome("SELECT", -1, described, held)
