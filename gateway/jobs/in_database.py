"""Backups, their restore and their end in a database: jobs whose tables only its server can read.

A backup lists tables of the database, so it costs no copy, is as safe as the database is, and has
no place elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from gateway.jobs import restoring
from gateway.jobs.backup import expiry, report
from gateway.jobs.context import JobContext
from journal.database import keeping, replacing
from journal.database.keeping import Naming
from journal.duration import Duration
from journal.errors import Code, PalimpsestError
from journal.jobs import backups
from journal.jobs.backups import Backup, BackupKind
from journal.jobs.contract import JobReport, Volume
from journal.stores import duckdb_maintenance as rows_of
from journal.stores.postgres_jobs import Retired, retired
from journal.version import from_datetime


def refuse_elsewhere(context: JobContext, *names: str) -> None:
    """Raise NOT_SUPPORTED for options that speak of copies outside the database."""
    for name in names:
        if context.text(name) is not None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"backups of a database lie in the database: the job takes no {name} there",
                advice="pg_dump takes copies elsewhere; see docs/postgresql.md",
            )


def backup(context: JobContext) -> JobReport:
    """Give what the table consists of a name, or take the name away."""
    refuse_elsewhere(context, "to", "archive")
    name = context.text("name") or f"backup-{context.moment:%Y%m%d-%H%M%S}"
    journal, table = context.database, context.table
    if context.flag("drop"):
        return _drop(context, name)
    naming = Naming(name, BackupKind.NAMED, context.session.user, context.moment, expiry(context))
    if context.dry_run:
        return report(context, keeping.planned(journal, table, naming), "planned")
    return report(context, keeping.make(journal, table, naming), "done")


def _drop(context: JobContext, name: str) -> JobReport:
    journal, table = context.database, context.table
    with journal.reading_session() as session:
        found = next((b for b in backups.load(session, table.id) if b.name == name), None)
    if found is None:
        found = backups.named((), name, str(table.name))
    if not context.dry_run:
        with journal.exclusive_session() as session:
            rows_of.drop_backup(session, table.id, name)
            session.commit()
        replacing.reap(journal, table.id)
    return report(context, found, "planned" if context.dry_run else "done")


def restore(context: JobContext) -> JobReport:
    """Write the difference to a backup; what it replaces is kept as a backup first."""
    refuse_elsewhere(context, "from")
    where, chosen = restoring.condition(context), _chosen(context)
    trash = None
    if not context.dry_run:
        naming = Naming(
            *(f"trash-{context.job_id}", BackupKind.TRASH, context.session.user, context.moment),
            restoring.trash_expiry(context),
        )
        trash = keeping.make(context.database, context.table, naming)
    rows = restoring.retried(context, lambda: _write_once(context, chosen.name, where))
    return restoring.report(context, chosen, rows, trash)


def _chosen(context: JobContext) -> Backup:
    journal, table = context.database, context.table
    name = context.text("backup")
    with journal.statement(journal.begin(read_only=True)) as statement:
        found = backups.load(statement.session, table.id)
        there = {r.name for r in retired(statement.session, table.id)}
        state = statement.committed.tables[table.id]
        live = keeping.live_names(table, state.manifest)
        filled = keeping.filled_names(statement.session, table, state)
    if name is not None:
        return backups.named(found, name, str(table.name))
    return restoring.best(context, [b for b in found if b.paths <= there | live], filled)


def _write_once(context: JobContext, name: str, where: exp.Expr | None) -> int:
    """As the backup is now: an erasure may have taken rows out of it since it was chosen."""
    journal, table = context.database, context.table
    with journal.reading_session() as session:
        found = backups.load(session, table.id)
    wanted = backups.named(found, name, str(table.name))
    keep = not context.dry_run
    with restoring.transaction(context, wanted, keep=keep, explicit=True) as begun:
        masks = begun.snapshot.tables[table.id].manifest.masks
        shown, manifest = keeping.shown(table, journal.new_table_id(), wanted, masks)
        return restoring.write(context, begun, restoring.Difference(wanted, shown, manifest, where))


def vacuum(context: JobContext) -> JobReport:
    """Forget backups past their time, and drop the tables that nothing needs."""
    journal, table = context.database, context.table
    with journal.exclusive_session() as session:
        found = backups.expire(session, context.moment, context.number("backups"))
        expired = [b.name for b in found if b.table_id == table.id]
        if not context.dry_run:
            session.commit()
    chosen = _due(context)
    details: Mapping[str, list[str]] = {"backups_forgotten": expired}
    if context.dry_run:
        due = replacing.retired(journal, table.id, chosen, ignored=frozenset(expired))
        planned = Volume(len(due), 0, sum(r.bytes for r in due))
        return _vacuumed(context, planned, details)
    reaped = replacing.reap(journal, table.id, chosen)
    removed = Volume(len(reaped.removed), 0, reaped.bytes)
    return _vacuumed(context, removed, {**details, "in_use": list(reaped.in_use)})


def _due(context: JobContext) -> replacing.Chosen | None:
    """By age and by count, if either was given; else those whose grace has ended."""
    text, count = context.text("retain"), context.number("versions")
    if text is None and count is None:
        return None
    before = None if text is None else from_datetime(Duration.parse(text).before(context.moment))

    def chosen(found: list[Retired]) -> list[Retired]:
        jobs = list(dict.fromkeys(r.job_id for r in found))
        old = set(jobs[: max(0, len(jobs) - count)]) if count is not None else set()
        return [r for r in found if (before is not None and r.since <= before) or r.job_id in old]

    return chosen


def _vacuumed(context: JobContext, removed: Volume, details: Mapping[str, list[str]]) -> JobReport:
    some = removed.files or details["backups_forgotten"]
    return JobReport(
        id=context.job_id,
        kind="vacuum",
        table=str(context.table.name),
        state="nothing" if not some else "planned" if context.dry_run else "done",
        removed=removed,
        details=details,
    )
