"""The kind ``restore``: what a backup shows becomes the present again, as one more version.

Rows of the backup that are missing come back, changed ones change back, and rows it lacks go: the
difference is written by an ordinary transaction, so keys and constraints hold, nobody's update is
lost, what was erased stays erased, and every earlier state reads as before. What is replaced is
kept as a backup of its own first, the trash. Of a large table units of the engine find what differs
and write it. Killed at any moment, all of it happened or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from gateway.jobs import archiving, restoring
from gateway.jobs.arguments import Arguments
from gateway.jobs.backup import make
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.distributed_restore import Sides, hand_out
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.records import backups, retired
from journal.records import maintenance as rows_of
from journal.records.backups import Backup, BackupKind
from journal.records.report import JobReport
from journal.stores.embedded.scratch_folders import scratch_folder
from journal.transactions.transaction import Transaction
from spark_compaction.contract import Engine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure.deferred_search import check_searched
from spark_compaction.programs import copies
from spark_compaction.programs.differences import States, differing
from spark_compaction.programs.swap import settled_version
from spark_compaction.runner import staged_folders


def _run(context: JobContext) -> JobReport:
    where, source = restoring.condition(context), context.text("from")
    if archiving.is_asked(context):
        with archiving.gathered(context) as archive:
            context.journal.checker.check(archive.segments)
            return _restored(context, archive, where)
    backup = (
        _chosen(context)
        if source is None
        else restoring.found_elsewhere(context, source, copies.WAREHOUSE)
    )
    if backup.place is None:
        context.journal.checker.check(backup.segments)
        return _restored(context, backup, where)
    check_searched(context.journal, backup)
    with copies.brought(context.journal, backup, context.table, context.progress) as here:
        return _restored(context, here, where)


def _restored(context: JobContext, backup: Backup, where: exp.Expr | None) -> JobReport:
    if context.dry_run:
        return restoring.report(context, backup, _write(context, backup, where, keep=False), None)
    trash = make(
        context,
        f"trash-{context.job_id}",
        BackupKind.TRASH,
        restoring.trash_expiry(context),
    )
    with context.journal.pins.hold(backup.paths):
        rows = _write(context, backup, where, keep=True)
    if not rows:
        # Nothing was replaced; its files need not be kept for it.
        with context.journal.exclusive_session() as session:
            rows_of.drop_backup(session, context.table.id, trash.name)
            session.commit()
    return restoring.report(context, backup, rows, trash if rows else None)


def _chosen(context: JobContext) -> Backup:
    journal, table = context.journal, context.table
    name = context.text("backup")
    with journal.reading_session() as session:
        found = backups.load(session, table.id)
        there = retired.paths(session)
    if name is not None:
        return backups.named(found, name, str(table.name))
    state = journal.state.tables[table.id]
    live = frozenset(f.path for s in state.manifest.segments for f in s.files)
    usable = [b for b in found if b.paths <= there | live]
    # With rows in the head, no backup is what is there, also if its files are.
    return restoring.best(context, usable, frozenset() if state.head_counts.total else live)


def _write(context: JobContext, backup: Backup, where: exp.Expr | None, *, keep: bool) -> int:
    """Write the difference, a few times if others keep changing the same rows; how many rows."""
    return restoring.retried(context, lambda: _write_once(context, backup, where, keep=keep))


def _write_once(context: JobContext, backup: Backup, where: exp.Expr | None, *, keep: bool) -> int:
    journal, table = context.journal, context.table
    engine = context.engine()
    is_large = not isinstance(engine, LocalEngine)
    if is_large and keep:
        settled_version(journal, table.id)
    elif is_large and journal.state.tables[table.id].head_counts.total:
        # A dry run seals nothing, and units see only what is sealed.
        is_large, engine = False, LocalEngine()
    rows = [journal.warehouse.new_folder(table)] if is_large else []
    with (
        staged_folders(journal, rows),
        restoring.transaction(context, backup, keep=keep) as begun,
    ):
        shown = replace(table, id=journal.new_table_id())
        manifest = journal.state.tables[table.id].manifest
        then = Manifest(0, (), backup.segments, manifest.masks)
        with _found_elsewhere(context, begun, engine, shown, then) as among:
            if is_large and not among:
                return 0
            difference = restoring.RestoreDifference(backup, shown, then, where, among)
            if is_large:
                sides = Sides(table, replace(manifest, heads=()), shown, then, among)
                asked = restoring.statement(context, difference)
                found = hand_out(context, begun, asked, sides, engine, rows[0], keep=keep)
                if found is not None:
                    return found
            return restoring.write(context, begun, difference)


@contextmanager
def _found_elsewhere(
    context: JobContext, transaction: Transaction, engine: Engine, shown: Table, then: Manifest
) -> Iterator[tuple[str, ...]]:
    """Files of the keys that differ, found by the engine for a large table; none for a small one.

    Raises SERIALIZATION if somebody wrote since the table was sealed: it is tried again then.
    """
    if isinstance(engine, LocalEngine):
        yield ()
        return
    journal, table = context.journal, context.table
    state = journal.state.tables[table.id]
    if state.head_counts.total or state.last_version > transaction.snapshot.version:
        raise PalimpsestError(
            Code.SERIALIZATION,
            f"{table.name} was written to when it was about to be restored",
            advice="run it again",
        )
    folder = journal.warehouse.new_folder(table)
    with scratch_folder(journal, folder):
        states = States(table, replace(state.manifest, heads=()), shown, then)
        with journal.pins.hold([f.path for s in state.manifest.segments for f in s.files]):
            found = differing(journal, states, folder, engine, context.progress)
        yield tuple(str(journal.root / path) for path in found)


def _run_on_database(context: JobContext) -> JobReport:
    from gateway.jobs.in_database import restore

    return restore(context)


def _run_on_hive(context: JobContext) -> JobReport:
    from gateway.jobs.kept_in_spark import restore

    return restore(context)


def _check(given: Arguments) -> None:
    for name in ("backup", "from", "where", "key"):
        given.text(name)
    given.exclude("where", "key")
    given.exclude("backup", "from")


KIND = JobKind(
    "restore",
    "bring back what a backup shows: the last known good one, or the one named",
    _run,
    ("backup", "from", "where", "key"),
    _run_on_database,
    _run_on_hive,
    _check,
)
