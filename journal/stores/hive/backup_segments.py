"""What manifests and backups of a Hive store list, by the partitions that hold it."""

from __future__ import annotations

from dataclasses import replace

from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment
from journal.model.store_session import StoreSession
from journal.records import backups
from journal.records.backups import Backup
from journal.transactions.state import TableState


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


def backup_only_segments(
    session: StoreSession, table: Table, state: TableState
) -> tuple[Segment, ...]:
    """The segments that only backups of a table list, once each."""
    live = live_paths(state.manifest)
    found = {
        s.files[0].path: s
        for b in backups.backups_in_store(session, table.id)
        for s in segments_of(b)
    }
    return tuple(s for path, s in found.items() if path not in live)
