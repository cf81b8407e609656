"""What manifests and backups in a database list, by the tables that hold it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Head, Manifest, RowCounts, Segment
from journal.model.store_session import StoreSession
from journal.records import backups
from journal.records.backups import Backup
from journal.stores.postgres import layout
from journal.transactions.state import TableState


def source_of(table: Table, piece: Head | Segment) -> exp.Table:
    """The table behind a head or a segment."""
    if isinstance(piece, Segment):
        return layout.segment_table(piece)
    return layout.head_table(table.id, piece)


def tables_of(backup: Backup) -> tuple[Segment, ...]:
    """The segments of a backup as manifests list them: a table each, by its present name.

    Rows are counted, not by kind, since an erasure has removed some.
    """
    return tuple(
        replace(s, id=file.path, files=(), counts=RowCounts(file.rows), checksum=None)
        for s in backup.segments
        for file in s.files
    )


def live_names(table: Table, manifest: Manifest) -> frozenset[str]:
    """The tables that a manifest lists."""
    consists_of: list[Head | Segment] = [*manifest.heads, *manifest.segments]
    return frozenset(source_of(table, piece).name for piece in consists_of)


def backup_only_segments(
    session: StoreSession, table: Table, state: TableState
) -> tuple[Segment, ...]:
    """The segments that only backups of a table list, once each."""
    live = live_names(table, state.manifest)
    found = {s.id: s for b in backups.backups_in_store(session, table.id) for s in tables_of(b)}
    return tuple(s for name, s in found.items() if name not in live)
