"""What every restore does: the difference to a backup is written by one ordinary transaction.

So keys and constraints hold, nobody's update is lost, what was erased stays erased, and earlier
points in time read as before. Where the backup lies, and how it is read, is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from gateway.jobs.arguments import wrong
from gateway.jobs.context import JobContext
from gateway.procedures.conditions import read_condition
from gateway.session.request import StatementRequest
from journal.model.duration import Duration, Unit
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.records import backups
from journal.records.backups import Backup
from journal.records.report import JobReport, Volume
from journal.sql.relations import ident
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author
from rewriter.statement import Restore, Source
from rewriter.syntax.parsing import Parsed
from spark_compaction.programs import copies

_TRASH = Duration(30, Unit.DAYS)


@dataclass(frozen=True, slots=True)
class RestoreDifference:
    """A backup, shown as a table of its own, and the rows of it that are restored.

    ``among`` are files of the keys that may differ, if they are known.
    """

    backup: Backup
    shown: Table
    manifest: Manifest
    where: exp.Expr | None
    among: tuple[str, ...] = ()


def trash_expiry(context: JobContext) -> datetime:
    """Until when stays what a restore replaces."""
    return (context.policy.backup or _TRASH).after(context.moment)


def found_elsewhere(context: JobContext, source: str, kind: str) -> Backup:
    """A backup that lies elsewhere, of a table like this one in a store of that kind."""
    backup, table = copies.read(source)
    copies.refuse_other_stores(backup, kind)
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


def best(context: JobContext, usable: Iterable[Backup], live: frozenset[str]) -> Backup:
    """The last known good backup; refused if none differs from what is ``live``."""
    found = backups.last_known_good(usable, live)
    if found is None:
        raise PalimpsestError(
            Code.BACKUP,
            f"there is nothing to restore {context.table.name} from: no backup differs from what"
            " is there",
            advice="RESTORE TABLE .. TO TIMESTAMP AS OF .. goes back to any version that is kept",
        )
    return found


def condition(context: JobContext) -> exp.Expr | None:
    """The rows to restore: a condition, or the value of the key."""
    where, key = context.text("where"), context.text("key")
    if where is not None:
        return read_condition(context.session, where)
    return None if key is None else _key(context, key)


def _key(context: JobContext, text: str) -> exp.Expr:
    table = context.table
    values = [part.strip() for part in text.split(",")]
    if table.hidden_key or len(values) != len(table.key):
        named = ", ".join(table.by_physical(p).name for p in table.key)
        raise wrong(
            f"{table.name} has {'no key' if table.hidden_key else f'the key ({named})'}",
            "give one value for each key column, separated by commas; or a condition",
        )
    found: list[exp.Expr] = []
    for physical, value in zip(table.key, values, strict=True):
        stored = table.by_physical(physical)
        typed = exp.cast(exp.Literal.string(value), stored.type, dialect="duckdb")
        found.append(exp.EQ(this=exp.column(ident(stored.name)), expression=typed))
    return exp.and_(*found)


def retried(context: JobContext, once: Callable[[], int]) -> int:
    """Do it a few times if others keep changing the same rows; how many rows it was."""
    retries = context.session.settings.retries
    for attempt in range(retries + 1):
        try:
            return once()
        except PalimpsestError as error:
            if error.code is not Code.SERIALIZATION or attempt == retries:
                raise
            context.log(f"attempt {attempt + 1}: {error.message}")
    raise AssertionError("the loop returns or raises")


@contextmanager
def transaction(
    context: JobContext, backup: Backup, *, keep: bool, explicit: bool = False
) -> Iterator[Transaction]:
    """A transaction for a restore; committed at the end if it is to be kept."""
    session, journal = context.session, context.session.journal
    begun = journal.begin(explicit=explicit, message=_message(context, backup))
    try:
        yield begun
        if keep:
            journal.commit(begun, Author(session.user, session.settings.application))
        else:
            journal.rollback(begun)
    except BaseException:
        journal.rollback(begun)
        raise


def _message(context: JobContext, backup: Backup) -> str:
    return f"restore {context.table.name} from {backup.name}"


def write(context: JobContext, begun: Transaction, difference: RestoreDifference) -> int:
    """Write the difference in a transaction; how many rows it is."""
    session = context.session
    begun.shown.append((difference.shown, difference.manifest))
    asked = StatementRequest(statement(context, difference), {}, session.settings, "duckdb")
    outcome = session.executor.run(begun, asked, session.cancellation)
    return max(0, outcome.row_count)


def statement(context: JobContext, difference: RestoreDifference) -> Parsed:
    """The statement that writes a difference."""
    table, backup = context.table, difference.backup
    tiers = frozenset(s.tier for s in difference.manifest.segments)
    source = Source(
        difference.shown.id, tiers, only_missing=backup.is_archive, among=difference.among
    )
    name = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    wanted = Restore(name, "BACKUP", exp.Null(), difference.where, source)
    return Parsed(wanted, f"{_message(context, backup)} #{difference.shown.id}", ())


def report(context: JobContext, backup: Backup, rows: int, trash: Backup | None) -> JobReport:
    """What a restore has done, or would do."""
    state = "nothing" if not rows else "planned" if context.dry_run else "done"
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
