"""Which replications are due by the policies, and when the next ones are."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gateway.jobs.replica_targets import replica_place, replication_of
from journal.model.errors import PalimpsestError
from journal.model.places import shown_place
from journal.model.replication import Replication, replica_source
from journal.records.replicas import ReplicaRole, ReplicaRow, ReplicaState, load_replicas
from journal.records.safe_mode_rows import safe_mode_now

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.model.schema import Table

_RETRY = timedelta(minutes=10)
"""When a replication that failed is tried again."""


def due_replications(session: Session, table: Table, now: datetime) -> list[tuple[str, str]]:
    """The targets of a table's policy whose newest instance has not run, and why they are due."""
    found: list[tuple[str, str]] = []
    for clause, last in _clauses(session, table):
        if clause.is_due(None if last is None else last.started_at, now):
            nominal = clause.nominal(now)
            assert nominal is not None, "what is due has a nominal time"
            why = f"the instance of {nominal:%Y-%m-%dT%H:%M:%SZ} is due in {clause.target}"
        elif last is not None and _fails(last) and last.started_at + _RETRY <= now:
            why = f"the last run to {clause.target} failed"
        else:
            continue
        found.append((clause.target, why))
    return found


def next_replications(
    session: Session, table: Table, now: datetime
) -> list[tuple[Replication, datetime]]:
    """The clauses of a table's policy, and when each runs next after ``now``."""
    found = [(clause, clause.following(now)) for clause, _ in _clauses(session, table)]
    return [(clause, at) for clause, at in found if at is not None]


def _clauses(session: Session, table: Table) -> list[tuple[Replication, ReplicaRow | None]]:
    """The clauses in force, each with what is on record of its last run."""
    clauses = () if replica_source(table) is not None else replication_of(session, table)
    if not clauses:
        return []
    with session.journal.reading_session() as records:
        mode = safe_mode_now(records)
        if mode is not None and mode.is_on:
            return []
        rows = [r for r in load_replicas(records, table.id) if r.role != ReplicaRole.REPLICA]
    found: list[tuple[Replication, ReplicaRow | None]] = []
    for clause in clauses:
        names = {clause.target, shown_place(clause.target)}
        last = next((r for r in rows if not names.isdisjoint({r.profile, r.place})), None)
        found.append((clause_in_window(session, clause), last))
    return found


def clause_in_window(session: Session, clause: Replication) -> Replication:
    """The clause in the window of its profile; as it is where that is gone: the run will say so."""
    try:
        return replica_place(session, clause).clause
    except PalimpsestError:
        return clause


def _fails(row: ReplicaRow) -> bool:
    return row.state == ReplicaState.FAILED and row.ended_at is not None
