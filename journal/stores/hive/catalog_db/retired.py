"""Retired segments of a Hive store: which no manifest lists, until when they stay, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from journal.model.store_session import RecordSession
from journal.records import retired
from journal.records.retired import RetiredRow
from journal.records.schema import RETIRED as RETIRED


@dataclass(frozen=True, slots=True)
class RetiredPartition:
    """A segment that was replaced: until when it stays, since when, and by which job."""

    path: str
    table_id: int
    until_us: int
    since: int
    job_id: str


def retire(connection: RecordSession, found: Iterable[RetiredPartition]) -> None:
    """Note that no manifest lists these segments any more."""
    rows = [
        RetiredRow(id=r.path, table_id=r.table_id, since=r.since, until=r.until_us, job_id=r.job_id)
        for r in found
    ]
    retired.retire(connection, rows)


def load_retired(connection: RecordSession, table_id: int | None = None) -> list[RetiredPartition]:
    """The retired segments of a table or of all, those first that were replaced first."""
    return [
        RetiredPartition(r.id, r.table_id, r.until or 0, r.since, r.job_id or "")
        for r in retired.load_retired(connection, table_id)
    ]


def end_grace(
    connection: RecordSession, table_id: int, until_us: int, but: Collection[str] = ()
) -> None:
    """Let a table's retired segments stay no longer than until then, ``but`` these."""
    retired.end_grace(connection, table_id, until_us, but)


def end_grace_of(connection: RecordSession, paths: Iterable[str], until_us: int) -> None:
    """Let these retired segments stay no longer than until then."""
    late = {r.id for r in retired.load_retired(connection) if (r.until or 0) > until_us}
    retired.keep_until(connection, [path for path in paths if path in late], until_us)


def forget_retired(connection: RecordSession, paths: Iterable[str]) -> None:
    """Note that these segments are gone."""
    retired.forget(connection, paths)
