"""People in copies of a Hive store's backups that lie elsewhere: found there, and purged from them.

A copy is loaded into partitions that nothing lists, so that rows are matched as in live ones. For a
purge they are written anew without the rows of some keys; what is left goes into the places of the
files that held one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import pyarrow as pa

from journal.erasure.erasure_spec import ErasureSpec, TargetTable
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment, SegmentFile
from journal.records.backups import Backup
from journal.stores.hive import backup_segments, layout
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.session import HiveSession
from journal.transactions.state import TableState
from spark_compaction.backends.hive import erased_rows, rewriting
from spark_compaction.backends.hive.backup_transport import HiveTransport
from spark_compaction.backends.hive.rewriting import Kept, Rows
from spark_compaction.contract import silent
from spark_compaction.erasure.offsite_search import (
    NOT_LOOKED_AT,
    Away,
    Copied,
    Look,
    keys_in_copies,
    keys_in_copy,
    looking,
    purge_each,
)
from spark_compaction.programs import copies


def search(journal: HiveJournal, aim: TargetTable, wanted: ErasureSpec, *, tidies: bool) -> Copied:
    """The keys of whoever is meant in copies of a table's backups."""
    transport = HiveTransport(journal, aim.table)
    found = keys_in_copies(transport, aim.table, _look(journal, aim, wanted), tidies=tidies)
    if wanted.rows and aim.table.id not in wanted.among and found.files:
        found.warns = NOT_LOOKED_AT
    return found


def search_one(
    journal: HiveJournal, aim: TargetTable, wanted: ErasureSpec, backup: Backup
) -> Copied:
    """The same in one copy; raises what keeps it from being searched."""
    transport = HiveTransport(journal, aim.table)
    return keys_in_copy(transport, aim.table, backup, _look(journal, aim, wanted), tidies=True)


def _look(journal: HiveJournal, aim: TargetTable, wanted: ErasureSpec) -> Look:
    def match(segments: tuple[Segment, ...]) -> list[pa.Table]:
        with journal.statement(journal.begin(read_only=True)) as statement:
            return erased_rows.keys_among(statement, aim, wanted.subjects, segments)

    return looking(aim, wanted, backup_segments.segments_of, match)


def purge(journal: HiveJournal, table: Table, masks: Iterable[str]) -> Away:
    """Remove the keys of some masks from every copy of a table's backups; what went, by mask."""
    transport = HiveTransport(journal, table)
    return purge_each(transport, table, masks, partial(_purge_one, transport))


def _purge_one(
    transport: HiveTransport, backup: Backup, masks: list[str]
) -> tuple[int, dict[str, int]]:
    """Write the files of one copy anew that hold a key: how many, and the rows that went."""
    with copies.brought(transport, backup, silent) as here:
        return _purge_here(transport, backup, here, masks)


def _purge_here(
    transport: HiveTransport, backup: Backup, here: Backup, masks: list[str]
) -> tuple[int, dict[str, int]]:
    assert backup.place is not None
    journal, table = transport.journal, transport.table
    listed, definition = copies.read(backup.place)
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
