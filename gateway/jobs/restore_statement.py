"""The difference to a backup as a statement, run by the session's executor in one transaction.

So keys and constraints hold, nobody's update is lost, what was erased stays erased, and earlier
points in time read as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from gateway.jobs.context import JobContext
from gateway.session.request import StatementRequest
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.records.backups import Backup
from journal.sql.relations import ident
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author
from rewriter.statement import Restore, Source
from rewriter.syntax.parsing import Parsed
from spark_compaction.programs.backup_store import BackupStore


@dataclass(frozen=True, slots=True)
class RestoreDifference:
    """A backup, shown as a table of its own, and the rows of it that are restored.

    ``key_files`` are files of the keys that may differ, if they are known.
    """

    backup: Backup
    backup_table: Table
    manifest: Manifest
    where: exp.Expr | None
    key_files: tuple[str, ...] = ()


def difference_of(
    context: JobContext,
    store: BackupStore,
    begun: Transaction,
    backup: Backup,
    where: exp.Expr | None,
) -> RestoreDifference:
    """The difference to a backup, without rows that erasure requests hide."""
    masks = begun.snapshot.tables[context.table.id].manifest.masks
    shown, manifest = store.as_table(context.session.journal.counters.new_table_id(), backup, masks)
    return RestoreDifference(backup, shown, manifest, where)


@contextmanager
def restore_transaction(context: JobContext, backup: Backup) -> Iterator[Transaction]:
    """A transaction for a restore; committed at the end of the block, unless it is a dry run."""
    session, journal = context.session, context.session.journal
    begun = journal.begin(at_once=True, message=_message(context, backup))
    try:
        yield begun
        if context.dry_run:
            begun.rollback()
        else:
            journal.commit(begun, Author(session.recorded_user, session.settings.application))
    except BaseException:
        begun.rollback()
        raise


def write_difference(context: JobContext, begun: Transaction, difference: RestoreDifference) -> int:
    """Write the difference in a transaction; how many rows it is."""
    session = context.session
    begun.shown.append((difference.backup_table, difference.manifest))
    settings = session.settings.unrestricted
    asked = StatementRequest(parse_restore(context, difference), {}, settings, session.dialect)
    outcome = session.executor.run(begun, asked, session.cancellation)
    return max(0, outcome.row_count)


def parse_restore(context: JobContext, difference: RestoreDifference) -> Parsed:
    """The statement that writes a difference."""
    table, backup = context.table, difference.backup
    tiers = frozenset(s.tier for s in difference.manifest.segments)
    source = Source(
        difference.backup_table.id,
        tiers,
        only_missing=backup.is_archive,
        among=difference.key_files,
    )
    name = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    wanted = Restore(name, "BACKUP", exp.Null(), difference.where, source)
    return Parsed(wanted, f"{_message(context, backup)} #{difference.backup_table.id}", ())


def _message(context: JobContext, backup: Backup) -> str:
    return f"restore {context.table.name} from {backup.name}"
