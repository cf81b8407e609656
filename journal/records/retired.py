"""Retired segments: replaced in the manifest, kept until their grace ends, then removed.

They are recorded in ``_palimpsest.retired`` in the transaction that replaces them. A file goes only
when nobody can read it any more: its grace is over, no manifest lists it, no running statement
began when one did, and no job has it pinned. The record goes first: killed in between, the file is
one that nothing lists, and opening the warehouse removes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from journal.local_engine.session import DuckDBSession
from journal.model.segment import Segment
from journal.model.version import Version
from journal.records import maintenance as duckdb_maintenance

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

    @property
    def since(self) -> Version:
        """When it was replaced."""
        return self.why.since

    @property
    def job_id(self) -> str:
        """The run that replaced it."""
        return self.why.job_id


@dataclass(frozen=True, slots=True)
class Reaped:
    """What reaping removed, and what it left because it may still be read.

    How many rows and bytes that was is None where the store does not know.
    """

    removed: tuple[str, ...] = ()
    in_use: tuple[str, ...] = ()
    rows: int | None = None
    bytes: int | None = None


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
