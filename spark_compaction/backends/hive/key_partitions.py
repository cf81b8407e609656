"""Lists of keys in a Hive store: partitions, one for the keys of a request in one of its tables.

Every read of a journal leaves out the rows of the masks that its manifest names. A list is named
like a segment. Here lists are written and read, named in manifests and taken off them, and rows of
their keys are held against a hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field, replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure import holds
from journal.erasure.holds import Hold
from journal.erasure.requests import ErasureRequest
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts
from journal.model.store_session import StoreSession
from journal.records import retired
from journal.records.catalog_format import JournalRow
from journal.records.retired import RetiredRow
from journal.sql.row_layout import rows_in_layout
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.row_upload import INLINE_ROWS_MAX, write_held
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import HiveStatement
from journal.stores.hive.store import HiveConnection
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.hive.erased_rows import with_backups
from spark_compaction.backends.hive.pieces import paths, pieces
from spark_compaction.erasure import legal_holds
from spark_compaction.erasure.backend import ListChange

_ASKED = "possibly_held"


@dataclass(slots=True)
class KeyPartitions:
    """The lists of a store as a statement reads them; ``made`` takes the paths of new ones."""

    journal: HiveJournal
    statement: HiveStatement
    active: Sequence[Hold]
    made: list[str]
    _judged: tuple[Collection[str] | None, list[ErasureRequest]] | None = field(
        init=False, default=None
    )

    @property
    def session(self) -> HiveSession:
        """The session that reads journals."""
        return self.statement.session

    @property
    def committed(self) -> JournalState:
        """What is committed to the tables that are leased."""
        return self.statement.committed

    def open_requests(self, only: Collection[str] | None) -> list[ErasureRequest]:
        """The requests that are not purged everywhere; of all, or ``only`` some."""
        with self.journal.reading_session() as session:
            self._judged = (only, legal_holds.open_requests(session, only))
        return self._judged[1]

    def is_current(self, session: StoreSession) -> bool:
        """True if holds and requests, as the commit sees them, are what keys were split by."""
        if holds.active_in(session) != self.active:
            return False
        if self._judged is None:
            return True
        only, found = self._judged
        return legal_holds.open_requests(session, only) == found

    def block_writers(self, tables: Iterable[Table]) -> None:
        """Whoever writes needs the lease of the table."""

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""
        keys = layout.masked_keys(self.journal.names, table, [name])
        return self.session.from_spark(keys, key_kinds(table))

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; its path."""
        path = new_key_list(self.journal, self.session.connection, table, self.made)
        write_keys(self.journal, self.session, table, keys, path)
        return path

    def keys_meeting(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""
        session, journal = self.session, self.journal
        state = self.committed.tables[table.id]
        searched = with_backups(session, table, state)
        places = legal_holds.with_places(keys)
        found: set[int] = set()
        for start in range(0, keys.num_rows, INLINE_ROWS_MAX):
            session.show_arrow(_ASKED, places.slice(start, INLINE_ROWS_MAX))
            for piece in pieces(searched):
                source = layout.rows_of(journal.names, paths(piece)).subquery()
                rows = rows_in_layout(table, source, piece.fields)
                query = legal_holds.covered_query(table, rows, _ASKED, condition)
                found |= {int(row[0]) for row in session.connection.run(session.in_spark(query))}
        return found


def new_key_list(
    journal: HiveJournal, connection: HiveConnection, table: Table, made: list[str]
) -> str:
    """The path of a new list of keys, which nothing names yet; it is added to ``made``."""
    journal.ensure_database(connection)
    connection.execute(layout.create_mask(journal.names, table))
    path = f"{layout.mask_table(journal.names, table)}/{journal.new_segment_id()}"
    journal.staged.add(path)
    made.append(path)
    return path


def key_kinds(table: Table) -> Fields:
    """The columns of a list of a table's keys."""
    return tuple((name, table.by_physical(name).type) for name in table.key)


def write_keys(
    journal: HiveJournal, session: HiveSession, table: Table, keys: pa.Table, path: str
) -> None:
    """Add keys to a list that nothing names yet."""
    listed = session.typed(keys, key_kinds(table))
    write_held(journal, session.local, session.connection, listed, path)


def relisted(
    journal: HiveJournal,
    connection: CatalogConnection,
    generation: int,
    state: TableState,
    change: ListChange,
) -> TableState:
    """Name other lists of keys in a manifest, also for those who began before; some are retired."""
    now, table_id = journal.now(), change.table_id
    gone = [RetiredRow(id=n, table_id=table_id, since=now, until=now) for n in change.dropped]
    retired.retire(connection, gone)
    manifest = replace(change.applied(state.manifest), epoch=state.manifest.epoch + 1)
    following = replace(state, manifest=manifest)
    listed = JournalRow(table_id, manifest, following.last_version, RowCounts())
    rows_of.put_journal(connection, listed, generation)
    # What a claim is checked against may be hidden; the epoch tells who is late.
    rows_of.forget_claims_of(connection, table_id)
    return following
