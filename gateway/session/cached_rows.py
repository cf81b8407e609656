"""The form that runs statements on cached rows in memory, without the store.

    rows in memory? --no--> another form
    plain form?     --yes-> answered here         --no--> computed by the store, on the rows given

Whatever fails here is left to the next form, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.session.forms import Planned, StatementCall, start_run
from gateway.session.outcome import StatementOutcome
from gateway.session.planner import Planner
from gateway.session.request import StatementRequest, digest
from gateway.session.results import BufferedRows
from gateway.session.steps import record_writes, run_steps
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import AllocateIdentity, PointInsert, StatementPlan
from journal.model.point_rows import PointChange, PointClaim, PointRead
from journal.model.result_column import ResultColumn
from journal.model.schema import Table
from journal.model.version import Version
from journal.transactions import lookup, plain_rows
from journal.transactions.plain_rows import Row
from journal.transactions.protocol import OpenJournal, OpenStatement, RowsInMemory
from journal.transactions.row_cache import is_key_value
from journal.transactions.statement_run import StatementRun
from journal.transactions.transaction import StatementWrites, Transaction
from rewriter.context import PlanForm
from rewriter.statement import SqlStatement

_FINAL = frozenset({Code.CANCELLED, Code.SERIALIZATION})


@dataclass(frozen=True, slots=True)
class CachedRows:
    """Plans statements on a journal's rows in memory; ``usual`` is the form they have otherwise."""

    journal: OpenJournal
    planner: Planner
    cache: RowsInMemory
    usual: PlanForm

    def is_likely(self, transaction: Transaction, request: StatementRequest) -> bool:
        """True if the rows that a statement looked up the last time may be in memory."""
        keyed = self.planner.key_lookups(transaction, request.in_form(self.usual))
        if self.cache.is_complete:
            # Which segments a transaction reads is known once a statement of it has begun.
            return bool(keyed) or _is_one_row(request) or _may_look_up(request)
        return bool(keyed) and self.cache.rows(transaction, keyed, request.parameters) is not None

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned | None:
        """A plan on rows that are in memory, and its parameters; None if it needs others."""
        request, given = call.request, dict(call.request.parameters)
        plan = self.planner.plan(statement, request.in_form(PlanForm.FROM_CACHE), call.times)
        if isinstance(plan.plain, PointInsert):
            return plan, given
        if not plan.asks_nothing:
            return None
        rows = self.cache.rows(statement.transaction, plan.keyed, request.parameters)
        if rows is None:
            return None
        for place, (table, row) in zip(plan.keyed, rows, strict=True):
            given |= place.bound(row.version, row.values, len(table.stored))
        return plan, given


@dataclass(frozen=True, slots=True)
class CachedForm:
    """Runs a statement on rows in memory, in a transaction."""

    cached: CachedRows
    transaction: Transaction

    def open(self, call: StatementCall) -> AbstractContextManager[OpenStatement]:
        """A statement that reads nothing that is committed."""
        return self.cached.cache.detached_statement(self.transaction)

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned | None:
        """A plan on rows that are in memory."""
        return self.cached.plan(statement, call)

    def run(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome | None:
        """Answer here what has a plain form; let the store compute the rest."""
        (plan, parameters), request = planned, call.request
        outcome = self._run_point_plan(statement, plan, request)
        if outcome is not None or not self._may_compute(plan, request):
            return outcome
        journal = self.cached.journal
        statement.session.use_zone(request.settings.timezone)
        with call.cancellation.watching(statement.session):
            run = start_run(journal, statement, plan, parameters, request)
            outcome = run_steps(journal, statement, plan, run, request)
        record_writes(statement, plan, run, request)
        return outcome

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """True for errors that the store's form may not meet, or explains better."""
        return error.code not in _FINAL

    def _may_compute(self, plan: StatementPlan, request: StatementRequest) -> bool:
        """True if every store computes the same from the rows that the plan receives."""
        if isinstance(plan.plain, PointInsert | PointClaim):
            return False
        return not self.cached.cache.is_complete or _is_one_row(request)

    def _run_point_plan(
        self, statement: OpenStatement, plan: StatementPlan, request: StatementRequest
    ) -> StatementOutcome | None:
        """Run a plan that has a point form; None if the store must run it."""
        transaction = statement.transaction
        if isinstance(plan.plain, PointInsert):
            return self._run_insert(statement, plan, plan.plain, request)
        rows = None
        if plan.plain is not None:
            rows = self.cached.cache.rows(transaction, plan.keyed[:1], request.parameters)
        if not rows:
            return None
        table, row = rows[0]
        match plan.plain:
            case PointRead():
                return _row_outcome(table, plan.plain, row)
            case PointClaim(read):
                self._claim(transaction, plan, table, row, request)
                return _row_outcome(table, read, row)
            case PointChange() if row.values is None:
                return StatementOutcome(plan.tag, 0)
            case PointChange():
                self.cached.cache.check_latest(transaction, table, row)
                return self._run_change(transaction, plan, table, row, request)
            case _:
                return None

    def _claim(
        self,
        transaction: Transaction,
        plan: StatementPlan,
        table: Table,
        row: Row,
        request: StatementRequest,
    ) -> None:
        """Write a row as it is; one that the transaction has written itself is claimed already."""
        if row.values is None or row.version > transaction.snapshot.version:
            return
        self.cached.cache.check_latest(transaction, table, row)
        version = self.cached.journal.clock.next()
        again = [(row.values, row.version, version), (row.values, version, None)]
        _record_rows(transaction, table, version, again, plan, request)

    def _run_insert(
        self,
        statement: OpenStatement,
        plan: StatementPlan,
        insert: PointInsert,
        request: StatementRequest,
    ) -> StatementOutcome | None:
        transaction = statement.transaction
        table = transaction.catalog.by_id(insert.table_id)
        assert table is not None
        if not plain_rows.has_plain_values(table):
            return None
        found: list[Any] = []
        for stored, node in zip(table.stored, insert.values, strict=True):
            if isinstance(node, AllocateIdentity):
                numbered = StatementRun({}, 0, 0)
                statement.run(node, numbered)
                value: Any = numbered.parameters[node.name]
            else:
                value = lookup.constant(node, request.parameters)
            kept = None if value is None else plain_rows.as_stored(stored.type, value)
            if kept is None and (value is not None or stored.not_null):
                return None
            found.append(kept)
        if not table.hidden_key and not self._is_free(transaction, table, found):
            return None
        version = self.cached.journal.clock.next()
        added: list[plain_rows.JournalRow] = [(tuple(found), version, None)]
        _record_rows(transaction, table, version, added, plan, request)
        return StatementOutcome(plan.tag, 1)

    def _is_free(self, transaction: Transaction, table: Table, values: Sequence[Any]) -> bool:
        """True if it is known that there is no row of the new one's key."""
        places = {c.physical: i for i, c in enumerate(table.stored)}
        key = tuple(values[places[name]] for name in table.key)
        if not all(is_key_value(table, n, v) for n, v in zip(table.key, key, strict=True)):
            return False
        row = self.cached.cache.seen_by(transaction, table, key)
        return row is not None and row.values is None

    def _run_change(
        self,
        transaction: Transaction,
        plan: StatementPlan,
        table: Table,
        row: Row,
        request: StatementRequest,
    ) -> StatementOutcome | None:
        assert isinstance(plan.plain, PointChange)
        assert row.values is not None
        version = self.cached.journal.clock.next()
        ends = (row.values, row.version, version)
        if plan.plain.values is None:
            rows: list[plain_rows.JournalRow] = [ends, (row.values, version, version)]
        else:
            values = _assigned_values(table, plan.plain, row.values, request.parameters)
            if values is None:
                return None
            rows = [ends, (values, version, None)]
        _record_rows(transaction, table, version, rows, plan, request)
        return StatementOutcome(plan.tag, 1)


def _is_one_row(request: StatementRequest) -> bool:
    """True for an INSERT of one row of VALUES, which is computed here on every store."""
    statement = request.parsed.statement
    if not isinstance(statement, SqlStatement) or not isinstance(statement.ast, exp.Insert):
        return False
    if any(statement.ast.args.get(name) for name in ("conflict", "overwrite", "returning")):
        return False
    rows = statement.ast.expression
    return isinstance(rows, exp.Values) and len(rows.expressions) == 1


def _may_look_up(request: StatementRequest) -> bool:
    """True for a statement that was not planned yet and may name one row by its key."""
    statement = request.parsed.statement
    if not isinstance(statement, SqlStatement):
        return False
    if not isinstance(statement.ast, exp.Select | exp.Update | exp.Delete):
        return False
    where = statement.ast.args.get("where")
    if where is None or statement.ast.args.get("joins"):
        return False
    parts = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    return any(isinstance(part, exp.EQ) for part in parts)


def _record_rows(
    transaction: Transaction,
    table: Table,
    version: Version,
    rows: Sequence[plain_rows.JournalRow],
    plan: StatementPlan,
    request: StatementRequest,
) -> None:
    held = plain_rows.in_memory(table, rows)
    text = digest(request.parsed, request.dialect)
    writes = StatementWrites(version, ((table.id, held),), (), text, request.origin(plan))
    transaction.record(writes)


def _assigned_values(
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


def _row_outcome(table: Table, read: PointRead, row: Row) -> StatementOutcome:
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
    return StatementOutcome("SELECT", len(rows), described, held)
