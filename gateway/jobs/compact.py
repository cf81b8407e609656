"""The kind ``compact``: merges changes into the base, and superseded versions into history.

Asked for, it works in all changes; with ``mode => 'auto'`` it does what the limits ask for.
"""

from __future__ import annotations

from gateway.jobs.context import JobContext, JobKind
from journal.records.report import JobReport
from spark_compaction.maintenance import required


def _run(context: JobContext) -> JobReport:
    compact = required(context.maintenance.compact, "compaction", context.session.journal.place)
    return compact(context.request(), context.text("mode") or "major")


KIND = JobKind(
    "compact",
    "work changes into the base, and old versions into history",
    _run,
    ("mode",),
    lambda given: given.choice("mode", "auto", "minor", "major"),
)
