"""Backups in a Hive store: the segments a table consisted of at a moment, as a list.

    make     what the catalog lists is listed under a name, too; nothing is copied
    keep     partitions that a backup lists outlast their retirement, until it expires
    follow   where an erasure wrote segments anew, backups list what is left of them

A segment behind a backup is live or retired; which backups are in force is said by
``journal.jobs.backups``. Nothing here decides what is restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from journal.errors import Code, PalimpsestError
from journal.hive.cleaning import REAPING
from journal.hive.intact import count_rows
from journal.hive.journal import HiveJournal
from journal.hive.rewriting import Staged
from journal.jobs import backups
from journal.jobs.backups import Backup, Naming
from journal.schema import Table
from journal.segment import Manifest, RowCounts, Segment
from journal.state import JournalState, TableState
from journal.stores.base import StoreSession
from journal.stores.beside import catalog as rows_of
from journal.stores.beside import retired as sql_retired
from journal.stores.beside.engine import CatalogConnection
from journal.stores.duckdb import maintenance as rows_of_upkeep
from journal.stores.duckdb.store import DuckDBSession
from journal.stores.hive.store import HiveConnection


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
    return replace(table, id=table_id), Manifest(0, (), segments_of(backup), masks)


def segments_of(backup: Backup) -> tuple[Segment, ...]:
    """The segments of a backup as manifests list them, by the names they have now.

    Rows of one that an erasure has written anew are counted, but not by kind.
    """
    return tuple(_as_it_is(s) for s in backup.segments)


def _as_it_is(segment: Segment) -> Segment:
    (file,) = segment.files
    name = file.path.partition("/")[2]
    return segment if name == segment.id else replace(segment, id=name, counts=RowCounts(file.rows))


def live_paths(manifest: Manifest) -> frozenset[str]:
    """The segments that a manifest lists."""
    return frozenset(s.files[0].path for s in manifest.segments)


def names_in(found: Iterable[Backup]) -> frozenset[str]:
    """The segments that backups list."""
    return frozenset(path for b in found for path in b.paths)


def beside(session: StoreSession, table: Table, state: TableState) -> tuple[Segment, ...]:
    """The segments that only backups of a table list, once each."""
    live = live_paths(state.manifest)
    found = {s.files[0].path: s for b in backups.listed(session, table.id) for s in segments_of(b)}
    return tuple(s for path, s in found.items() if path not in live)


def with_backups(session: StoreSession, table: Table, state: TableState) -> TableState:
    """A state in which rows of backups can be searched like live ones; never committed."""
    manifest = state.manifest
    segments = (*manifest.segments, *beside(session, table, state))
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
    staged: Staged,
    now_us: int,
) -> None:
    """Let backups list what an erasure wrote anew; all else that was replaced goes from now on.

    What only backups list stays as long as what it stands for.
    """
    known = {r.path: r for r in sql_retired.load_retired(connection, table.id)}
    fresh: list[sql_retired.Retired] = []
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
            known = live_paths(committed.tables[table.id].manifest)
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
    for segment in segments_of(backup):
        path = segment.files[0].path
        rows = count_rows(journal.names, connection, table, path).total
        if rows != segment.counts.total:
            raise PalimpsestError(
                Code.SEGMENT_DAMAGED,
                f'the backup "{backup.name}" of {table.name} is not whole: {rows} rows in {path},'
                f" which had {segment.counts.total}",
                advice="restore another backup; SELECT * FROM system.backups lists them",
            )
