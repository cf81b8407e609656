"""FOR UPDATE .. SKIP LOCKED: a statement that does not see the rows that others hold.

    which tables? -> what others hold of them is shown as ended -> run -> held by name? -> again

One statement of a process at a time chooses rows, and what it has chosen is in its transaction's
buffer before the next one looks. Where other processes choose, too, the rows are held by name, and
chosen again afterwards: who held one before has committed or rolled back by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from gateway.session.forms import Planned, StatementCall, StoreForm
from gateway.session.outcome import StatementOutcome
from gateway.session.request import StatementRequest
from gateway.session.row_claims import RowClaims, ended_rows, in_memory
from gateway.session.steps import record_writes
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Append, Query, StatementKind, StatementPlan
from journal.model.schema import Table
from journal.model.store_session import MemoryRows, RowSet
from journal.sql.relations import Reader, column
from journal.sql.sql import select
from journal.transactions.conflicts import written_after
from journal.transactions.protocol import OpenStatement
from journal.transactions.statement_run import StatementRun
from rewriter.statement import SqlStatement
from rewriter.writing.skipped_rows import is_skipping

_ROWS_MAX = 1000
"""So many rows are held by name at once: a server has room for a few thousand locks in all."""


def skips_locked(request: StatementRequest) -> bool:
    """True for a statement with SKIP LOCKED."""
    statement = request.parsed.statement
    if not isinstance(statement, SqlStatement):
        return False
    found: bool | None = request.cache.get(skips_locked)
    if found is None:
        found = "LOCKED" in request.parsed.text.upper() and any(
            is_skipping(lock) for lock in statement.ast.find_all(exp.Lock)
        )
        request.cache[skips_locked] = found
    return found


class SkippingForm:
    """Runs such a statement by the plan of a form, as often as rows are held that were not."""

    def __init__(self, store: StoreForm, claims: RowClaims) -> None:
        self._store = store
        self._claims = claims
        self._again = True
        self._hidden: dict[int, list[RowSet]] = {}
        self._refused: dict[int, list[RowSet]] = {}

    def until_held(self) -> Iterator[SkippingForm]:
        """Itself, until it holds all rows that it gives."""
        while self._again:
            yield self

    @contextmanager
    def open(self, call: StatementCall) -> Iterator[OpenStatement]:
        """A statement of the transaction, which is shown what others hold while it lasts."""
        transaction = self._store.transaction
        self._again = False
        self._claims.enter(transaction)
        with self._claims.turn_of_statement(call.cancellation.check):
            with self._store.open(call) as statement:
                plan, _ = self._store.plan(statement, call)
            tables = [t for t in map(transaction.catalog.by_id, plan.skipped) if t is not None]
            # Who is over before this is asked has committed what the next stay sees.
            self._hidden = self._claims.of_others(transaction, tables)
            own = transaction.own_rows
            try:
                with self._store.open(call) as statement:
                    yield statement
            finally:
                transaction.own_rows = own

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned:
        """The plan of the form over what nobody else holds."""
        transaction = statement.transaction
        shown = dict(transaction.own_rows)
        for table_id, rows in self._hidden.items():
            table = transaction.catalog.by_id(table_id)
            refused = self._refused.get(table_id, [])
            later = () if table is None else _ended_since(statement, table)
            hidden = (*rows, *refused, *later)
            if hidden:
                shown[table_id] = (*shown.get(table_id, ()), *hidden)
        transaction.own_rows = shown
        return self._store.plan(statement, call)

    def run(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome | None:
        """Run the steps; None if rows are held now that were not when they were chosen."""
        plan, parameters = planned
        if plan.kind is StatementKind.READ:
            # Its rows are held here: a client that reads slowly would keep others from their turn.
            plan = replace(plan, kind=StatementKind.WRITE)
        outcome, plan, run = self._store.executed(statement, (plan, parameters), call)
        if not self._holds(statement, plan, run):
            self._again = True
            return None
        record_writes(statement, plan, run, call.request)
        return outcome

    def _holds(self, statement: OpenStatement, plan: StatementPlan, run: StatementRun) -> bool:
        """True if the chosen rows are held by name already; else they are now, or refused."""
        transaction, is_held = statement.transaction, True
        for table_id, rows in run.rows:
            table = transaction.catalog.by_id(table_id)
            if table_id not in plan.skipped or table is None:
                continue
            chosen = ended_rows(table, rows)
            if not isinstance(rows, MemoryRows) or (chosen and chosen.rows.num_rows > _ROWS_MAX):
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    f"SKIP LOCKED of more than {_ROWS_MAX} rows at once is not supported",
                    advice="add a LIMIT",
                )
            if chosen is None:
                continue
            keys = chosen.rows.select(list(table.key)).to_pylist()
            names = [f"{table_id} {list(key.values())}" for key in keys]
            is_new, others = self._claims.hold(transaction, names)
            is_held = is_held and not is_new
            if others:
                places = [place for place, name in enumerate(names) if name in others]
                taken = in_memory(table, chosen.rows.take(places), chosen)
                self._refused.setdefault(table_id, []).append(taken)
        return is_held

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """As the form whose plan it runs."""
        return self._store.falls_through(error, plan)


def _ended_since(statement: OpenStatement, table: Table) -> tuple[RowSet, ...]:
    """The closing rows of a table that others have committed since the transaction began."""
    transaction, committed = statement.transaction, statement.committed
    if not transaction.is_pinned(table.id, committed):
        return ()
    rows = Reader(table, committed.tables[table.id].tiers).journal()
    later = written_after(table, rows, transaction.snapshot.version)
    is_ended = exp.Not(
        this=exp.Is(this=column(table.format.subsequent_column, "l"), expression=exp.Null())
    )
    later.set("alias", exp.TableAlias(this=exp.to_identifier("l")))
    ended = select([column(name, "l") for name in table.journal_columns], later, is_ended)
    run = StatementRun({}, 0, _ROWS_MAX * _ROWS_MAX)
    statement.run(Append(table.id, Query.of(ended)), run)
    return tuple(rows for _, rows in run.rows)
