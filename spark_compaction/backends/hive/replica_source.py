"""A table of a Hive store as a package for replicas, its partitions as files; writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from journal.local_engine.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.records.backups import Backup
from journal.records.numbers import following_numbers
from journal.records.schema import STATE
from journal.sql.counting import Fingerprint
from journal.sql.relations import column
from journal.sql.row_layout import journal_fields
from journal.stores.hive import layout
from journal.stores.hive.adopt.plain import TAKEN
from journal.stores.hive.catalog_db.catalog import RECORDS
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.object_names import origin_in
from journal.stores.hive.session import HiveSession
from spark_compaction.backends.hive.backup_transport import write_file
from spark_compaction.backends.hive.key_partitions import key_kinds
from spark_compaction.backends.hive.pieces import fingerprints
from spark_compaction.programs.file_copying import Bandwidth
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_pieces import digest_of_origin
from spark_compaction.programs.replica_reading import (
    gone_meanwhile,
    read_records,
    recorded_backup,
)

_KINDS = {HiveEngine.SPARK: "Hive store", HiveEngine.APACHE: "Apache Hive store"}


def kind_of_store(journal: HiveJournal) -> str:
    """What packages are called of stores whose server keeps and compares rows as this one does."""
    return _KINDS[journal.store.engine]


def origin(store: str, path: str) -> str:
    """What a partition of a store is called at both sides of a replication."""
    return origin_in(path.partition("/")[2]) or digest_of_origin(store, path)


def read_package(
    journal: HiveJournal, listing: Backup, is_recorded: bool, since: Version
) -> ReplicaPackage:
    """The package of what a backup lists, with the commits after ``since``.

    All of it is read while nobody commits; what an erasure has made of the partitions of one that
    ``is_recorded`` is in it. Raises NOT_SUPPORTED where a plain table of others is among them.
    """
    with journal.catalog.writing(STATE, RECORDS) as connection:
        row, committed = journal.look_in(connection)
        journal.clock.settle(max(committed.version, row.settled))
        table = committed.catalog.by_id(listing.table_id)
        if table is None:
            raise gone_meanwhile(listing)
        with journal.recording(connection) as session:
            backup = recorded_backup(session, listing) if is_recorded else listing
            manifest, now = committed.tables[table.id].manifest, journal.clock.now()
            package = read_records(session, backup, manifest, journal.read_secret, now, since)
            counters = following_numbers(session, table.id)
    if any(layout.is_adopted(journal.names, s.files[0].path) for s in backup.segments):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.name} still has the rows of the plain table that was adopted, which others may"
            " change",
            advice=f"CALL system.compact('{table.name}') takes them over; then replicate it",
        )
    return replace(
        package,
        kind=kind_of_store(journal),
        place=journal.place,
        segments=tuple(_listed(package.store, s) for s in backup.segments),
        definitions=tuple((v, _as_made_here(t)) for v, t in package.definitions),
        counters=counters,
    )


def _listed(store: str, segment: Segment) -> Segment:
    """A segment whose file goes by its name at both sides; its id is its partition here."""
    (file,) = segment.files
    named = replace(file, path=origin(store, file.path))
    return replace(segment, id=file.path, files=(named,))


def _as_made_here(table: Table) -> Table:
    """A definition without the plain table that was adopted, which its own store alone can find."""
    return replace(table, properties=tuple(p for p in table.properties if p[0] != TAKEN))


@contextmanager
def piece_files(
    journal: HiveJournal,
    package: ReplicaPackage,
    names: Collection[str],
    bandwidth: int | None,
) -> Iterator[ReplicaPackage]:
    """The package with files of the partitions of these ``names``, and of its masks, for the block.

    Raises SEGMENT_DAMAGED for a partition that has not as many rows as its manifest lists.
    """
    table, limit = package.table, Bandwidth(bandwidth)
    files: list[tuple[str, SegmentFile]] = []
    segments: list[Segment] = []
    with scratch() as folder:
        with journal.statement(journal.begin(read_only=True)) as statement:
            session = statement.session
            lacking = {s.id.partition("/")[0] for s in package.segments if s.files[0].path in names}
            for name in sorted(lacking):
                # The server's session may remember files as they were before somebody changed them.
                session.connection.refresh(journal.names.journal_database, name)
            for segment in package.segments:
                (file,) = segment.files
                if file.path in names:
                    path = folder / f"{file.path}.parquet"
                    made, fingerprint = _piece_file(journal, session, table, segment, path)
                    limit.take(made.bytes)
                    files.append((file.path, replace(made, path=str(path))))
                    segment = replace(segment, checksum=fingerprint)
                segments.append(segment)
            for number, mask in enumerate(package.masks):
                path = folder / f"mask_{number}.parquet"
                files.append((mask, _mask_file(journal, session, table, mask, path)))
        yield replace(package, root="/", segments=tuple(segments), files=tuple(files))


def _piece_file(
    journal: HiveJournal, session: HiveSession, table: Table, segment: Segment, path: Path
) -> tuple[SegmentFile, int]:
    """A file with the rows of a partition, and their checksum, which the server makes."""
    columns = journal_fields(table, segment.fields)
    (file,) = segment.files
    query = layout.rows_of(journal.names, [segment.id])
    made = write_file(session, query, columns, replace(file, path=segment.id), path)
    return made, fingerprint_of(journal, session, table, segment, segment.id)[1]


def fingerprint_of(
    journal: HiveJournal, session: HiveSession, table: Table, segment: Segment, path: str
) -> Fingerprint:
    """The number of rows of a partition in the columns of a segment, and their checksum."""
    names = [name for name, _ in journal_fields(table, segment.fields)]
    rows = layout.rows_of(journal.names, [path])
    rows.set("expressions", [column(name) for name in names])
    (found,) = fingerprints(session.connection, [(rows, names)])
    return found


def _mask_file(
    journal: HiveJournal, session: HiveSession, table: Table, mask: str, path: Path
) -> SegmentFile:
    """The keys of a mask in a file; raises JOB_BUSY if the erasure has ended meanwhile."""
    keys = layout.masked_keys(journal.names, table, [mask])
    assert isinstance(keys, exp.Select)
    counted = keys.select(exp.Count(this=exp.Star()), append=False)
    ((count,),) = session.connection.run(counted)
    if not count:
        raise PalimpsestError(
            Code.JOB_BUSY,
            f"an erasure of rows of {table.name} ended while they were copied",
            advice="nothing was replicated; run it again",
        )
    file = layout.segment_file(mask, int(count))
    return replace(write_file(session, keys, key_kinds(table), file, path), path=str(path))
