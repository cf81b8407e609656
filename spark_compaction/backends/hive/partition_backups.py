"""Backups in a Hive store: where an erasure wrote segments anew, they list what is left.

A segment behind a backup is live or retired; which backups are in force is said by
``journal.records.backups``.
"""

from __future__ import annotations

from dataclasses import replace

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.records import backups
from journal.stores.hive import backup_segments
from journal.stores.hive.catalog_db import retired as sql_retired
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.transactions.state import TableState
from spark_compaction.backends.hive.rewriting import StagedSegments


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
    session: StoreSession,
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
    kept = backups.listed_paths(backups.load(session, table.id))
    sql_retired.end_grace(connection, table.id, now_us, kept)
