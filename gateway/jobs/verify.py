"""The kind ``verify``: checks files against the manifest, and rows against the rules."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from gateway.procedures.holds import changing_holds
from gateway.session.operations import Advance, operation
from gateway.wording import counted
from journal.erasure import audit_check
from journal.erasure.seam import ErasureJournal
from journal.local_engine.file_modes import OWNER, FileModes, modes_of
from journal.model.errors import Code, PalimpsestError
from journal.model.verification import Problem, Verification
from journal.records.report import UNKNOWN, JobReport, Volume
from journal.stores.embedded.file_names import DATABASE_FILE
from journal.transactions.orphaned_rows import describe_counts
from spark_compaction.programs import copies

if TYPE_CHECKING:
    from gateway.session.session import Session


def _run(context: JobContext) -> JobReport:
    def advance(done: float) -> None:
        context.progress("verify", round(done * 1000), 1000)

    found = context.session.executor.upkeep.verify(advance, {context.table.id})
    if context.flag("copies") and not found.problems:
        _verify_copies(context)
    return _report(context, found)


def _verify_copies(context: JobContext) -> None:
    """Fetch every copy of the table's backups, and check each of its files."""
    run = backup_run(context)
    for backup in copies.recorded_copies(run.journal, run.table.id):
        copies.check(run.transport, backup, context.progress)
        context.log(f"{backup.name}: {counted(len(backup.paths), 'file')} checked, whole")


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
        inexact={} if found.known_bytes is not None else {"read.bytes": UNKNOWN},
        why=describe_counts(found.dangling, "nothing"),
        details={"problems": [asdict(p) for p in found.problems], "dangling": found.dangling},
    )


KIND = JobKind(
    "verify",
    "check a table's files and rows",
    _run,
    ("copies",),
    lambda given: given.flag("copies"),
)


@operation
def verify_store(session: Session, advance: Advance) -> tuple[Verification, FileModes]:
    """Check all journals, holds, and who may read files; ``advance`` is told how much is done."""
    report = session.executor.upkeep.verify(advance)
    if session.journal.capabilities.access_control:
        checked = audit_check.verify(cast("ErasureJournal", session.journal))
        report.problems += [Problem("audit", "audit log", told) for told in checked.problems]
        changing = changing_holds(session)
        report.problems += [Problem("hold", str(table.name), told) for table, told in changing]
    folder = session.journal.capabilities.folder
    return report, OWNER if folder is None else modes_of(folder / DATABASE_FILE)
