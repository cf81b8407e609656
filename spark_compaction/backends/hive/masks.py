"""Lists of keys whose rows nobody may see, in the store: written, and taken off manifests again.

Every read of a journal leaves out the rows of the lists that its manifest names. A list lies in a
partition of its own and is named like a segment. Who is hidden, and until when, is decided above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from journal.erasure.requests import Target
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts
from journal.records.catalog_format import JournalRow
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db import retired as sql_retired
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.catalog_db.retired import RetiredPartition
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import write_held
from journal.transactions.state import TableState


def write(
    journal: HiveJournal, session: HiveSession, table: Table, keys: pa.Table, made: list[str]
) -> str:
    """Write a list of a table's keys; its path, which is added to ``made``."""
    journal.ensure_database(session.connection)
    session.connection.execute(layout.create_mask(journal.names, table))
    path = f"{layout.mask_table(journal.names, table)}/{journal.new_segment_id()}"
    journal.staged.add(path)
    made.append(path)
    kinds = tuple((name, table.by_physical(name).type) for name in table.key)
    write_held(session, journal.names, session.typed(keys, kinds), path)
    return path


def listed(
    connection: CatalogConnection,
    generation: int,
    table_id: int,
    state: TableState,
    target: Target,
) -> TableState:
    """Hide the rows of a receipt's mask, also from those who began before; name what is spared."""
    manifest = state.manifest.with_keys(target.mask, target.spared)
    return _listed(connection, generation, table_id, state, manifest)


def relisted(
    journal: HiveJournal,
    connection: CatalogConnection,
    generation: int,
    table_id: int,
    state: TableState,
    before: Target,
    after: Target,
) -> TableState:
    """Let the lists of a receipt take the places of those it had, which go."""
    bare = shown(journal, connection, generation, table_id, state, before.lists)
    return listed(connection, generation, table_id, bare, after)


def shown(
    journal: HiveJournal,
    connection: CatalogConnection,
    generation: int,
    table_id: int,
    state: TableState,
    masks: Iterable[str],
) -> TableState:
    """Show the rows of lists again, if they are there still; the lists go."""
    gone, now = list(masks), journal.now()
    sql_retired.retire(connection, [RetiredPartition(m, table_id, now, now, "") for m in gone])
    return _listed(connection, generation, table_id, state, state.manifest.without_keys(gone))


def _listed(
    connection: CatalogConnection,
    generation: int,
    table_id: int,
    state: TableState,
    manifest: Manifest,
) -> TableState:
    following = replace(state, manifest=replace(manifest, epoch=state.manifest.epoch + 1))
    listed = JournalRow(table_id, following.manifest, following.last_version, RowCounts())
    rows_of.put_journal(connection, listed, generation)
    # What a claim is checked against may be hidden; the epoch tells who is late.
    rows_of.forget_claims_of(connection, table_id)
    return following
