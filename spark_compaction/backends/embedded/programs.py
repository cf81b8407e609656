"""What maintains an embedded warehouse: jobs over its files, in this process or on Spark.

Those that remove rows leave a backup of what was before.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from journal.model.segment import Segment
from journal.records import backups
from journal.records.report import JobReport
from journal.stores.embedded.journal import Journal
from journal.transactions.state import JournalState
from spark_compaction.backends.embedded.backups import WarehouseBackups, overdue
from spark_compaction.backends.embedded.replica_source import read_package
from spark_compaction.backends.embedded.replicas import WarehouseReplicas
from spark_compaction.backends.embedded_erasure.erasure import WarehouseErasure
from spark_compaction.contract import Job, JobRequest
from spark_compaction.maintenance import Maintenance
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.programs.retention import Retention
from spark_compaction.programs.swap import Check
from spark_compaction.runner import RunOptions, run_job


def maintenance(journal: Journal) -> Maintenance:
    """The programs of a warehouse."""
    return Maintenance(
        compact=partial(_compact, journal),
        retain=partial(_retain, journal),
        backups=partial(WarehouseBackups, journal),
        overdue=partial(overdue, journal),
        erasure=partial(WarehouseErasure, journal),
        replica_source=partial(read_package, journal),
        replicas=WarehouseReplicas(journal),
    )


def _compact(journal: Journal, asked: JobRequest, mode: str) -> JobReport:
    return _run(journal, CompactJob(mode=mode), asked, None)


def _retain(journal: Journal, asked: JobRequest, now: datetime, by: str | None) -> JobReport:
    job = Retention(now)

    def before_swap(state: JournalState) -> Sequence[Segment]:
        late = job.check(journal, state, asked.table.id)
        segments = backups.segments_at(state.tables[asked.table.id], job.judged_version)
        assert segments is not None, "nobody else replaces segments while a job runs"
        naming = backups.left_by(job.kind, asked.job_id, by, now)
        with journal.exclusive_session() as session:
            backups.add_once(session, naming.backup(asked.table, segments, job.judged_version))
            session.commit()
        return late

    return _run(journal, job, asked, before_swap)


def _run(journal: Journal, job: Job, asked: JobRequest, check: Check | None) -> JobReport:
    segments = journal.state.tables[asked.table.id].manifest.segments
    assert asked.workers is not None, "a worker writes the files"
    return run_job(
        journal,
        job,
        asked.table.id,
        asked.workers.files(sum(s.bytes for s in segments)),
        options=RunOptions(asked.dry_run, asked.grace_us, asked.job_id),
        progress=asked.progress,
        check=check,
    )
