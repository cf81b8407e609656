"""The jobs of Hive stores, which run in Spark; the driver is imported when one runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.jobs.context import JobContext
from gateway.procedures.procedures import hive
from journal.model.errors import Code, PalimpsestError
from journal.model.limits import Slo
from journal.records.report import JobReport
from spark_compaction import planner
from spark_compaction.contract import GRACE_US, JobRequest

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal


def journal_of(context: JobContext) -> HiveJournal:
    """The journals behind the server."""
    found = hive(context.session.journal)
    assert found is not None
    return found


def compact(context: JobContext) -> JobReport:
    """Work changes into the base; ``auto`` does it when the table's limits ask for it."""
    from spark_compaction.backends.hive.compaction import compact as compact_table

    mode, table, journal = context.text("mode") or "major", context.table, journal_of(context)
    if mode not in {"minor", "major", "auto"}:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"there is no compaction in mode {mode}",
            advice="use minor, major, or auto, which does what the table's limits ask for",
        )
    _, committed = journal.look()
    state, limits = committed.tables[table.id], Slo.of(table)
    wanted = planner.due(state.manifest, limits, journal.clock.now(), state.head_counts)
    if mode == "auto":
        if wanted is None:
            why = "within the limits of the table"
            return JobReport(context.job_id, "compact", str(table.name), "nothing", why)
        mode = wanted.mode
    grace_us = context.grace_us(GRACE_US)
    asked = JobRequest(table, context.job_id, context.dry_run, grace_us, context.progress)
    report = compact_table(journal, asked, mode)
    told = planner.details(mode, state.manifest, state.head_counts)
    return replace(report, details={**told, **report.details})


def retain(context: JobContext, now: datetime) -> JobReport:
    """Apply the table's policy at a moment."""
    from spark_compaction.backends.hive.retention import retain as retain_table

    grace_us = context.grace_us(GRACE_US)
    asked = JobRequest(context.table, context.job_id, context.dry_run, grace_us, context.progress)
    return retain_table(journal_of(context), asked, now, context.session.user)
