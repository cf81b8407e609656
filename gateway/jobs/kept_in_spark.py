"""Backups, their restore and their end in a Hive store: segments are kept, and read in Spark.

The difference to a backup is an ordinary transaction of the gateway's; see ``restoring``.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from sqlglot import exp

from gateway.jobs import in_store, offsite_backups, restoring
from gateway.jobs.context import JobContext
from gateway.jobs.in_spark import journal_of
from journal.records import backups
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.report import UNKNOWN, JobReport, Volume
from journal.stores.hive import backup_segments
from journal.stores.hive.catalog_db import retired as sql_retired
from spark_compaction.backends.hive import cleaning, partition_backups
from spark_compaction.backends.hive.backup_transport import HiveCarrier

_READ_MAX = timedelta(days=1)
"""How long a backup that is being restored is kept if the process ends meanwhile."""


def keeper(context: JobContext) -> in_store.Keeper:
    """How the store keeps backups of the table."""
    journal, table = journal_of(context), context.table
    return in_store.Keeper(
        HiveCarrier(journal, table),
        lambda naming: partition_backups.make(journal, table, naming),
        lambda naming: partition_backups.planned(journal, table, naming),
        lambda: _reap(context, None),
    )


def _reap(context: JobContext, chosen: cleaning.Chosen | None) -> list[str]:
    journal = journal_of(context)
    with journal.store.connection() as connection:
        return cleaning.reap(journal, connection, context.table.id, chosen)


def backup(context: JobContext) -> JobReport:
    """Give what the table consists of a name, or take the name away, or copy it elsewhere."""
    report = offsite_backups.backup(context, keeper(context))
    if report.details["place"] is not None:
        return report
    return replace(report, inexact={"details.holds.bytes": UNKNOWN})


def restore(context: JobContext) -> JobReport:
    """Write the difference to a backup; what it replaces is kept as a backup first."""
    journal, table = journal_of(context), context.table
    where = restoring.condition(context)
    with ExitStack() as stack:
        found = stack.enter_context(offsite_backups.named(context, HiveCarrier(journal, table)))
        if found is None:
            chosen = _chosen(context)
            pin = _naming(context, backups.reading(context.job_id), context.moment + _READ_MAX)
            connection = stack.enter_context(journal.store.connection())
            given = (journal, connection, table, chosen, pin)
            found = stack.enter_context(partition_backups.reading(*given))
        trash = None
        if not context.dry_run:
            naming = _naming(context, f"trash-{context.job_id}", restoring.trash_expiry(context))
            trash = partition_backups.make(journal, table, naming)
        rows = restoring.retried(context, partial(_write_once, context, found, where))
    trash = in_store.kept_trash(context, trash, rows)
    return restoring.report(context, found, rows, trash)


def _naming(context: JobContext, name: str, expires_at: datetime) -> Naming:
    return Naming(name, BackupKind.TRASH, context.session.user, context.moment, expires_at)


def _chosen(context: JobContext) -> Backup:
    journal, table = journal_of(context), context.table
    name = context.text("backup")
    with journal.reading_session() as session:
        found = backups.load(session, table.id)
    if name is not None:
        return backups.named(found, name, str(table.name))
    _, committed = journal.look()
    live = backup_segments.live_paths(committed.tables[table.id].manifest)
    with journal.catalog.reading() as reading:
        there = {r.path for r in sql_retired.load_retired(reading, table.id)}
    return restoring.best(context, [b for b in found if b.paths <= there | live], live)


def _write_once(context: JobContext, found: Backup, where: exp.Expr | None) -> int:
    journal, table = journal_of(context), context.table
    with restoring.transaction(context, found, keep=not context.dry_run, explicit=True) as begun:
        masks = begun.snapshot.tables[table.id].manifest.masks
        shown, manifest = partition_backups.shown(table, journal.new_table_id(), found, masks)
        return restoring.write(
            context, begun, restoring.RestoreDifference(found, shown, manifest, where)
        )


def vacuum(context: JobContext) -> JobReport:
    """Forget backups past their time, and drop what nothing needs.

    That is what was retired, and what transactions left that never committed.
    """
    journal = journal_of(context)
    wanted = in_store.due(context)
    chosen = None if wanted is None else lambda found: in_store.chosen(found, wanted)
    carrier = HiveCarrier(journal, context.table)
    expired = [*in_store.expire(context), *offsite_backups.expire(context, carrier)]
    if context.dry_run:
        ignored = frozenset(expired)
        due = cleaning.droppable(journal, context.table.id, chosen, ignored)
        gone = [r.path for r in due]
    else:
        gone = _reap(context, chosen)
        with journal.store.connection() as connection:
            gone += cleaning.remove_forsaken(journal, connection)
    details = {"backups_forgotten": expired, "dropped": gone}
    return in_store.vacuumed(context, Volume(len(gone)), details, "rows", "bytes")
