"""Replicas of a warehouse that begin to take writes, and tables that begin to follow another.

    replica --promote--> table of its own --demote--> replica

Each is one transaction. A table that has rows which the other side lacks follows nobody: both would
have changed, and one of them would lose.
"""

from __future__ import annotations

import json
from dataclasses import replace

from journal.erasure import audit
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.replication import REPLICA_OF, replica_source
from journal.model.schema import Table
from journal.model.version import Version, to_datetime
from journal.records import backups, retired
from journal.records import catalog as records
from journal.records.replicas import (
    ReplicaRole,
    ReplicaRow,
    ReplicaState,
    forget_replica,
    load_replicas,
    put_replica,
)
from journal.stores.embedded import commit as section
from journal.stores.embedded import retired_files
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.table_lock import job_turn
from journal.transactions.transaction_rows import TransactionRow
from spark_compaction.programs.swap import settled_version


def promote(journal: Journal, table: Table, by: str) -> Version:
    """Let a replica take writes from now on; the version up to which it has its source's rows.

    Raises UNKNOWN_REPLICA for a table that is none.
    """
    with job_turn(journal, table.id), journal.exclusive_session() as session:
        row = replica_of(session, table)
        if row is None or replica_source(table) is None:
            raise no_replica(table)
        version = journal.clock.next()
        kept = tuple(p for p in table.properties if p[0] != REPLICA_OF)
        detail = {**json.loads(row.detail), "promoted": version}
        put_replica(session, replace(row, state=ReplicaState.PROMOTED, detail=json.dumps(detail)))
        _redefine(journal, session, replace(table, properties=kept), version, by, "promote")
    return row.version


def demote(journal: Journal, table: Table, place: str | None, by: str) -> Version:
    """Let a table follow the other side of its replication; the last version both have.

    ``place`` is where the other side is, if the table has more than one. Raises DIVERGED where it
    has rows that the other side lacks, BACKUP where backups of its own would keep what an erasure
    of the other side takes away, and UNKNOWN_REPLICA where no replication is on record.
    """
    if replica_source(table) is not None:
        raise PalimpsestError(
            Code.REPLICA, f"{table.name} is a replica already", advice="replicate from its source"
        )
    with job_turn(journal, table.id):
        settled_version(journal, table.id)
        with journal.exclusive_session() as session:
            row = _other_side(session, table, place)
            _check_same(journal, session, table, row)
            version = journal.clock.next()
            retired.end_grace(session, table.id, version)
            for old in load_replicas(session, table.id):
                if old.role == ReplicaRole.REPLICA:
                    forget_replica(session, old)
            detail = {"defined": row.version, **json.loads(row.detail)}
            following = replace(
                row,
                role=ReplicaRole.REPLICA,
                state=ReplicaState.FOLLOWING,
                detail=json.dumps(detail),
            )
            put_replica(session, following)
            properties = (*table.properties, (REPLICA_OF, row.other_store or ""))
            marked = replace(table, properties=properties)
            _redefine(journal, session, marked, version, by, "demote")
    retired_files.reap(journal, journal.clock.now(), table.id)
    return row.version


def _check_same(journal: Journal, session: DuckDBSession, table: Table, row: ReplicaRow) -> None:
    """Raise unless the other side has all that the table has."""
    if any(b.place is None for b in backups.load(session, table.id) if b.is_pinned):
        raise PalimpsestError(
            Code.BACKUP,
            f"{table.name} has backups of its own, which the erasures of others would not reach",
            advice="drop them: palimpsest job backup .. -o drop=true --name ..",
        )
    state = journal.state.tables[table.id]
    own = max((s.max_version for s in state.manifest.segments), default=0)
    known = max(row.version, json.loads(row.detail).get("promoted", 0))
    if own > row.version or state.head_counts.total or _is_redefined(session, table, known):
        raise PalimpsestError(
            Code.DIVERGED,
            f"{table.name} was changed here, its last row at version {own}; the other side has"
            f" version {row.version} of it",
            advice="replicate it to the other side, or move the rows there yourself",
        )


def _is_redefined(session: DuckDBSession, table: Table, version: Version) -> bool:
    return any(
        isinstance(change, PutRelation)
        and isinstance(change.relation, Table)
        and change.relation.id == table.id
        for _, change in records.load_changes(session, version)
    )


def replica_of(session: DuckDBSession, table: Table) -> ReplicaRow | None:
    """The record of a table as a replica."""
    found = load_replicas(session, table.id)
    return next((r for r in found if r.role == ReplicaRole.REPLICA), None)


def _other_side(session: DuckDBSession, table: Table, place: str | None) -> ReplicaRow:
    found = [r for r in load_replicas(session, table.id) if place in {None, r.place}]
    chosen = [
        r
        for r in found
        if r.other_store is not None
        and (r.role == ReplicaRole.SOURCE or r.state == ReplicaState.PROMOTED)
    ]
    if not chosen:
        raise no_replica(table)
    if len({r.other_store for r in chosen}) > 1:
        raise PalimpsestError(
            Code.UNKNOWN_REPLICA,
            f"{table.name} has several replicas",
            advice="name the one to follow: " + ", ".join(r.place for r in chosen),
        )
    return max(chosen, key=lambda r: r.version)


def _redefine(
    journal: Journal, session: DuckDBSession, table: Table, version: Version, by: str, what: str
) -> None:
    committed = journal.state
    change = PutRelation(table)
    state = section.defined(session, committed.tables[table.id], table, version)
    catalog = committed.catalog.with_relation(table)
    section.write_catalog(
        *(journal.warehouse, session, committed, catalog, [(version, change)]),
        {table.id: state},
    )
    told = (f"{what} {table.name}", (str(table.name),), 0)
    application = f"palimpsest replica {what}"
    records.add_transactions(
        session, [TransactionRow(version, version, by, application, 1, "", *told)]
    )
    at = {"at": to_datetime(version).isoformat()}
    audit.record(journal, session, by, f"replica.{what}", str(table.name), at)
    journal.publish_records(session)


def no_replica(table: Table) -> PalimpsestError:
    """The error for a table that takes part in no replication."""
    return PalimpsestError(
        Code.UNKNOWN_REPLICA,
        f"{table.name} is no replica, and none of it is on record",
        advice="SELECT * FROM system.replicas lists them",
    )
