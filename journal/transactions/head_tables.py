"""The commit section of a store whose heads are tables: conflicts, definitions, appended rows.

    rows of others since the snapshot? -> a head with the columns of now -> rows under new versions

What a table is, and how rows come into it, is the store's: ``HeadTables``. Commits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Head, Tier
from journal.model.store_session import RowSet, StoreSession
from journal.model.version import Version
from journal.sql.relations import Reader
from journal.sql.row_layout import fields_of
from journal.transactions import conflicts
from journal.transactions.commit_plan import CommitPlan, with_definition
from journal.transactions.restamp import restamped
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction

S = TypeVar("S", bound=StoreSession)


@dataclass(frozen=True, slots=True)
class HeadTables(Generic[S]):
    """What a store does with the tables behind heads, in a session of its commit section.

    ``show`` lets queries read row sets of a table as a relation; ``create`` makes the table of a
    head; ``append`` adds the rows of a query, in the columns of the table, to that of a head.
    ``was_erased`` says whether rows of a journal were removed after an epoch that is over.
    """

    show: Callable[[S, Table, str, Sequence[RowSet]], None]
    create: Callable[[S, Table, Head], None]
    append: Callable[[S, Table, Head, exp.Query], None]
    was_erased: Callable[[S, int, int], bool]

    def check(self, session: S, committed: JournalState, transaction: Transaction) -> None:
        """Raise SERIALIZATION if others wrote keys of a transaction since its snapshot."""
        for table_id in sorted(transaction.buffered_tables()):
            table = committed.catalog.by_id(table_id)
            if table is not None and committed.tables[table_id].manifest.heads:
                self._check(session, table, committed, transaction)

    def _check(
        self, session: S, table: Table, committed: JournalState, transaction: Transaction
    ) -> None:
        epoch = transaction.snapshot.epoch_of(table.id)
        if epoch != committed.epoch_of(table.id) and self.was_erased(session, table.id, epoch):
            # What it has read of the erased may stand in any row it writes.
            raise conflicts.conflict(table)
        if not transaction.is_pinned(table.id, committed):
            return
        mine, since = exp.to_table(mine_of(table)), transaction.snapshot.version
        self.show(session, table, mine.name, transaction.buffered(table.id))
        rows = Reader(table, _tiers_after(committed.tables[table.id], since)).journal()
        conflicts.check_rows(session, table, mine, conflicts.written_after(table, rows, since))

    def states(
        self, session: S, committed: JournalState, plan: CommitPlan
    ) -> dict[int, TableState]:
        """Define tables and append rows; the journals that changed."""

        def define(old: TableState | None, table: Table) -> TableState:
            return self.with_head(session, table, with_definition(old, table, plan.version))

        def append(state: TableState, table: Table, sets: Sequence[RowSet]) -> TableState:
            return self.with_rows(session, table, state, sets, plan)

        return plan.states(committed, define, append)

    def with_head(
        self, session: S, table: Table, state: TableState, *, fresh: bool = False
    ) -> TableState:
        """The journal with a head that takes rows of the table as it is, or with a ``fresh`` one;
        itself if it has one."""
        before, fields = state.manifest, fields_of(table)
        manifest = before.with_head(fields) if fresh else before.with_head_for(fields)
        if manifest is before:
            return state
        self.create(session, table, manifest.heads[-1])
        return replace(state, manifest=manifest)

    def with_rows(
        self,
        session: S,
        table: Table,
        state: TableState,
        sets: Sequence[RowSet],
        plan: CommitPlan,
    ) -> TableState:
        """The journal with these rows, under the versions of the plan."""
        incoming = f"incoming_{table.id}"
        self.show(session, table, incoming, sets)
        rows = restamped(incoming, table, plan.overtaken)
        self.append(session, table, state.manifest.heads[-1], rows)
        return state.with_rows(sets, plan.version)


def mine_of(table: Table) -> str:
    """What the rows that a transaction has written to a table are shown as."""
    return f"mine_{table.id}"


def _tiers_after(state: TableState, version: Version) -> frozenset[Tier]:
    """The tiers with rows that were written after a version."""
    old = [s.max_version <= version for s in state.manifest.in_tier(Tier.HISTORY)]
    return state.tiers - {Tier.HISTORY} if all(old) else state.tiers
