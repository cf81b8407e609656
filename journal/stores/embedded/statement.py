"""One statement's stay in the store: a short transaction of its own, and what it sees there.

What it writes goes into its client's transaction: rows in memory, or files that nothing lists yet.
It changes no journal itself, unless it runs inside the commit section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.local_engine.layout import refresh_tiers
from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.plan import Export, Guard, Query, Stage, placed
from journal.model.schema import Table, TableName
from journal.model.segment import Fields, RowCounts
from journal.model.store_session import Parameters, RowSet, StagedRows
from journal.model.version import Version
from journal.sql.sql import relation
from journal.stores.embedded.appending import append_rows, few_rows
from journal.stores.embedded.bulk_insert import left_to_ask, may_be_many, write_ahead
from journal.stores.embedded.direct import append_direct
from journal.stores.embedded.exporting import export_rows
from journal.stores.embedded.position_scan import keep_placed, show_placed
from journal.stores.embedded.positions import Positions, placeable
from journal.transactions.plain_rows import JournalRow
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author

if TYPE_CHECKING:
    from journal.stores.embedded.journal import Journal


class Statement:
    """One statement's stay in the store: a session inside a transaction, and what it sees."""

    def __init__(
        self,
        journal: Journal,
        session: DuckDBSession,
        committed: JournalState,
        transaction: Transaction,
    ) -> None:
        self._journal = journal
        self._open = True
        self._shown: set[int] = set()
        self._placed: dict[int, tuple[Table, Positions, Query] | None] = {}
        self._found: dict[int, Positions | None] = {}
        self.appended: dict[int, tuple[Table, list[JournalRow]]] = {}
        """What was appended directly and is known, by table."""
        self.session = session
        self.committed = committed
        self.transaction = transaction

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._open

    def show_buffers(self, table_ids: Iterable[int]) -> None:
        """Let queries see the transaction's own rows of these tables."""
        for shown, manifest in self.transaction.shown:
            refresh_tiers(self.session, shown, manifest, self._journal.root)
        for table_id in table_ids:
            table = self.transaction.catalog.by_id(table_id)
            if table is None or table_id in self._shown:
                continue
            self._shown.add(table_id)
            self._show_layout(table)
            rows = self.transaction.buffered(table_id)
            if rows:
                show_rows(self.session, table, f"tx{table_id}_buffer", rows)

    def is_placed(self, table_id: int) -> bool:
        """True if positions tell which sealed rows have ended, and the transaction wrote none."""
        return self._positions(table_id) is not None

    def show_positions(self, table_ids: Iterable[int]) -> None:
        """Let queries read these tables by position; wish for positions that are not there."""
        for table_id in table_ids:
            found = self._positions(table_id)
            table = self.transaction.catalog.by_id(table_id)
            if found is None or table is None:
                self._journal.positions.wish(table_id)
            elif table_id not in self._placed:
                view = show_placed(self.session, table, found.tiers)
                self._placed[table_id] = None if view is None else (table, found, view)

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

    def check_segments(self, table_ids: Iterable[int]) -> None:
        """Raise if a segment that will be read is missing or damaged."""
        for table_id in table_ids:
            state = self.committed.tables.get(table_id)
            if state is not None and state.manifest.segments:
                self._journal.checker.check(state.manifest.segments)

    def stage(self, step: Stage, parameters: Parameters, rows_max: int) -> StagedRows | None:
        """Keep a step's rows for the later ones; what was written of them already, if so many."""
        if not may_be_many(self, step, rows_max):
            self.session.stage(step.name, step.query, parameters)
            return None
        return write_ahead(self._journal, self, step, parameters, rows_max)

    def left_to_ask(self, guard: Guard, ahead: Mapping[str, StagedRows]) -> Query:
        """What a guard asks, less what can be proved of rows that were written already."""
        return left_to_ask(self.session, guard, ahead)

    def near(self, fields: Fields, rows: exp.Query) -> exp.Expr:
        """The list is where the rows are."""
        return relation(rows)

    def export(self, export: Export, parameters: Parameters) -> int:
        """Write a query's rows to a file of the client's; how many they were."""
        return export_rows(self.session, export, parameters)

    def append(
        self, table: Table, query: Query, parameters: Parameters, memory_rows_max: int | None
    ) -> RowSet | None:
        """The rows of ``query`` for the journal of ``table``; None when there are none."""
        if memory_rows_max is None:
            return few_rows(self.session, table, query, parameters)
        return append_rows(self._journal, self.session, table, query, parameters, memory_rows_max)

    def lock_written(self, names: Iterable[TableName]) -> None:
        """Nobody writes to journals but through the commit section."""

    def append_direct(self, table: Table, query: Query, parameters: Parameters) -> int:
        """Append a query's rows to the table's head; how many they were."""
        total, rows = append_direct(self.session, self.committed, table, query, parameters)
        if rows is not None:
            self.appended[table.id] = (table, rows)
        return total

    def commit_direct(
        self, version: Version, appended: Mapping[int, RowCounts], digest: str, author: Author
    ) -> None:
        """Commit what ``append_direct`` has appended under ``version``."""
        # What is not rolled back would stay in the session.
        made = [i for i, view in self._placed.items() if view is not None]
        self.session.hide(*[placed(i).name for i in made])
        for table_id in made:
            del self._placed[table_id]
        self._journal.commits.commit_direct(self, version, appended, digest, author)

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

    def __enter__(self) -> Statement:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
