"""Rows of replicas: which tables are replicated where, and how far each replica is."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime
from enum import StrEnum

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records.schema import REPLICAS
from journal.records.statements import by, delete, execute, insert, select

_ALL = select(REPLICAS, order=["table_name", "role", "place"])
_FORGET = delete(REPLICAS, by("table_id", "role", "place"))


class ReplicaRole(StrEnum):
    """On which side of a replication a store is."""

    SOURCE = "source"
    REPLICA = "replica"
    COPY = "copy"
    """The source of a replica of files in a bucket, which erasures reach as they reach copies."""


class ReplicaState(StrEnum):
    """What became of a replica: it follows its source, its last run failed, or it takes writes."""

    FOLLOWING = "FOLLOWING"
    FAILED = "FAILED"
    PROMOTED = "PROMOTED"


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """One replica of a table as one of both stores records it.

    ``place`` is where the other side is, ``other_store`` and ``other_table`` their ids there.
    """

    table_id: int
    role: str
    place: str
    table_name: str
    profile: str | None
    state: str
    other_store: str | None
    other_table: int | None
    version: Version
    read_at: datetime | None
    read_version: Version
    job_id: str
    started_at: datetime
    ended_at: datetime | None
    milliseconds: int
    files: int
    rows: int
    bytes: int
    error: str | None = None
    detail: str = "{}"


def load_replicas(session: RecordSession, table_id: int | None = None) -> list[ReplicaRow]:
    """The replicas of a table, on either side of it, or of all tables."""
    found = [ReplicaRow(*row) for row in execute(session, _ALL)]
    return [r for r in found if table_id in {None, r.table_id}]


def put_replica(session: RecordSession, row: ReplicaRow) -> None:
    """Record a replica as it is now, in the session's transaction."""
    forget_replica(session, row)
    execute(session, insert(REPLICAS), list(astuple(row)))


def forget_replica(session: RecordSession, row: ReplicaRow) -> None:
    """Remove the record of a replica."""
    execute(session, _FORGET, [row.table_id, row.role, row.place])


def replica_row(
    session: RecordSession, table_id: int, role: ReplicaRole, place: str
) -> ReplicaRow | None:
    """The record of one replica; None if there is none."""
    found = load_replicas(session, table_id)
    return next((r for r in found if (r.role, r.place) == (role, place)), None)
