"""The kind ``backup``: names the segments of a table, and keeps them until it expires.

With ``to`` the files are copied into a folder, here or elsewhere, and the copy is what is recorded;
with ``archive`` those are copied that retention has archived, and need not stay here.
"""

from __future__ import annotations

from gateway.jobs.arguments import Arguments, argument_error
from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from journal.records.report import JobReport
from journal.transactions.reading import committed_state
from rewriter.definitions.descriptions import create_index, create_table
from spark_compaction.programs.archives import copy_archive
from spark_compaction.programs.backup import BackupOptions, backup, drop


def _run(context: JobContext) -> JobReport:
    run = backup_run(context)
    name = context.text("name") or f"backup-{context.moment:%Y%m%d-%H%M%S}"
    if context.flag("drop"):
        return drop(run, name)
    limit = context.given.duration("expires")
    expires_at = None if limit is None else limit.after(context.moment)
    given = BackupOptions(name, expires_at, context.text("to"), _definition(context))
    return copy_archive(run, given) if context.flag("archive") else backup(run, given)


def _definition(context: JobContext) -> tuple[str, ...]:
    """The statements that make a table like this one, and its indexes."""
    table, catalog = context.table, committed_state(context.session.journal).catalog
    if table.materialized is not None:
        return ()
    return create_table(table, catalog), *(create_index(table, i) for i in table.indexes)


def _check(given: Arguments) -> None:
    given.text("name")
    given.duration("expires")
    given.text("to")
    if given.flag("drop"):
        if given.text("name") is None:
            raise argument_error("drop does not say which backup goes", "give its name")
        for other in ("to", "archive", "expires"):
            given.check_exclusive("drop", other)
    if given.flag("archive") and given.text("to") is None:
        raise argument_error("archive needs a place to copy to", "give to=URL, or a folder")


KIND = JobKind(
    "backup",
    "name what a table consists of now, or copy it elsewhere",
    _run,
    ("name", "expires", "drop", "to", "archive"),
    _check,
)
