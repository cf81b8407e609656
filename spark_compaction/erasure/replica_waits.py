"""Finds the replicas that a purged request still waits for.

A replica has what its source had when it was read. A request is not completed while one was read
before the rows were gone; the next run of its replication takes them away there.
"""

from __future__ import annotations

from journal.erasure.requests import ErasureRequest
from journal.records.replicas import ReplicaRole, load_replicas
from journal.transactions.protocol import OpenJournal


def waits_for_replica(journal: OpenJournal, request: ErasureRequest) -> str | None:
    """The replica that may still hold rows of a purged request, in words; None if none does."""
    tables = {target.table_id for target in request.targets}
    with journal.reading_session() as session:
        found = load_replicas(session)
    for row in found:
        is_behind = row.read_version <= request.updated
        if row.role == ReplicaRole.SOURCE and row.table_id in tables and is_behind:
            return (
                f"the replica of {row.table_name} in {row.place}, which has not been made anew"
                f" since: palimpsest job replicate {row.table_name}"
            )
    return None
