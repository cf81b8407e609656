"""The kind ``vacuum``: forgets expired backups, and removes files that nothing needs.

By age (``retain``) and by count (``versions``: only what the latest jobs replaced stays).
"""

from __future__ import annotations

from gateway.jobs.arguments import Arguments
from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from journal.model.version import from_datetime
from journal.records.report import JobReport
from spark_compaction.programs.vacuum import VacuumOptions, vacuum


def _run(context: JobContext) -> JobReport:
    limit = context.given.duration("retain")
    before = None if limit is None else from_datetime(limit.before(context.moment))
    given = VacuumOptions(before, context.number("versions"), context.number("backups"))
    return vacuum(backup_run(context), given)


def _check(given: Arguments) -> None:
    given.duration("retain")
    given.number("versions")
    given.number("backups")


KIND = JobKind(
    "vacuum",
    "forget backups past their time and remove the files nothing needs",
    _run,
    ("retain", "versions", "backups"),
    _check,
)
