"""One statement's stay in the store: a short transaction of its own, and what it sees there."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from journal.schema import Table
from journal.state import JournalState
from journal.stores.duckdb import DuckDBSession
from journal.stores.duckdb_layout import refresh_tiers
from journal.stores.duckdb_rows import show_rows
from journal.transaction import Transaction

if TYPE_CHECKING:
    from journal.journal import Journal


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
        self.session = session
        self.committed = committed
        self.transaction = transaction

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._open

    def show_buffers(self, table_ids: Iterable[int]) -> None:
        """Let queries see the transaction's own rows of these tables."""
        for table_id in table_ids:
            table = self.transaction.catalog.by_id(table_id)
            if table is None or table_id in self._shown:
                continue
            self._shown.add(table_id)
            self._show_layout(table)
            rows = self.transaction.buffered(table_id)
            if rows:
                show_rows(self.session, table, f"tx{table_id}_buffer", rows)

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

    def close(self) -> None:
        """End the stay; nothing staged in it survives."""
        if self._open:
            self._open = False
            self.session.rollback()
            self._journal.store.release(self.session)

    def __enter__(self) -> Statement:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
