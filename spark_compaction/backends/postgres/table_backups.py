"""Backups in a database, as erasures write them anew.

A table behind a backup is live or retired; which backups are in force is said by
``journal.records.backups``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Head, Segment, SegmentFile, Tier
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import backups
from journal.records.report import Work
from journal.stores.postgres import backup_segments, layout, pieces
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.backends.postgres import rewriting

FIRST_NUMBER = 10_000
"""Where the numbers of tables of backups begin that one job writes anew beside live ones."""


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


@dataclass(frozen=True, slots=True)
class PurgedBackups:
    """What became of tables that only backups list."""

    moved: Mapping[str, Segment | None]
    work: Work


def purge(
    session: PostgresSession,
    table: Table,
    state: TableState,
    erased: exp.Table,
    version: Version,
    why: str,
    copy: rewriting.Copy = rewriting.by_server,
) -> PurgedBackups:
    """Write what backups list besides live tables anew without the rows of some keys."""
    moved: dict[str, Segment | None] = {}
    work = Work()
    for number, piece in enumerate(
        backup_segments.backup_only_segments(session, table, state), FIRST_NUMBER
    ):
        done = rewriting.rewrite_piece(
            *(session, table, piece, number),
            lambda source, fields: pieces.erased_rows(table, source, fields, erased),
            lambda source, fields: pieces.kept_rows(table, source, fields, erased),
            *(version, why, copy),
        )
        if done is None:
            work += rewriting.left_alone(backup_segments.source_of(table, piece))
            continue
        moved[piece.id] = done.made
        work += done.work
    return PurgedBackups(moved, work)


def follow(
    session: PostgresSession,
    table: Table,
    moved: Mapping[str, Segment | None],
    made_beside: Mapping[str, Segment | None],
    now: Version,
) -> None:
    """Let backups list what a purge has made of tables, in the swap's transaction.

    ``made_beside`` are those among ``moved`` that no manifest lists: each stays as long as the one
    it stands for. What no backup lists any more goes as soon as nobody reads it.
    """
    known = {r.name: r for r in rows_of.retired(session, table.id)}
    for name, made in made_beside.items():
        if name not in known:
            raise Replan(f"{name} was dropped meanwhile")
        if made is not None:
            size = pieces.size(session, layout.segment_table(made))
            old = replace(known[name], name=made.id)
            rows_of.retire(session, old, old.job_id, old.job_kind, size)
    files = {
        name: None if made is None else with_file(made, made.bytes).files[0]
        for name, made in moved.items()
    }
    backups.follow(session, files)
    kept = backups.listed_paths(backups.load(session, table.id))
    rows_of.end_grace(session, table.id, now, kept)
