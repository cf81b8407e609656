"""Promotes replicas to tables of their own, and demotes tables to replicas.

    replica --promote--> table of its own --demote--> replica

Each is one transaction. A table that has rows which the other side lacks follows nobody: both would
have changed, and one of them would lose.
"""

from __future__ import annotations

import json
from dataclasses import replace

from journal.erasure import audit
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.replication import REPLICA_OF, replica_source
from journal.model.schema import Table
from journal.model.store_session import StoreSession
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
from journal.transactions.transaction_rows import TransactionRow
from spark_compaction.programs.replica_store import ReplicaSection, ReplicaStore


def promote(store: ReplicaStore, table: Table, by: str) -> Version:
    """Let a replica take writes from now on; the version up to which it has its source's rows.

    Raises UNKNOWN_REPLICA for a table that is none.
    """

    def change(section: ReplicaSection) -> Version:
        session, now = section.session, section.committed.catalog.by_id(table.id)
        row = replica_of(session, table)
        if row is None or now is None or replica_source(now) is None:
            raise no_replica(table)
        version = store.journal.clock.next()
        kept = tuple(p for p in now.properties if p[0] != REPLICA_OF)
        detail = {**json.loads(row.detail), "promoted": version}
        put_replica(session, replace(row, state=ReplicaState.PROMOTED, detail=json.dumps(detail)))
        _redefine(store, section, replace(now, properties=kept), version, by, "promote")
        return row.version

    with store.lock(table):
        return store.publish(change)


def demote(store: ReplicaStore, table: Table, place: str | None, by: str) -> Version:
    """Let a table follow the other side of its replication; the last version both have.

    ``place`` is where the other side is, if the table has more than one. Raises DIVERGED where it
    has rows that the other side lacks, BACKUP where backups of its own would keep what an erasure
    of the other side takes away, and UNKNOWN_REPLICA where no replication is on record.
    """
    if replica_source(table) is not None:
        raise PalimpsestError(
            Code.REPLICA, f"{table.name} is a replica already", advice="replicate from its source"
        )

    def change(section: ReplicaSection) -> Version:
        session = section.session
        row = _other_side(session, table, place)
        now = _check_same(store, section, table, row)
        version = store.journal.clock.next()
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
        properties = (*now.properties, (REPLICA_OF, row.other_store or ""))
        _redefine(store, section, replace(now, properties=properties), version, by, "demote")
        return row.version

    with store.lock(table):
        store.settle(table)
        version = store.publish(change)
    store.reap(table.id)
    return version


def _check_same(
    store: ReplicaStore, section: ReplicaSection, table: Table, row: ReplicaRow
) -> Table:
    """The table as it is now; raises unless the other side has all that it has."""
    session = section.session
    if any(b.place is None for b in backups.load(session, table.id) if b.is_pinned):
        raise PalimpsestError(
            Code.BACKUP,
            f"{table.name} has backups of its own, which the erasures of others would not reach",
            advice="drop them: palimpsest job backup .. -o drop=true --name ..",
        )
    own = store.last_change(section.committed.tables[table.id])
    known = max(row.version, json.loads(row.detail).get("promoted", 0))
    now = section.committed.catalog.by_id(table.id)
    if now is None or own > known or _is_redefined(session, table, known):
        raise PalimpsestError(
            Code.DIVERGED,
            f"{table.name} was changed here, its last row at version {own}; the other side has"
            f" version {row.version} of it",
            advice="replicate it to the other side, or move the rows there yourself",
        )
    return now


def _is_redefined(session: StoreSession, table: Table, version: Version) -> bool:
    return any(
        isinstance(change, PutRelation)
        and isinstance(change.relation, Table)
        and change.relation.id == table.id
        for _, change in records.load_changes(session, version)
    )


def replica_of(session: StoreSession, table: Table) -> ReplicaRow | None:
    """The record of a table as a replica."""
    found = load_replicas(session, table.id)
    return next((r for r in found if r.role == ReplicaRole.REPLICA), None)


def _other_side(session: StoreSession, table: Table, place: str | None) -> ReplicaRow:
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
    store: ReplicaStore,
    section: ReplicaSection,
    table: Table,
    version: Version,
    by: str,
    what: str,
) -> None:
    changes = [(version, PutRelation(table))]
    state = section.defined_state(section.committed.tables[table.id], changes)
    section.write(version, changes, table.id, state, ())
    told = (f"{what} {table.name}", (str(table.name),), 0)
    application = f"palimpsest replica {what}"
    records.add_transactions(
        section.session, [TransactionRow(version, version, by, application, 1, "", *told)]
    )
    at = {"at": to_datetime(version).isoformat()}
    audit.record(store.journal, section.session, by, f"replica.{what}", str(table.name), at)
    section.commit(version)


def no_replica(table: Table) -> PalimpsestError:
    """The error for a table that takes part in no replication."""
    return PalimpsestError(
        Code.UNKNOWN_REPLICA,
        f"{table.name} is no replica, and none of it is on record",
        advice="SELECT * FROM system.replicas lists them",
    )
