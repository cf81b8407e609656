"""The partitions of a replica in a Hive store: those that it lacks are loaded, before it lists any.

A partition that is there already, by its origin and rows, is neither read nor loaded. The name of
what a run makes tells so: the next run removes what a killed one has left. Lists nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from journal.erasure.guard import load_fence
from journal.erasure.list_parameters import list_parameters
from journal.files.parquet_files import checksum
from journal.identity.descriptor import descriptor_of
from journal.identity.suppression_list import SuppressionList
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.records.erasure_rows import copy_suppressions, drop_suppressions
from journal.sql.relations import column, version_type
from journal.sql.row_layout import journal_fields
from journal.stores.hive import layout
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.object_names import copy_id, is_replicated
from journal.stores.hive.row_upload import staged_parts, write_parts
from journal.stores.hive.segment_check import count_rows, refresh
from journal.stores.hive.segment_writing import write_segment
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import HiveStatement
from spark_compaction.backend import TableAt
from spark_compaction.backends.hive import cleaning
from spark_compaction.backends.hive.backup_transport import parts_in_file
from spark_compaction.backends.hive.key_partitions import key_kinds, new_key_list, write_keys
from spark_compaction.backends.hive.maintenance import HiveBackend
from spark_compaction.backends.hive.replica_source import fingerprint_of
from spark_compaction.contract import JobRequest
from spark_compaction.erasure.purge_sql import rows_of_keys
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_pieces import (
    ReplicaPieces,
    file_of_piece,
    leave_rows_out,
    piece_damaged,
)
from spark_compaction.programs.replica_store import LeftOut

_COMPARED = "rows_loaded"


def remove_leftovers(journal: HiveJournal, session: HiveSession, table_id: int) -> None:
    """Drop what killed runs have left of a replica that no other run is at."""
    found = cleaning.forsaken(journal, session.connection, journal.now(), table_id)
    for path in found:
        if is_replicated(path.partition("/")[2]) and path not in journal.staged:
            journal.drop_segment(session.connection, path)


def load_partitions(
    journal: HiveJournal,
    session: HiveSession,
    package: ReplicaPackage,
    table: Table,
    found: ReplicaPieces,
    made: list[str],
) -> None:
    """Load the partitions that are wanted, whose paths are added to ``made``.

    Raises SEGMENT_DAMAGED for one that is not as it was.
    """
    files = dict(package.files)
    for segment in found.wanted:
        name = segment.files[0].path
        place = Path(file_of_piece(package, table, name))
        if checksum(place) != files[name].checksum:
            raise piece_damaged(name)
        path = _load(journal, session, table, segment, place, made)
        rows, told = fingerprint_of(journal, session, table, segment, path)
        if rows != segment.files[0].rows or told != segment.checksum:
            raise piece_damaged(path)
        counts = count_rows(journal.names, session.connection, table, path)
        found.here[name] = replace(
            segment,
            id=path.partition("/")[2],
            files=(layout.segment_file(path, rows),),
            counts=counts,
            checksum=None,
        )


def _load(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    segment: Segment,
    place: Path,
    made: list[str],
) -> str:
    """A new partition with the rows of a file, which lies as that of the source does; its path."""
    connection, (file,) = session.connection, segment.files
    parts = parts_in_file(place, journal_fields(table, segment.fields), connection)
    name = copy_id(journal.now(), file.path)
    if layout.is_shaped(segment.id) and file.rows:
        journal.ensure_database(connection)
        with staged_parts(journal, connection, parts) as staged:
            rows = exp.select("*").from_(staged)
            return write_segment(journal, connection, table, segment.fields, rows, made, True, name)
    with journal.new_segment(table, connection, segment.fields, segment_name=name) as path:
        made.append(path)
        write_parts(journal, connection, parts, file.rows, path)
    return path


def leave_out(
    journal: HiveJournal,
    statement: HiveStatement,
    package: ReplicaPackage,
    table: Table,
    found: ReplicaPieces,
    leaving: LeftOut,
    made: list[str],
) -> int:
    """Leave out of the partitions the rows that must not be in a replica; how many that was.

    Partitions without such rows stay as they are.
    """
    session, loaded = statement.session, list(found.loaded.values())
    unlooked = list(found.unlooked_segments.values())
    if not loaded and not unlooked:
        return 0
    keys = _suppressed_keys(journal, session, table, loaded, leaving)
    if keys is None and not leaving.masks:
        return 0
    listed: list[str] = []
    try:
        path = new_key_list(journal, session.connection, table, listed)
        sizes = {f.path: f for _, f in package.files}
        for mask in leaving.masks:
            _add_keys(journal, session, table, sizes[mask], path)
        if keys is not None:
            write_keys(journal, session, table, keys, path)
        refresh(journal.names, session.connection, unlooked)
        backend = HiveBackend(journal, JobRequest(table, ""), made, journal.new_left_id)
        backend.session = session
        at = TableAt(table, statement.committed, package.version)
        return leave_rows_out(
            *(backend, at, found, rows_of_keys(backend, table, [path]), package, leaving),
            lambda s: journal.drop_segments([s.files[0].path]),
        )
    finally:
        journal.drop_segments(listed)
        journal.staged.difference_update(listed)


def _add_keys(
    journal: HiveJournal, session: HiveSession, table: Table, file: SegmentFile, path: str
) -> None:
    """Add the keys in a file to a list of keys."""
    parts = parts_in_file(Path(file.path), key_kinds(table), session.connection)
    write_parts(journal, session.connection, parts, file.rows, path)


def _suppressed_keys(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    loaded: Sequence[Segment],
    leaving: LeftOut,
) -> pa.Table | None:
    """The keys in loaded partitions that may not come back, by what is suppressed after the run.

    None if there are none.
    """
    if not loaded:
        return None
    with _suppressed_then(journal, leaving) as (_, fence):
        if not fence.concerns(table):
            return None
    names = dict.fromkeys([*table.key, *(i.path.root for i in descriptor_of(table))])
    version = table.format.version_column
    fields = tuple((n, table.by_physical(n).type) for n in names)
    fields = (*fields, (version, version_type(table)))
    found = [(s.files[0].path, s.fields) for s in loaded]
    rows = layout.staged_rows(journal.names, table, found)
    shown = exp.select(*[column(n, "r") for n, _ in fields]).from_(rows.subquery("r"))
    # The list is in the catalog, so the rows come to it.
    compared = session.typed(session.from_spark(shown, fields), fields)
    with _suppressed_then(journal, leaving) as (records, fence):
        records.show_arrow(_COMPARED, compared)
        query = Query.of(fence.keys(table, exp.to_table(_COMPARED)))
        keys = records.arrow(query, list_parameters(journal, query))
    return keys if keys.num_rows else None


@contextmanager
def _suppressed_then(
    journal: HiveJournal, leaving: LeftOut
) -> Iterator[tuple[HiveSession, SuppressionList]]:
    """A session that sees what is suppressed after the run; it is not committed."""
    with journal.exclusive_session() as records:
        for name in leaving.earlier:
            drop_suppressions(records, name)
        copy_suppressions(records, leaving.carried)
        yield records, load_fence(records)
