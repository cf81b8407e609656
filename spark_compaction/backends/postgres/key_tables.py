"""Lists of keys in a database: tables, one for the keys of a request in one of its tables.

The views of the tiers leave out the rows of masks, for whoever reads them. Here lists are written
and read, named in manifests and taken off them, and rows of their keys are held against a hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure.holds import Hold
from journal.erasure.matching import shown_keys
from journal.erasure.requests import ErasureRequest
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.sql.relations import ident, union_all
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import jobs, layout
from journal.stores.postgres.adopt.suppression_triggers import hold_writers
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.postgres import searched, table_backups
from spark_compaction.backends.postgres.segment_swap import WAIT
from spark_compaction.erasure import legal_holds
from spark_compaction.erasure.backend import ListChange

_ASKED = "possibly_held"
_FOUND = "keys_found"


@dataclass(slots=True)
class KeyTables:
    """The lists of a database in a session of the commit section."""

    journal: DatabaseJournal
    session: PostgresSession
    committed: JournalState
    active: Sequence[Hold]
    _asked: int = 0

    def open_requests(self, only: Collection[str] | None) -> list[ErasureRequest]:
        """The requests that are not purged everywhere; of all, or ``only`` some."""
        return legal_holds.open_requests(self.session, only)

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""
        return self.session.arrow(Query(layout.masked_keys(table, [name]), ()), {})

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; the name of its table."""
        session, name = self.session, f"t{table.id}_mask_{request}_{self.journal.clock.next()}"
        shown = f"{_FOUND}_{name}"
        session.show_arrow(shown, keys)
        body = shown_keys(table, shown)
        session.run(exp.Create(this=layout.mask_table(name), kind="TABLE", expression=body))
        names = ", ".join(ident(n.casefold()).sql(dialect="postgres") for n in table.key)
        target = session.rendered(layout.mask_table(name)).sql
        session.text(f"CREATE INDEX ON {target} ({names})")
        session.text(f"ANALYZE {target}")
        return name

    def block_writers(self, tables: Iterable[Table]) -> None:
        """Lock adopted journals: others write there, too, and know nothing of the section."""
        for table in tables:
            if is_flat(table):
                self.session.text(WAIT)
                hold_writers(self.session, table)

    def keys_meeting(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""
        session, state = self.session, self.committed.tables[table.id]
        self.block_writers([table])
        everything = table_backups.with_backups(session, table, state)
        rows = [
            rows_in_layout(table, source, fields)
            for source, fields in searched.rows_written(table, everything)
        ]
        self._asked += 1
        shown = f"{_ASKED}_{self._asked}"
        session.show_arrow(shown, legal_holds.with_places(keys))
        query = legal_holds.covered_query(table, union_all(rows), shown, condition)
        places = session.arrow(Query(query, ()), {})
        return [int(place) for (place,) in session.arrow_rows(places)]


def relisted(
    journal: DatabaseJournal, session: PostgresSession, state: TableState, change: ListChange
) -> TableState:
    """The state that names other lists of keys; the tables of those that go are retired."""
    table_id, epoch, now = change.table_id, state.manifest.epoch, journal.clock.now()
    for name in change.dropped:
        retired = jobs.RetiredTable(name, table_id, epoch, now, now)
        jobs.retire(session, retired, "", "purge", 0)
    manifest = replace(change.applied(state.manifest), epoch=epoch + 1)
    if change.mask is not None or change.spared is not None:
        # Who began before may have read them, and may write what it read anywhere.
        jobs.replaced(session, table_id, manifest.epoch, erased=True)
    return replace(state, manifest=manifest)
