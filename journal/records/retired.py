"""Retired segments: replaced in the manifest, kept until their grace ends, then removed.

They are recorded in the transaction that replaces them. A file of a warehouse goes only
when nobody can read it any more: its grace is over, no manifest lists it, no running statement
began when one did, and no job has it pinned. The record goes first: killed in between, the file is
one that nothing lists, and opening the warehouse removes it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.segment import Segment
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records.catalog import load_journal
from journal.records.schema import RETIRED
from journal.records.statements import by, delete, execute, insert, select, update

_ORDER = ["since", "id"]
_ALL, _OF_TABLE = select(RETIRED, order=_ORDER), select(RETIRED, (), by("table_id"), _ORDER)
_LATER = select(RETIRED, ["id"], {"table_id": exp.EQ, "until": exp.GT}, _ORDER)
_KEEP, _FORGET = update(RETIRED, ["until"], by("id")), delete(RETIRED, by("id"))

PURGE = "purge"
"""The kind under which an erasure retires what it has rewritten: nobody may ask it back."""
ARCHIVE = "archive"
"""The kind under which segments of rows past their time are kept until told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredRow:
    """A retired piece as it is stored; which fields a store fills, ``RETIRED`` says."""

    id: str
    table_id: int
    since: Version
    until: Version | None
    job_id: str = ""
    job_kind: str = ""
    reason: str = ""
    segment: str | None = None
    generation: int = 0
    bytes: int = 0
    replaced_by: int | None = None

    def is_over(self, now: Version) -> bool:
        """True when its grace has ended."""
        return self.until is not None and self.until <= now

    def of(self, ids: Iterable[str]) -> list[RetiredRow]:
        """The same row for pieces of these ids."""
        return [replace(self, id=name) for name in ids]


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


def record(
    session: RecordSession,
    table_id: int,
    generation: int,
    segments: Sequence[Segment],
    why: Retirement,
) -> tuple[str, ...]:
    """Record segments as retired in the session's transaction; their ids as retired ones."""
    rows = [
        RetiredRow(
            id=f"{segment.id}@{generation}",
            table_id=table_id,
            since=why.since,
            until=why.until,
            job_id=why.job_id,
            job_kind=why.job_kind,
            reason=why.reason,
            segment=json.dumps(segment.to_json()),
            generation=generation,
        )
        for segment in segments
    ]
    retire(session, rows)
    return tuple(row.id for row in rows)


def load(session: RecordSession, table_id: int | None = None) -> list[RetiredSegment]:
    """Retired segments of a table or of all, oldest first."""
    return [
        RetiredSegment(
            row.id,
            row.table_id,
            Segment.from_json(json.loads(row.segment or "{}")),
            row.generation,
            Retirement(row.job_id, row.job_kind, row.reason, row.since, row.until),
        )
        for row in load_retired(session, table_id)
    ]


def recoverable_segments(session: RecordSession, table_id: int) -> list[RetiredSegment]:
    """Those that anybody may ask back; what a purge has retired just waits to go."""
    return [r for r in load(session, table_id) if r.why.job_kind != PURGE]


def paths(session: RecordSession) -> set[str]:
    """Every file that belongs to a retired segment."""
    return {f.path for r in load(session) for f in r.segment.files}


def is_over(retired: RetiredSegment, now: Version) -> bool:
    """True when a retired segment's grace has ended."""
    return retired.why.until is not None and retired.why.until <= now


def retire(session: RecordSession, rows: Iterable[RetiredRow]) -> None:
    """Record pieces as retired."""
    for row in rows:
        execute(session, insert(RETIRED), [getattr(row, name) for name in RETIRED.names])


def load_retired(session: RecordSession, table_id: int | None = None) -> list[RetiredRow]:
    """The rows of the retired pieces of a table or of all, oldest first."""
    rows = execute(session, _ALL) if table_id is None else execute(session, _OF_TABLE, [table_id])
    return [RetiredRow(**dict(zip(RETIRED.names, row, strict=True))) for row in rows]


def recorded_segment_ids(session: RecordSession, table_id: int) -> frozenset[str]:
    """The segments of a journal that are live or retired."""
    row = load_journal(session, table_id)
    live = () if row is None else row.manifest.segments
    return frozenset({s.id for s in live} | {r.id for r in load_retired(session, table_id)})


def end_grace(
    session: RecordSession, table_id: int, until: Version, but: Collection[str] = ()
) -> None:
    """Let a table's retired pieces stay no longer than until then, ``but`` these."""
    found = [id for (id,) in execute(session, _LATER, [table_id, until])]  # noqa: A001
    keep_until(session, [id for id in found if id not in but], until)  # noqa: A001


def keep_until(session: RecordSession, ids: Iterable[str], until: Version | None) -> None:
    """Give retired pieces another end of grace; None keeps them until told."""
    for one in ids:
        execute(session, _KEEP, [until, one])


def forget(session: RecordSession, ids: Iterable[str]) -> None:
    """Remove the records of retired pieces; what they were is then nobody's."""
    for one in ids:
        execute(session, _FORGET, [one])
