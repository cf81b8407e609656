"""The tables of a replica in a database: those that it lacks are loaded, rows that may not be go.

All of it happens in one transaction, which the server undoes if it is not committed. A table that
is there already, by its origin, rows and checksum, is neither read nor loaded. Lists nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from journal.erasure.guard import load_fence
from journal.erasure.list_parameters import list_parameters
from journal.erasure.matching import shown_keys
from journal.files.parquet_files import checksum
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, Tier
from journal.model.version import to_datetime
from journal.records.backups import Backup, BackupKind
from journal.records.erasure_rows import copy_suppressions, drop_suppressions
from journal.sql.relations import union_all
from journal.sql.sql import relation
from journal.stores.postgres import as_committed, layout
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.reading import committed_state
from journal.transactions.state import TableState
from spark_compaction.backend import TableAt
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.backends.postgres.maintenance import DatabaseBackend
from spark_compaction.backends.postgres.replica_source import copy_name, origin
from spark_compaction.contract import JobRequest
from spark_compaction.erasure.purge_sql import rows_with
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_pieces import (
    ReplicaPieces,
    file_of_piece,
    leave_rows_out,
    match_pieces,
    piece_damaged,
)
from spark_compaction.programs.replica_store import LeftOut

_SHOWN = "keys_left_out"
_ATTEMPT = "replica_fence"


def live_tables(table_id: int, state: TableState) -> tuple[Segment, ...]:
    """What a journal consists of: its heads as segments, then its segments."""
    heads = [
        Segment(layout.head_table(table_id, h).name, Tier.DELTA, (), h.fields, RowCounts(), 0, 0)
        for h in state.manifest.heads
    ]
    return (*heads, *state.manifest.segments)


def match_tables(
    package: ReplicaPackage,
    store: str,
    table_id: int,
    before: TableState | None,
    detail: Mapping[str, Any],
    under: str,
) -> ReplicaPieces:
    """What of a package is here, and what is not. Pure."""
    live = () if before is None else live_tables(table_id, before)
    return match_pieces(package, live, lambda s: origin(store, s.id), detail, under)


def load_tables(
    journal: DatabaseJournal,
    session: PostgresSession,
    package: ReplicaPackage,
    table: Table,
    found: ReplicaPieces,
) -> None:
    """Load the tables that are wanted; raises SEGMENT_DAMAGED for one that is not as it was."""
    if not found.wanted:
        return
    files = dict(package.files)
    paths: dict[str, Path] = {}
    for name in found.lacking_names:
        paths[name] = Path(file_of_piece(package, table, name))
        if checksum(paths[name]) != files[name].checksum:
            raise piece_damaged(name)
    listing = Backup(
        *("", BackupKind.COPY, table.id, str(table.name), package.version, found.wanted),
        *(None, to_datetime(package.version), None),
    )
    with DatabaseTransport(journal, table, session).load(listing, paths) as loaded:
        for segment, made in zip(found.wanted, loaded.segments, strict=True):
            name = segment.files[0].path
            staged = exp.table_(made.files[0].path, db=STORE_SCHEMA)
            found.here[name] = _finished(session, table, package, segment, staged)


def _finished(
    session: PostgresSession,
    table: Table,
    package: ReplicaPackage,
    segment: Segment,
    staged: exp.Table,
) -> Segment:
    """A loaded table under its own name, with indexes, once it is what the source had."""
    name = copy_name(table.id, segment.files[0].path)
    target = exp.table_(name, db=STORE_SCHEMA)
    renamed = exp.AlterRename(this=exp.to_table(name))
    session.run(exp.Alter(this=staged, kind="TABLE", actions=[renamed]))
    counts = layout.count_rows(session, table, target)
    found = as_committed.fingerprint(session, table, target, segment.fields)[1]
    if counts.total != segment.files[0].rows or segment.checksum not in {None, found}:
        raise piece_damaged(name)
    layout.finish_rows(session, table, target, segment.fields)
    newest = segment.max_version or package.version
    return Segment(
        *(name, segment.tier, (), segment.fields, counts),
        *(segment.min_version, newest, found),
    )


def leave_out(
    journal: DatabaseJournal,
    session: PostgresSession,
    package: ReplicaPackage,
    table: Table,
    found: ReplicaPieces,
    leaving: LeftOut,
) -> int:
    """Leave out of the tables the rows that must not be in a replica; how many that was.

    Tables without such rows stay as they are.
    """
    loaded = list(found.loaded.values())
    keys = [pq.read_table(path) for path in leaving.masks if loaded or found.unlooked_segments]
    keys += _suppressed_keys(journal, session, table, loaded, leaving)
    keys = [k for k in keys if k.num_rows]
    if not keys:
        return 0
    session.show_arrow(_SHOWN, pa.concat_tables(keys, promote_options="permissive"))
    backend = DatabaseBackend(journal, JobRequest(table, ""))
    backend.session = session
    among = exp.alias_(shown_keys(table, _SHOWN).subquery(), "e")
    goes = rows_with(backend, table, among)
    at = TableAt(table, committed_state(journal), package.version)
    return leave_rows_out(
        *(backend, at, found, goes, package, leaving),
        lambda s: layout.drop_rows(session, layout.segment_table(s)),
    )


def _suppressed_keys(
    journal: DatabaseJournal,
    session: PostgresSession,
    table: Table,
    loaded: Sequence[Segment],
    leaving: LeftOut,
) -> list[pa.Table]:
    """The keys in loaded tables that may not come back, by what is suppressed after the run."""
    if not loaded:
        return []
    session.text(f"SAVEPOINT {_ATTEMPT}")
    for name in leaving.earlier:
        drop_suppressions(session, name)
    copy_suppressions(session, leaving.carried)
    fence = load_fence(session)
    keys = []
    if fence.concerns(table):
        parts = [layout.rows_as(table, layout.segment_table(s), s.fields) for s in loaded]
        query = Query.of(fence.keys(table, relation(union_all(parts))))
        keys.append(session.arrow(query, list_parameters(journal, query)))
    # What is suppressed is recorded where the replica is published.
    session.text(f"ROLLBACK TO SAVEPOINT {_ATTEMPT}")
    session.text(f"RELEASE SAVEPOINT {_ATTEMPT}")
    return keys
