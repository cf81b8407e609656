"""Replicas promoted, demoted and forgotten: by procedures of SQL, and as operations of commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.governance.events import EventName, noting_failure, record_event
from gateway.governance.safe_mode import refuse_if_safe
from gateway.jobs.arguments import argument_error
from gateway.procedures.procedures import bind_arguments, find_tables
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.system_user import system_user
from journal.records.replicas import ReplicaRole, ReplicaRow, forget_replica, load_replicas
from spark_compaction.maintenance import required
from spark_compaction.programs.replica_roles import demote, promote

if TYPE_CHECKING:
    from gateway.session.outcome import StatementOutcome
    from gateway.session.session import Session


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """What a table is now: PROMOTED, DEMOTED or FORGOTTEN; ``version`` is what both sides have."""

    table: str
    state: str
    version: int


@operation
def promote_replica(session: Session, _advance: Advance, table: str) -> ReplicaChange:
    """Let a replica take writes; raises UNKNOWN_REPLICA for a table that is none."""
    _check_may_change(session)
    (found,) = find_tables(session, table)
    store = required(session.executor.maintenance.replicas, "replicas", session.journal.place)
    with noting_failure(session, EventName.DATA_PROMOTE, None, str(found.name)):
        version = promote(store, found, session.recorded_user or system_user())
    with session.journal.exclusive_session() as records:
        data = {"version": version}
        record_event(session, records, EventName.DATA_PROMOTE, None, str(found.name), data=data)
        records.commit()
    return ReplicaChange(str(found.name), "PROMOTED", version)


@operation
def demote_replica(
    session: Session, _advance: Advance, table: str, place: str | None = None
) -> ReplicaChange:
    """Let a table follow the other side; raises DIVERGED where it has rows that the other lacks."""
    _check_may_change(session)
    (found,) = find_tables(session, table)
    refuse_if_safe(session, "demote a table")
    store = required(session.executor.maintenance.replicas, "replicas", session.journal.place)
    version = demote(store, found, place, session.recorded_user or system_user())
    return ReplicaChange(str(found.name), "DEMOTED", version)


@operation
def forget_replicas(session: Session, _advance: Advance, table: str, place: str) -> ReplicaChange:
    """Forget a replica that is no more; erasures wait for it no longer."""
    _check_may_change(session)
    with session.journal.exclusive_session() as records:
        known = [r for r in load_replicas(records) if (r.table_name, r.place) == (table, place)]
        found = [r for r in known if r.role != ReplicaRole.REPLICA]
        if not found:
            raise PalimpsestError(
                Code.UNKNOWN_REPLICA,
                f"no replica of {table} in {place} is on record",
                advice="SELECT table_name, place FROM system.replicas lists them",
            )
        forget_replica(records, found[0])
        records.commit()
    return ReplicaChange(table, "FORGOTTEN", found[0].version)


@operation
def list_replicas(session: Session, _advance: Advance) -> list[ReplicaRow]:
    """The replicas on record, on either side."""
    with session.journal.reading_session() as records:
        return load_replicas(records)


def call_promote(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """CALL system.promote(table => ..)."""
    given = bind_arguments("system.promote", arguments, ("table",))
    return _outcome(session, promote_replica(session, _silent, _table(given)))


def call_demote(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """CALL system.demote(table => .., place => ..)."""
    given = bind_arguments("system.demote", arguments, ("table", "place"))
    place = given.get("place")
    done = demote_replica(session, _silent, _table(given), None if place is None else str(place))
    return _outcome(session, done)


def _table(given: Mapping[str, Any]) -> str:
    if given.get("table") is None:
        raise argument_error("no table is named", "write table => 'name'")
    return str(given["table"])


def _outcome(session: Session, done: ReplicaChange) -> StatementOutcome:
    schema = pa.schema([("table", pa.string()), ("state", pa.string()), ("version", pa.int64())])
    rows = {"table": [done.table], "state": [done.state], "version": [done.version]}
    return session.executor.table_outcome("CALL", pa.table(rows, schema=schema))


def _silent(*_done: object) -> None:
    """Progress that nobody looks at."""


def _check_may_change(session: Session) -> None:
    if (
        session.settings.role is not None
        and not session.catalog.rights_of(session.settings.role).is_admin
    ):
        raise PalimpsestError(
            Code.PRIVILEGE,
            "permission denied to change replicas",
            advice="it takes ADMIN ON SYSTEM",
        )
