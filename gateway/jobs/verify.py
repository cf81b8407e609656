"""The kind ``verify``: a table's files against its manifest, and its rows against the rules."""

from __future__ import annotations

from dataclasses import asdict

from gateway.jobs import in_spark, offsite_backups
from gateway.jobs.context import JobContext, JobKind
from gateway.wording import counted
from journal.model.errors import Code, PalimpsestError
from journal.model.verification import Verification
from journal.records import backups
from journal.records.report import JobReport, Volume
from journal.stores.embedded.verification import verify
from journal.transactions.orphaned_rows import told
from spark_compaction.programs import copies


def _run(context: JobContext) -> JobReport:
    def advance(done: float) -> None:
        context.progress("verify", round(done * 1000), 1000)

    found = verify(context.journal, advance, {context.table.id})
    if context.flag("copies") and not found.problems:
        _verify_copies(context)
    return _report(context, found)


def _verify_copies(context: JobContext) -> None:
    """Fetch every copy of the table's backups that lies elsewhere, and check each of its files."""
    journal = context.journal
    with journal.reading_session() as session:
        found = [b for b in backups.load(session, context.table.id) if b.place is not None]
    for backup in found:
        copies.as_recorded(backup)
        with copies.brought(journal, backup, context.table, context.progress):
            context.log(f"{backup.name}: {counted(len(backup.paths), 'file')} checked, whole")


def _run_on_database(context: JobContext) -> JobReport:
    from gateway.jobs.in_database import keeper
    from journal.stores.postgres.verification import verify as verify_database

    found = verify_database(context.database, only={context.table.id})
    if context.flag("copies") and not found.problems:
        offsite_backups.verify(context, keeper(context).carrier)
    return _report(context, found)


def _run_on_hive(context: JobContext) -> JobReport:
    from gateway.jobs.kept_in_spark import keeper

    found = in_spark.verified(context)
    if context.flag("copies") and not found.problems:
        offsite_backups.verify(context, keeper(context).carrier)
    return _report(context, found)


def _report(context: JobContext, found: Verification) -> JobReport:
    for problem in found.problems:
        context.log(f"{problem.kind}: {problem.message}")
    if found.problems:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"{context.table.name} is damaged: {found.problems[0].message}"
            f" ({counted(len(found.problems), 'problem')})",
            advice="see the run's log in system.jobs; restore the files, or the table",
        )
    return JobReport(
        id=context.job_id,
        kind="verify",
        table=str(context.table.name),
        state="done",
        read=Volume(found.files, found.rows, found.bytes),
        why=told(found.dangling, "nothing"),
        details={"problems": [asdict(p) for p in found.problems], "dangling": found.dangling},
    )


KIND = JobKind(
    "verify",
    "check a table's files and rows",
    _run,
    ("copies",),
    _run_on_database,
    _run_on_hive,
    lambda given: given.flag("copies"),
)
