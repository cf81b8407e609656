"""Retired segments: replaced in the manifest, kept until their grace ends, then removed.

They are recorded in ``_palimpsest.retired`` in the transaction that replaces them. A file goes only
when nobody can read it any more: its grace is over, no manifest lists it, no running statement
began when one did, and no job has it pinned. The record goes first: killed in between, the file is
one that nothing lists, and opening the warehouse removes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from journal.jobs import backups
from journal.segment import Segment, SegmentFile
from journal.stores.duckdb import maintenance as duckdb_maintenance
from journal.stores.duckdb.store import DuckDBSession
from journal.version import Version

if TYPE_CHECKING:
    from journal.embedded.journal import Journal

_TABLE = (
    "CREATE TABLE IF NOT EXISTS _palimpsest.retired (id VARCHAR, table_id BIGINT, segment VARCHAR,"
    " job_id VARCHAR, job_kind VARCHAR, reason VARCHAR, generation BIGINT, since BIGINT,"
    " until BIGINT)"
)
PURGE = "purge"
"""The kind under which an erasure retires what it has rewritten: nobody may ask it back."""
ARCHIVE = "archive"
"""The kind under which segments of rows past their time are kept until told."""
_COLUMNS = "id, table_id, segment, job_id, job_kind, reason, generation, since, until"


@dataclass(frozen=True, slots=True)
class Retirement:
    """Why segments are retired: by which job, since when, until when (None: until told)."""

    job_id: str
    job_kind: str
    reason: str
    since: Version
    until: Version | None


@dataclass(frozen=True, slots=True)
class RetiredSegment:
    """A segment, or the files of one, that the manifest of ``generation`` did not list any more."""

    id: str
    table_id: int
    segment: Segment
    generation: int
    why: Retirement


@dataclass(frozen=True, slots=True)
class Reaped:
    """What reaping removed, and what it left because it may still be read."""

    removed: tuple[str, ...] = ()
    bytes: int = 0
    in_use: tuple[str, ...] = ()


def ensure(session: DuckDBSession) -> None:
    """Make the tables of upkeep, also in a warehouse that an earlier version made."""
    session.text(_TABLE)
    duckdb_maintenance.ensure(session)


def record(
    session: DuckDBSession,
    table_id: int,
    generation: int,
    segments: Sequence[Segment],
    why: Retirement,
) -> tuple[str, ...]:
    """Record segments as retired in the session's transaction; their ids as retired ones."""
    ids = []
    for segment in segments:
        ids.append(f"{segment.id}@{generation}")
        session.text(
            "INSERT INTO _palimpsest.retired VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                ids[-1],
                table_id,
                json.dumps(segment.to_json()),
                why.job_id,
                why.job_kind,
                why.reason,
                generation,
                why.since,
                why.until,
            ],
        )
    return tuple(ids)


def load(session: DuckDBSession, table_id: int | None = None) -> list[RetiredSegment]:
    """Retired segments of a table or of all, oldest first."""
    rows = session.text(
        f"SELECT {_COLUMNS} FROM _palimpsest.retired"  # noqa: S608 - a constant
        " WHERE ? IS NULL OR table_id = ? ORDER BY since, id",
        [table_id, table_id],
    )
    return [
        RetiredSegment(
            row[0],
            row[1],
            Segment.from_json(json.loads(row[2])),
            row[6],
            Retirement(row[3], row[4], row[5], row[7], row[8]),
        )
        for row in rows
    ]


def kept(session: DuckDBSession, table_id: int) -> list[RetiredSegment]:
    """Those that anybody may ask back; what a purge has retired just waits to go."""
    return [r for r in load(session, table_id) if r.why.job_kind != PURGE]


@contextmanager
def pinned(journal: Journal, table_id: int) -> Iterator[tuple[Segment, ...]]:
    """The segments that anybody may ask back; their files stay for as long as the block lasts."""
    with ExitStack() as pins:
        # Under the lock nobody reaps between looking and pinning.
        with journal.commit_lock, journal.reading_session() as session:
            found = tuple(r.segment for r in kept(session, table_id))
            pins.enter_context(journal.pins.hold([f.path for s in found for f in s.files]))
        yield found


def forget(session: DuckDBSession, ids: Iterable[str]) -> None:
    """Remove the records of retired segments; their files are then nobody's."""
    for one in ids:
        session.text("DELETE FROM _palimpsest.retired WHERE id = ?", [one])


def keep_until(session: DuckDBSession, ids: Iterable[str], until: Version | None) -> None:
    """Give retired segments another end of grace; None keeps them until told."""
    for one in ids:
        session.text("UPDATE _palimpsest.retired SET until = ? WHERE id = ?", [until, one])


def paths(session: DuckDBSession) -> set[str]:
    """Every file that belongs to a retired segment."""
    return {f.path for r in load(session) for f in r.segment.files}


def is_over(retired: RetiredSegment, now: Version) -> bool:
    """True when a retired segment's grace has ended."""
    return retired.why.until is not None and retired.why.until <= now


def reap(
    journal: Journal,
    now: Version,
    table_id: int | None = None,
    chosen: Callable[[RetiredSegment], bool] | None = None,
) -> Reaped:
    """Remove retired segments whose grace has ended, or those ``chosen``; what is in use stays."""
    removed: list[SegmentFile] = []
    in_use: list[str] = []
    free: list[str] = []
    with journal.exclusive_session() as session:
        found = load(session, table_id)
        due = [r for r in found if (chosen(r) if chosen is not None else is_over(r, now))]
        read = journal.paths_in_use() | backups.pinned_paths(session)
        live = _live_paths(journal)
        for one in due:
            named = {f.path for f in one.segment.files}
            (in_use if named & read else free).append(one.id)
        forget(session, free)
        session.commit()
        kept = paths(session)
        for one in due:
            for file in one.segment.files:
                if one.id in free and file.path not in live and file.path not in kept:
                    removed.append(file)
        journal.warehouse.remove_files(removed)
    size = sum(file.bytes for file in removed)
    return Reaped(tuple(file.path for file in removed), size, tuple(in_use))


def _live_paths(journal: Journal) -> set[str]:
    states = journal.state.tables.values()
    return {f.path for t in states for s in t.manifest.segments for f in s.files}
