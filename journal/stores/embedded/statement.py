"""Runs one statement in a short transaction of the store.

What it writes goes into its client's transaction: rows in memory, or files that nothing lists yet.
It changes no journal itself, unless it runs inside the commit section.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from journal.local_engine.exporting import export_rows
from journal.local_engine.layout import refresh_tiers
from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.plan import (
    Append,
    Export,
    Guard,
    Lookup,
    Query,
    Stage,
    StatementPlan,
    Step,
    placed,
)
from journal.model.schema import Table
from journal.model.store_session import Parameters
from journal.stores.embedded.appending import append_rows, few_rows
from journal.stores.embedded.bulk_insert import may_be_many, unproved, write_ahead
from journal.stores.embedded.inline import append_to_head
from journal.stores.embedded.position_scan import keep_placed, show_placed
from journal.stores.embedded.positions import Positions, placeable
from journal.transactions import lookup
from journal.transactions.plain_rows import JournalRow
from journal.transactions.scan_access import WHOLE_TIERS, ScanAccess, as_relation
from journal.transactions.state import JournalState
from journal.transactions.statement_run import StatementRun, check_guard, run_step
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author

if TYPE_CHECKING:
    from journal.stores.embedded.journal import Journal


class Statement(AbstractContextManager["Statement", None]):
    """One statement's stay in the store: a session inside a transaction, and what it sees."""

    comparable_rows = as_relation

    def __init__(
        self,
        journal: Journal,
        session: DuckDBSession,
        committed: JournalState,
        transaction: Transaction,
        *,
        inline: bool = False,
    ) -> None:
        self._journal = journal
        self._inline = inline
        self._open = True
        self._shown: set[int] = set()
        self._placed: dict[int, tuple[Table, Positions, Query] | None] = {}
        self._found: dict[int, Positions | None] = {}
        self.appended: dict[int, tuple[Table, list[JournalRow]]] = {}
        """What was appended inside the commit section and is known, by table."""
        self.session = session
        self.committed = committed
        self.transaction = transaction
        transaction.begin_at(committed)

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._open

    def access(self, table_id: int) -> ScanAccess:
        """How a table can be read; the same for as long as the statement lasts."""
        table = self.transaction.catalog.by_id(table_id)
        state = self.committed.tables.get(table_id)
        if table is None or state is None:
            return WHOLE_TIERS
        return ScanAccess(lookup.by_file(table, state), self._positions(table_id) is not None)

    def varied_columns(self, table_id: int) -> frozenset[str]:
        """Columns, as stored, with nearly as many values as rows, as a base file shows."""
        state = self.committed.tables.get(table_id)
        return frozenset() if state is None else self._journal.varied_columns.of(state)

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        """Let queries read these tables; request positions for scans that have none."""
        for shown, manifest in self.transaction.shown:
            refresh_tiers(self.session, shown, manifest, self._journal.root)
        for table_id in tables:
            table = self.transaction.catalog.by_id(table_id)
            if table is None or table_id in self._shown:
                continue
            self._shown.add(table_id)
            self._show_layout(table)
            rows = self.transaction.buffered(table_id)
            if rows:
                show_rows(self.session, table, f"tx{table_id}_buffer", rows)
        for table_id in scans:
            self._show_positions(table_id)

    def _show_positions(self, table_id: int) -> None:
        found = self._positions(table_id)
        table = self.transaction.catalog.by_id(table_id)
        if found is None or table is None:
            self._journal.positions.request(table_id)
        elif table_id not in self._placed:
            view = show_placed(self.session, table, found.tiers)
            self._placed[table_id] = None if view is None else (table, found, view)

    def prepare(self, plan: StatementPlan, parameters: Parameters) -> dict[str, Any]:
        """Check segments, show tables, and find the files in which rows are looked up."""
        self.check_segments(plan.tables)
        self.show(plan.tables, plan.scans)
        return {place.name: self._files(place, parameters) for place in plan.lookups}

    def check_segments(self, table_ids: Iterable[int]) -> None:
        """Raise if a segment that will be read is missing or damaged."""
        for table_id in table_ids:
            state = self.committed.tables.get(table_id)
            if state is not None and state.manifest.segments:
                self._journal.checker.check(state.manifest.segments)

    def _files(self, place: Lookup, parameters: Parameters) -> list[str]:
        """The files that may hold the rows of a look-up, by their bounds and filters."""
        root = self._journal.root
        paths = lookup.files(place, self.committed.tables[place.table_id], parameters)
        table = self.transaction.catalog.by_id(place.table_id)
        if table is not None:
            value = lookup.constant(place.value, parameters)
            paths = self._journal.filters.matching_paths(root, table, paths, value, place.column)
        return [str(root / path) for path in paths]

    def leave_positions(self, table_id: int) -> None:
        """Read a table by its tiers: what is asked is run where nobody has positions."""
        self._found[table_id] = None

    def _positions(self, table_id: int) -> Positions | None:
        """The same for as long as the statement lasts."""
        if table_id not in self._found:
            state = self.committed.tables.get(table_id)
            found = None if state is None else self._journal.positions.of(table_id, state)
            if found is not None and state is not None:
                table = self.transaction.catalog.by_id(table_id)
                own = self.transaction.buffered(table_id)
                if own or table is None or not placeable(table, state):
                    found = None
            self._found[table_id] = found
        return self._found[table_id]

    def _show_layout(self, table: Table) -> None:
        """Make the tiers readable under a layout that this transaction has made itself."""
        state = self.committed.tables.get(table.id)
        if state is None or any(t.layout == table.layout for t in state.layouts):
            return
        refresh_tiers(self.session, table, state.manifest, self._journal.root)

    def run(self, step: Step, run: StatementRun) -> None:
        """Run one step; ``run`` takes what comes of it."""
        match step:
            case Stage() if may_be_many(self, step, run.rows_max):
                ahead = write_ahead(self._journal, self, step, run.parameters, run.rows_max)
                if ahead is not None:
                    run.ahead[step.name] = ahead
            case Guard():
                query = unproved(self.session, step, run.ahead)
                check_guard(self.session, step, query, run.parameters)
            case Append():
                self._append(step, run)
            case Export():
                root = self.session.root
                run.count = export_rows(self.session, step, run.parameters, root)
            case _:
                run_step(self.session, self._journal.counters, step, run)

    def _append(self, step: Append, run: StatementRun) -> None:
        table = run.table(step.table_id, self.transaction.catalog)
        session, parameters = self.session, run.parameters
        if self._inline:
            head = self.committed.tables[table.id].manifest.heads[-1]
            total, rows = append_to_head(session, head, table, step.query, parameters)
            if rows is not None:
                self.appended[table.id] = (table, rows)
            run.take_appended(step, total)
        elif step.stage in run.ahead:
            run.take(step, run.ahead.pop(step.stage))
        elif run.few:
            run.take(step, few_rows(session, table, step.query, parameters))
        else:
            made = append_rows(self._journal, session, table, step.query, parameters, run.rows_max)
            run.take(step, made)

    def commit(self, run: StatementRun, digest: str, author: Author) -> None:
        """Commit what was appended inside the commit section."""
        # What is not rolled back would stay in the session.
        made = [i for i, view in self._placed.items() if view is not None]
        self.session.hide(*[placed(i).name for i in made])
        for table_id in made:
            del self._placed[table_id]
        self._journal.commits.commit_inline(self, run.version, run.appended, digest, author)

    def close(self) -> None:
        """End the stay; nothing staged in it survives."""
        if self._open:
            self._open = False
            self.session.rollback()
            self._keep_placed()
            self._journal.store.release(self.session)

    def _keep_placed(self) -> None:
        """Spare later statements of the session what the transaction has taken with it."""
        for made in self._placed.values():
            if made is not None:
                table, found, view = made
                with suppress(PalimpsestError):
                    keep_placed(self.session, table, found.tiers, view)

    def __exit__(self, *_: object) -> None:
        self.close()
