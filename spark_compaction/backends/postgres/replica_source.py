"""A table of a database as a package for replicas, and its pieces as files; writes nothing.

A piece has a name that is the same at both sides: a digest of the store that made it and of what
it is called there, which the name of its copy repeats. So a table that is replicated back is not
copied.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from journal.files.parquet_files import checksum
from journal.local_engine.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.model.wall_clock import wall_clock_us
from journal.records.backups import Backup
from journal.records.numbers import following_numbers
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, layout
from journal.stores.postgres.adopt.original_definition import texts_before
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.programs.file_copying import Bandwidth
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_pieces import ORIGIN_CHARS, digest_of_origin
from spark_compaction.programs.replica_reading import (
    gone_meanwhile,
    read_records,
    recorded_backup,
)

KIND = "PostgreSQL"
"""What packages of databases are called, as their copies in buckets are."""
_COPY = re.compile(rf"t\d+_r([0-9a-f]{{{ORIGIN_CHARS}}})_\d+$")
_ADOPTED = "taken_"
"""How the properties begin that say what an adopted table was before, in its own database."""


def origin(store: str, name: str) -> str:
    """What a table of a store is called at both sides of a replication."""
    copy = _COPY.match(name)
    if copy is not None:
        return copy[1]
    return digest_of_origin(store, name)


def copy_name(table_id: int, origin_name: str) -> str:
    """A new name for the copy of a table, which tells its origin."""
    return f"t{table_id}_r{origin_name}_{wall_clock_us()}"


def read_package(
    journal: DatabaseJournal, listing: Backup, is_recorded: bool, since: Version
) -> ReplicaPackage:
    """The package of what a backup lists, with the commits after ``since``.

    All of it is read while nobody commits; what an erasure has made of the tables of one that
    ``is_recorded`` is in it. Raises NOT_SUPPORTED for an adopted journal.
    """
    with journal.commit_section() as (session, committed, _):
        table = committed.catalog.by_id(listing.table_id)
        if table is None:
            raise gone_meanwhile(listing)
        if is_flat(table):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{table.name} has an adopted journal, which other tools write, too: the gateway"
                " has no record of its past",
                advice="name a bucket; or eject the table and adopt it again, as a plain one",
            )
        backup = recorded_backup(session, listing) if is_recorded else listing
        manifest, now = committed.tables[table.id].manifest, journal.clock.now()
        package = read_records(session, backup, manifest, journal.read_secret, now, since)
        counters = following_numbers(session, table.id)
        session.rollback()
    return replace(
        package,
        kind=KIND,
        place=journal.place,
        segments=tuple(_listed(package.store, s) for s in backup.segments),
        definitions=tuple((v, _as_made_here(t)) for v, t in package.definitions),
        counters=counters,
    )


def _listed(store: str, segment: Segment) -> Segment:
    """A segment whose file goes by its name at both sides; its id is its table here."""
    (file,) = segment.files
    named = replace(file, path=origin(store, file.path))
    # What an erasure has made of it has other rows than the segment says.
    known = segment.checksum if segment.id == file.path else None
    return replace(segment, id=file.path, files=(named,), checksum=known)


def _as_made_here(table: Table) -> Table:
    """A definition without what the table was before it was adopted in its own database."""
    kept = tuple(p for p in table.properties if not p[0].startswith(_ADOPTED))
    return replace(table, properties=kept)


@contextmanager
def piece_files(
    journal: DatabaseJournal,
    package: ReplicaPackage,
    names: Collection[str],
    bandwidth: int | None,
) -> Iterator[ReplicaPackage]:
    """The package with files of the tables of these ``names``, and of its masks, for the block.

    Raises SEGMENT_DAMAGED for a table that does not hold what its manifest lists.
    """
    table = package.table
    present = journal.state.catalog.by_id(table.id) or table
    transport, limit = DatabaseTransport(journal, table), Bandwidth(bandwidth)
    files: list[tuple[str, SegmentFile]] = []
    segments: list[Segment] = []
    with ExitStack() as stack:
        for segment in package.segments:
            (file,) = segment.files
            if file.path in names:
                path, made = stack.enter_context(
                    transport.file(segment, replace(file, path=segment.id))
                )
                limit.take(made.bytes)
                files.append((file.path, replace(made, path=str(path))))
                segment = replace(segment, checksum=_checksum(journal, present, segment))
            segments.append(segment)
        folder = stack.enter_context(scratch())
        files += [(m, _mask_file(journal, table, m, folder)) for m in package.masks]
        yield replace(package, root="/", segments=tuple(segments), files=tuple(files))


def _checksum(journal: DatabaseJournal, table: Table, segment: Segment) -> int | None:
    """The checksum of a segment's rows; None for one with texts of types that no copy has."""
    if texts_before(table):
        return None
    with journal.reading_session() as session:
        session.begin()
        found = as_committed.segment_fingerprint(session, table, segment)
        session.rollback()
    if segment.checksum not in {None, found[1]}:
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f"{segment.id} differs from what its manifest lists: nothing was replicated",
            advice="palimpsest verify shows what is wrong; restore the table from a backup",
        )
    return found[1]


def _mask_file(journal: DatabaseJournal, table: Table, mask: str, folder: Path) -> SegmentFile:
    """The keys of a mask in a file."""
    path = folder / f"{mask}.parquet"
    with journal.reading_session() as session:
        session.begin()
        keys = session.arrow(Query(layout.masked_keys(table, [mask]), ()), {})
        session.rollback()
    pq.write_table(keys, path)
    return SegmentFile(str(path), path.stat().st_size, keys.num_rows, checksum(path))
