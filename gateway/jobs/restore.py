"""The kind ``restore``: what a backup shows becomes the present again, as one more version.

Rows of the backup that are missing come back, changed ones change back, and rows it lacks go: the
difference is written by an ordinary transaction, so keys and constraints hold, nobody's update is
lost, what was erased stays erased, and every earlier state reads as before. What is replaced is
kept as a backup of its own first, the trash. Killed at any moment, all of it happened or nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from gateway.jobs.backup import make
from gateway.jobs.context import JobContext, JobKind
from journal.commit import Author
from journal.duration import Duration, Unit
from journal.errors import Code, PalimpsestError
from journal.jobs import backups, copies, retired
from journal.jobs.backups import Backup, BackupKind
from journal.jobs.contract import Engine, JobReport, Volume
from journal.jobs.swap import settled_version
from journal.relations import ident
from journal.schema import Table
from journal.segment import Manifest
from journal.transaction import Transaction
from rewriter.parsing import DIALECTS, Parsed
from rewriter.statement import Restore, Source
from spark_compaction.differences import States, differing
from spark_compaction.local import LocalEngine

TRASH = Duration(30, Unit.DAYS)
ARCHIVE = "archive"
"""The name under which archived rows are restored."""


def _run(context: JobContext) -> JobReport:
    where, source = _condition(context), context.text("from")
    backup = _chosen(context) if source is None else _found(context, source)
    if backup.place is None:
        backups.files_there(context.journal, backup)
        return _restored(context, backup, where)
    with copies.brought(context.journal, backup, context.table, context.progress) as here:
        return _restored(context, here, where)


def _found(context: JobContext, source: str) -> Backup:
    """A backup that lies elsewhere, of a table like this one, which may be of another warehouse."""
    backup, table = copies.read(source)
    wanted, given = (
        {c.physical: c.type for c in t.stored} | {"key": t.key} for t in (context.table, table)
    )
    if wanted != given or context.table.format != table.format:
        columns = ", ".join(f"{c.name} {c.type}" for c in table.columns)
        raise PalimpsestError(
            Code.BACKUP,
            f"the backup is of a table with other columns than {context.table.name}",
            advice=f"restore it into one made with ({columns}) and the same key",
        )
    return backup


def _restored(context: JobContext, backup: Backup, where: exp.Expr | None) -> JobReport:
    if context.dry_run:
        return _report(context, backup, _write(context, backup, where, keep=False), None)
    trash = make(
        context,
        f"trash-{context.job_id}",
        BackupKind.TRASH,
        (context.policy.backup or TRASH).after(context.moment),
    )
    with context.journal.pins.hold(backup.paths):
        rows = _write(context, backup, where, keep=True)
    return _report(context, backup, rows, trash)


def _chosen(context: JobContext) -> Backup:
    journal, table = context.journal, context.table
    name = context.text("backup")
    with journal.reading_session() as session:
        found = backups.load(session, table.id)
        if name == ARCHIVE and not any(b.name == name for b in found):
            archived = backups.archived(retired.load(session, table.id))
            return backups.archive(archived, ARCHIVE, table, context.moment)
        there = retired.paths(session)
    if name is not None:
        return backups.named(found, name, str(table.name))
    manifest = journal.state.tables[table.id].manifest
    live = frozenset(f.path for s in manifest.segments for f in s.files)
    usable = [b for b in found if b.paths <= there | live]
    best = backups.last_known_good(usable, live)
    if best is None:
        raise PalimpsestError(
            Code.BACKUP,
            f"there is nothing to restore {table.name} from: no backup differs from what is there",
            advice="RESTORE TABLE .. TO TIMESTAMP AS OF .. goes back to any version that is kept",
        )
    return best


def _condition(context: JobContext) -> exp.Expr | None:
    """The rows to restore: a condition, or the value of the key."""
    where, key = context.text("where"), context.text("key")
    if where is not None and key is not None:
        raise _wrong("where and key exclude each other", "give one of them")
    if where is not None:
        try:
            return sqlglot.parse_one(where, read=DIALECTS[context.session.dialect])
        except ParseError as error:
            raise PalimpsestError(
                Code.SYNTAX,
                f'the condition "{where}" cannot be read',
                advice="write it as behind WHERE",
            ) from error
    return None if key is None else _key(context, key)


def _key(context: JobContext, text: str) -> exp.Expr:
    table = context.table
    values = [part.strip() for part in text.split(",")]
    if table.hidden_key or len(values) != len(table.key):
        named = ", ".join(table.by_physical(p).name for p in table.key)
        raise _wrong(
            f"{table.name} has {'no key' if table.hidden_key else f'the key ({named})'}",
            "give one value for each key column, separated by commas; or a condition",
        )
    found: list[exp.Expr] = []
    for physical, value in zip(table.key, values, strict=True):
        stored = table.by_physical(physical)
        typed = exp.cast(exp.Literal.string(value), stored.type, dialect="duckdb")
        found.append(exp.EQ(this=exp.column(ident(stored.name)), expression=typed))
    return exp.and_(*found)


def _write(context: JobContext, backup: Backup, where: exp.Expr | None, *, keep: bool) -> int:
    """Write the difference, a few times if others keep changing the same rows; how many rows."""
    session = context.session
    for attempt in range(session.settings.retries + 1):
        try:
            return _write_once(context, backup, where, keep=keep)
        except PalimpsestError as error:
            if error.code is not Code.SERIALIZATION or attempt == session.settings.retries:
                raise
            context.log(f"attempt {attempt + 1}: {error.message}")
    raise AssertionError("the loop returns or raises")


def _write_once(context: JobContext, backup: Backup, where: exp.Expr | None, *, keep: bool) -> int:
    journal, session, table = context.journal, context.session, context.table
    message = f"restore {table.name} from {backup.name}"
    engine = context.engine()
    is_large = not isinstance(engine, LocalEngine)
    if is_large:
        settled_version(journal, table.id)
    transaction = journal.begin(message=message)
    try:
        shown = replace(table, id=journal.new_table_id())
        masks = journal.state.tables[table.id].manifest.masks
        then = Manifest(0, (), backup.segments, masks)
        transaction.shown.append((shown, then))
        tiers = frozenset(s.tier for s in backup.segments)
        source = Source(shown.id, tiers, only_missing=backup.is_archive)
        with _found_elsewhere(context, transaction, engine, shown, then) as among:
            if is_large and not among:
                journal.rollback(transaction)
                return 0
            source = replace(source, among=among)
            name = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
            statement = Restore(name, "BACKUP", exp.Null(), where, source)
            parsed = Parsed(statement, f"{message} #{shown.id}", ())
            outcome = session.executor.run(
                transaction, parsed, {}, session.settings, "duckdb", session.cancellation
            )
        if keep:
            journal.commit(transaction, Author(session.user, session.settings.application))
        else:
            journal.rollback(transaction)
    except BaseException:
        journal.rollback(transaction)
        raise
    return max(0, outcome.row_count)


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
    journal.staged.add(folder)
    try:
        (journal.root / folder).mkdir(parents=True)
        states = States(table, replace(state.manifest, heads=()), shown, then)
        with journal.pins.hold([f.path for s in state.manifest.segments for f in s.files]):
            found = differing(journal, states, folder, engine, context.progress)
        yield tuple(str(journal.root / path) for path in found)
    finally:
        shutil.rmtree(journal.root / folder, ignore_errors=True)
        journal.staged.discard(folder)


def _report(context: JobContext, backup: Backup, rows: int, trash: Backup | None) -> JobReport:
    state = "planned" if context.dry_run else "done" if rows else "nothing"
    return JobReport(
        id=context.job_id,
        kind="restore",
        table=str(context.table.name),
        state=state,
        why="" if rows else "the table is as the backup shows it",
        read=Volume(len(backup.paths), backup.rows, backup.bytes),
        written=Volume(rows=rows),
        details={
            "backup": backup.name,
            "version": backup.version,
            "trash": None if trash is None else trash.name,
        },
    )


def _wrong(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice)


KIND = JobKind(
    "restore",
    "bring back what a backup shows: the last known good one, or the one named",
    _run,
    ("backup", "from", "where", "key"),
)
