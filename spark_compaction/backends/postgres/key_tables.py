"""Lists of keys in a database: tables, one for the keys of a request in one of its tables.

A manifest names those whose rows the views leave out, and those that a legal hold spares. Here they
are written and read, rows of their keys are held against a hold, and keys are split anew when holds
change. Commits nothing but what ``settle`` says.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from journal.erasure import holds
from journal.erasure.guard import load_fence
from journal.erasure.requests import ErasureRequest
from journal.model.plan import Query
from journal.model.schema import Table
from journal.sql.relations import union_all
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import layout
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.stores.postgres.suppression_triggers import hold_writers
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.postgres import masks, searched, segment_swap, table_backups
from spark_compaction.backends.postgres.segment_swap import WAIT, Changed, publish
from spark_compaction.erasure import held
from spark_compaction.erasure.held import HoldChange, Relisted, unchanged

_ASKED = "possibly_held"


@dataclass(slots=True)
class KeyTables:
    """The lists of a database in a session of the commit section."""

    journal: DatabaseJournal
    session: PostgresSession
    committed: JournalState
    asked: int = 0

    def definition(self, table_id: int) -> Table:
        """A table as it is defined now, or was before it was dropped."""
        return segment_swap.definition(self.committed, table_id)

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""
        return self.session.arrow(Query(layout.masked_keys(table, [name]), ()), {})

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; the name of its table."""
        return masks.write(self.session, table, keys, request, self.journal.clock.next())

    def covered(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""
        session, state = self.session, self.committed.tables[table.id]
        if is_flat(table):
            # Others write there, too, and know nothing of the section.
            session.text(WAIT)
            hold_writers(session, table)
        everything = table_backups.with_backups(session, table, state)
        rows = [
            rows_in_layout(table, source, fields)
            for source, fields in searched.rows_written(table, everything)
        ]
        self.asked += 1
        shown = f"{_ASKED}_{self.asked}"
        session.show_arrow(shown, held.with_places(keys))
        query = held.covered_query(table, union_all(rows), shown, condition)
        places = session.arrow(Query(query, ()), {})
        return [int(place) for (place,) in session.arrow_rows(places)]


def settle(
    journal: DatabaseJournal,
    by: str,
    only: Collection[str] | None = None,
    change: HoldChange = unchanged,
) -> list[ErasureRequest]:
    """Place or release a hold, and split the keys of open requests anew, in one commit.

    What no hold covers any more is hidden, and may not be written, from that commit on. Gives the
    requests that changed.
    """
    moved: list[ErasureRequest] = []

    def settled_in(session: PostgresSession, committed: JournalState) -> Changed:
        change(session)
        lists = KeyTables(journal, session, committed)
        found = held.open_requests(session, only)
        settled = held.settlings(journal, lists, found, holds.active_in(session))
        moved[:] = [held.record(journal, session, s, by) for s in settled]
        if not settled and change is unchanged:
            return Changed({})
        states = _states(journal, session, committed, [r for s in settled for r in s.relisted])
        # Also where nothing but a hold changes, so that it is committed.
        return Changed(states, load_fence(session))

    publish(journal, settled_in)
    return moved


def _states(
    journal: DatabaseJournal,
    session: PostgresSession,
    committed: JournalState,
    relisted: Sequence[Relisted],
) -> dict[int, TableState]:
    """The states of the tables whose lists of keys change; the lists that go are retired."""
    states: dict[int, TableState] = {}
    for one in relisted:
        if one.after == one.before:
            continue
        table_id = one.before.table_id
        state = states.get(table_id, committed.tables[table_id])
        state = masks.unmasked(journal, session, state, one.before.lists)
        states[table_id] = masks.listed(session, one.table, state, one.after.mask, one.after.spared)
    return states
