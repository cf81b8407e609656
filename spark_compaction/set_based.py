"""Compaction and retention of a store that works by SQL of its own: one run is one backend."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from journal.records.report import JobReport
from spark_compaction.backend import SetBasedBackend
from spark_compaction.contract import JobRequest
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from spark_compaction.runner import run

BackendOf = Callable[[JobRequest], SetBasedBackend]


def compact(backend_of: BackendOf, asked: JobRequest, mode: str = "major") -> JobReport:
    """Run a compaction."""
    return run(backend_of(asked), CompactionInSql(mode), asked)


def retain(
    backend_of: BackendOf, asked: JobRequest, now: datetime, by: str | None = None
) -> JobReport:
    """Apply the table's policy at a moment; ``by`` makes the backup of what was there before."""
    return run(backend_of(asked), RetentionInSql(now, asked.job_id, by), asked)
