"""Backups in a database, as erasures write them anew.

A table behind a backup is live or retired; which backups are in force is said by
``journal.records.backups``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from journal.model.schema import Table
from journal.model.segment import Head, Segment, SegmentFile, Tier
from journal.model.store_session import StoreSession
from journal.stores.postgres import backup_segments, layout, pieces
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState


def pieces_of(
    session: PostgresSession, table: Table, state: TableState, heads: Iterable[Head]
) -> tuple[Segment, ...]:
    """Heads and segments as a backup lists them: each with the name and size of its table."""
    found: list[Segment] = []
    consists_of: list[Head | Segment] = [*heads, *state.manifest.segments]
    for piece in consists_of:
        source = backup_segments.source_of(table, piece)
        if isinstance(piece, Segment):
            listed = piece
        else:
            counts = layout.count_rows(session, table, source)
            listed = Segment(source.name, Tier.DELTA, (), piece.fields, counts, 0, 0)
        if listed.counts.total:
            size = pieces.size(session, source)
            found.append(with_file(listed, size))
    return tuple(found)


def with_file(segment: Segment, size: int) -> Segment:
    """A segment as a backup lists it: its table stands for a file."""
    return replace(segment, files=(SegmentFile(segment.id, size, segment.counts.total, 0),))


def with_backups(session: StoreSession, table: Table, state: TableState) -> TableState:
    """A state in which rows of backups can be searched like live ones; never committed."""
    manifest = state.manifest
    segments = (*manifest.segments, *backup_segments.backup_only_segments(session, table, state))
    return replace(state, manifest=replace(manifest, segments=segments))
