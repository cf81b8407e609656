"""Decides which jobs skip replicas, and which are refused there."""

from __future__ import annotations

from gateway.jobs.arguments import Arguments
from journal.model.errors import Code, PalimpsestError
from journal.model.replication import replica_source
from journal.model.schema import Table
from journal.records.report import JobReport

_OF_SOURCE = frozenset({"compact", "retain"})
_REFUSED = frozenset({"restore", "backup", "replicate"})


def replica_report(kind: str, table: Table, job_id: str, given: Arguments) -> JobReport | None:
    """The report of a job that has nothing to do on a replica; None where it is to run.

    Raises REPLICA for jobs whose result would not be that of the source, or that erasures of the
    source would not reach.
    """
    if replica_source(table) is None:
        return None
    if kind in _OF_SOURCE:
        why = "a replica: what this does at the source comes with the next replication"
        return JobReport(job_id, kind, str(table.name), "nothing", why)
    if kind in _REFUSED and not given.flag("drop"):
        raise PalimpsestError(
            Code.REPLICA,
            f"{kind} does not run on the replica {table.name}",
            advice="run it at the source; or `palimpsest replica promote` first",
        )
    return None
