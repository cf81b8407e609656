"""Backups, their restore and their end in a database: jobs whose tables only its server can read.

A backup lists tables of the database, so it costs no copy, and is as safe as the database is; its
copies lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from gateway.jobs import in_store, offsite_backups, restoring
from gateway.jobs.context import JobContext
from journal.records import backups
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.report import JobReport, Volume
from journal.stores.postgres import backup_segments
from journal.stores.postgres.jobs import retired
from spark_compaction.backends.postgres import segment_swap, table_backups
from spark_compaction.backends.postgres.backup_transport import DatabaseCarrier


def keeper(context: JobContext) -> in_store.Keeper:
    """How the database keeps backups of the table."""
    journal, table = context.database, context.table
    return in_store.Keeper(
        DatabaseCarrier(journal, table),
        lambda naming: table_backups.make(journal, table, naming),
        lambda naming: table_backups.planned(journal, table, naming),
        lambda: segment_swap.reap(journal, table.id),
    )


def backup(context: JobContext) -> JobReport:
    """Give what the table consists of a name, or take the name away, or copy it elsewhere."""
    return offsite_backups.backup(context, keeper(context))


def restore(context: JobContext) -> JobReport:
    """Write the difference to a backup; what it replaces is kept as a backup first."""
    where = restoring.condition(context)
    with offsite_backups.named(
        context, DatabaseCarrier(context.database, context.table)
    ) as brought:
        chosen = brought or _chosen(context)
        trash = None
        if not context.dry_run:
            expires, user = restoring.trash_expiry(context), context.session.user
            name = f"trash-{context.job_id}"
            naming = Naming(name, BackupKind.TRASH, user, context.moment, expires)
            trash = table_backups.make(context.database, context.table, naming)
        rows = restoring.retried(
            context, lambda: _write_once(context, brought or _as_it_is(context, chosen), where)
        )
    trash = in_store.kept_trash(context, trash, rows)
    return restoring.report(context, chosen, rows, trash)


def _chosen(context: JobContext) -> Backup:
    journal, table = context.database, context.table
    name = context.text("backup")
    with journal.statement(journal.begin(read_only=True)) as statement:
        found = backups.load(statement.session, table.id)
        there = {r.name for r in retired(statement.session, table.id)}
        state = statement.committed.tables[table.id]
        live = backup_segments.live_names(table, state.manifest)
        filled = table_backups.filled_names(statement.session, table, state)
    if name is not None:
        return backups.named(found, name, str(table.name))
    return restoring.best(context, [b for b in found if b.paths <= there | live], filled)


def _as_it_is(context: JobContext, chosen: Backup) -> Backup:
    """An erasure may have taken rows out of it since it was chosen."""
    with context.database.reading_session() as session:
        found = backups.load(session, context.table.id)
    return backups.named(found, chosen.name, str(context.table.name))


def _write_once(context: JobContext, wanted: Backup, where: exp.Expr | None) -> int:
    journal, table = context.database, context.table
    keep = not context.dry_run
    with restoring.transaction(context, wanted, keep=keep, explicit=True) as begun:
        masks = begun.snapshot.tables[table.id].manifest.masks
        shown, manifest = table_backups.shown(table, journal.new_table_id(), wanted, masks)
        return restoring.write(
            context, begun, restoring.RestoreDifference(wanted, shown, manifest, where)
        )


def vacuum(context: JobContext) -> JobReport:
    """Forget backups past their time, and drop the tables that nothing needs."""
    journal, table = context.database, context.table
    expired = [
        *in_store.expire(context),
        *offsite_backups.expire(context, DatabaseCarrier(journal, table)),
    ]
    chosen = _due(context)
    details: Mapping[str, list[str]] = {"backups_forgotten": expired}
    if context.dry_run:
        due = segment_swap.retired(journal, table.id, chosen, ignored=frozenset(expired))
        planned = Volume(len(due), 0, sum(r.bytes for r in due))
        return in_store.vacuumed(context, planned, details, "rows")
    reaped = segment_swap.reap(journal, table.id, chosen)
    removed = Volume(len(reaped.removed), 0, reaped.bytes)
    told = {**details, "in_use": list(reaped.in_use)}
    return in_store.vacuumed(context, removed, told, "rows")


def _due(context: JobContext) -> segment_swap.Chosen | None:
    """By age and by count, if either was given; else those whose grace has ended."""
    wanted = in_store.due(context)
    return None if wanted is None else lambda found: in_store.chosen(found, wanted)
