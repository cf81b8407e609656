"""Backups in a Hive store: the segments a table consisted of at a moment, as a list.

    make     what the catalog lists is listed under a name, too; nothing is copied
    keep     partitions that a backup lists outlast their retirement, until it expires
    follow   where an erasure wrote segments anew, backups list what is left of them

A segment behind a backup is live or retired; which backups are in force is said by
``journal.records.backups``. Nothing here decides what is restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.store_session import StoreSession
from journal.records import backups
from journal.records import maintenance as rows_of_upkeep
from journal.records.backups import Backup, Naming
from journal.stores.hive import backup_segments
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db import retired as sql_retired
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.segment_check import count_rows
from journal.stores.hive.store import HiveConnection
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.hive.cleaning import REAPING
from spark_compaction.backends.hive.rewriting import StagedSegments


def make(journal: HiveJournal, table: Table, naming: Naming) -> Backup:
    """Record what a table consists of now; raises BACKUP if the name is taken."""
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        _, committed = journal.look_in(connection)
        backup = _listed(committed, table, naming)
        with journal.recording(connection) as session:
            backups.add(session, backup)
            session.commit()
    return backup


def planned(journal: HiveJournal, table: Table, naming: Naming) -> Backup:
    """What a backup would hold now; nothing is written."""
    _, committed = journal.look()
    return _listed(committed, table, naming)


def leave(session: DuckDBSession, committed: JournalState, table: Table, naming: Naming) -> None:
    """Record what a table consisted of, in the transaction of a job that removes rows."""
    backup = _listed(committed, table, naming)
    if all(b.name != naming.name for b in backups.load(session, table.id)):
        backups.add(session, backup)


def _listed(committed: JournalState, table: Table, naming: Naming) -> Backup:
    return naming.backup(table, committed.tables[table.id].manifest.segments, committed.version)


def shown(
    table: Table, table_id: int, backup: Backup, masks: tuple[str, ...]
) -> tuple[Table, Manifest]:
    """A backup as a table of its own, of that id, with what it consists of."""
    return replace(table, id=table_id), Manifest(0, (), backup_segments.segments_of(backup), masks)


def names_in(found: Iterable[Backup]) -> frozenset[str]:
    """The segments that backups list."""
    return frozenset(path for b in found for path in b.paths)


def with_backups(session: StoreSession, table: Table, state: TableState) -> TableState:
    """A state in which rows of backups can be searched like live ones; never committed."""
    manifest = state.manifest
    segments = (*manifest.segments, *backup_segments.backup_only_segments(session, table, state))
    return replace(state, manifest=replace(manifest, segments=segments))


def listed_in(session: StoreSession, table: Table) -> dict[str, frozenset[str]]:
    """By segment the backups that list it: what is listed apart is written anew apart."""
    found: dict[str, frozenset[str]] = {}
    for backup in backups.load(session, table.id):
        for path in backup.paths:
            found[path] = found.get(path, frozenset()) | {backup.name}
    return found


def follow(
    session: DuckDBSession,
    connection: CatalogConnection,
    table: Table,
    staged: StagedSegments,
    now_us: int,
) -> None:
    """Let backups list what an erasure wrote anew; all else that was replaced goes from now on.

    What only backups list stays as long as what it stands for.
    """
    known = {r.path: r for r in sql_retired.load_retired(connection, table.id)}
    fresh: list[sql_retired.RetiredPartition] = []
    for segment, old in staged.beside:
        if old not in known:
            raise PalimpsestError(
                Code.JOB_BUSY,
                f"a backup of {table.name} expired while rows were erased from it",
                advice="erase them again",
            )
        fresh.append(replace(known[old], path=segment.files[0].path))
    sql_retired.retire(connection, fresh)
    backups.follow(session, staged.moved)
    kept = names_in(backups.load(session, table.id))
    sql_retired.end_grace(connection, table.id, now_us, kept)


@contextmanager
def reading(
    journal: HiveJournal, connection: HiveConnection, table: Table, backup: Backup, pin: Naming
) -> Iterator[Backup]:
    """Keep a backup that is about to be read, and see that it is whole; the backup as it is now.

    It is kept as one more backup, which expires if this process ends before it is dropped. Raises
    BACKUP if it is gone, SEGMENT_DAMAGED if rows of it are.
    """
    with journal.leases.holding([REAPING]):
        with journal.exclusive_session() as session:
            found = backups.named(backups.load(session, table.id), backup.name, str(table.name))
            _, committed = journal.look()
            known = backup_segments.live_paths(committed.tables[table.id].manifest)
            with journal.catalog.reading() as catalog:
                known |= {r.path for r in sql_retired.load_retired(catalog, table.id)}
            if not found.paths <= known:
                raise PalimpsestError(
                    Code.BACKUP,
                    f'the backup "{found.name}" of {table.name} is past its time',
                    advice="SELECT * FROM system.backups lists those there are",
                )
            backups.add(session, pin.backup(table, found.segments, found.version))
            session.commit()
    try:
        check(journal, connection, table, found)
        yield found
    finally:
        with journal.exclusive_session() as session:
            rows_of_upkeep.drop_backup(session, table.id, pin.name)
            session.commit()


def check(journal: HiveJournal, connection: HiveConnection, table: Table, backup: Backup) -> None:
    """Raise SEGMENT_DAMAGED unless every segment of a backup has the rows it had."""
    for segment in backup_segments.segments_of(backup):
        path = segment.files[0].path
        rows = count_rows(journal.names, connection, table, path).total
        if rows != segment.counts.total:
            raise PalimpsestError(
                Code.SEGMENT_DAMAGED,
                f'the backup "{backup.name}" of {table.name} is not whole: {rows} rows in {path},'
                f" which had {segment.counts.total}",
                advice="restore another backup; SELECT * FROM system.backups lists them",
            )
