"""The kind ``compact``: what was changed is worked into the base, superseded versions into history.

Asked for, it works in all changes; with ``mode => 'auto'`` it does what the limits ask for.
"""

from __future__ import annotations

from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.segments import run_segments
from journal.jobs.contract import JobReport


def _run(context: JobContext) -> JobReport:
    from spark_compaction.compaction import CompactJob

    return run_segments(context, CompactJob(mode=context.text("mode") or "major"))


KIND = JobKind(
    "compact", "work changes into the base, and old versions into history", _run, ("mode",)
)
