"""The jobs of Hive stores, which run in Spark; the driver is imported when one runs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from gateway.jobs.context import JobContext
from gateway.procedures.procedures import hive
from journal.records.report import JobReport

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal


def journal_of(context: JobContext) -> HiveJournal:
    """The journals behind the server."""
    found = hive(context.session.journal)
    assert found is not None
    return found


def retain(context: JobContext, now: datetime) -> JobReport:
    """Apply the table's policy at a moment."""
    from spark_compaction.backends.hive.maintenance import retain as retain_table

    return retain_table(journal_of(context), context.request(), now, context.session.user)
