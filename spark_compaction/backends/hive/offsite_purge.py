"""Copies of a Hive store's backups that lie elsewhere, purged: loaded, written anew, and put back.

A copy is loaded into partitions that nothing lists. What is left of them goes into the places of
the files that held a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment, SegmentFile
from journal.records.backups import Backup
from journal.stores.hive import backup_segments, layout
from journal.stores.hive.session import HiveSession
from journal.transactions.state import TableState
from spark_compaction.backends.hive import erased_rows, rewriting
from spark_compaction.backends.hive.backup_transport import HiveTransport
from spark_compaction.backends.hive.rewriting import Kept, Rows
from spark_compaction.contract import silent
from spark_compaction.programs import copies


def purge_copy(
    transport: HiveTransport, listed: Backup, definition: Table, masks: Sequence[str]
) -> tuple[int, dict[str, int]]:
    """Write the files of one copy anew that hold a key: how many, and the rows that went."""
    with copies.brought(transport, listed, silent) as here:
        return _purge_here(transport, listed, definition, here, masks)


def _purge_here(
    transport: HiveTransport, listed: Backup, definition: Table, here: Backup, masks: Sequence[str]
) -> tuple[int, dict[str, int]]:
    journal, table = transport.journal, transport.table
    segments = {s.files[0].path: s for s in backup_segments.segments_of(here)}
    there = [file.path for segment in listed.segments for file in segment.files]
    away = dict(zip(segments, there, strict=True))
    bare = TableState(Manifest(0, ()), 0, RowCounts(), (table,))
    apart = Kept(tuple(segments.values()), MappingProxyType({p: frozenset({p}) for p in segments}))

    def rows(kind: str) -> Rows:
        return lambda piece: erased_rows.rows_with(journal, table, piece, kind)

    with (
        rewriting.staging(journal) as made,
        journal.statement(journal.begin(read_only=True)) as statement,
    ):
        session = statement.session
        session.put_remote(erased_rows.ERASED, layout.masked_keys(journal.names, table, masks))
        staged = rewriting.rewrite(
            *(journal, session, table, bare, (rows("SEMI"), rows("ANTI")), made, apart)
        )
        moved: dict[str, tuple[Segment, SegmentFile] | None] = {}
        for path, file in staged.moved.items():
            moved[away[path]] = None if file is None else (_of(segments[path], file), file)
        versions = dict.fromkeys(masks, staged.removed)
        if len(masks) > 1:
            versions = {m: _count(transport, session, list(segments.values()), m) for m in masks}
        if moved:
            copies.rewritten(transport, listed, definition, moved)
        journal.drop_segments(made)
    return len(moved), versions


def _of(segment: Segment, file: SegmentFile) -> Segment:
    return replace(segment, files=(file,))


def _count(
    transport: HiveTransport, session: HiveSession, segments: list[Segment], mask: str
) -> int:
    manifest = Manifest(0, (), tuple(segments))
    return erased_rows.count(transport.journal, session, transport.table, manifest, mask)
