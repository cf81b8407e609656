"""In the commit section: may these rows be written, or were they erased?

A transaction that began before the erasure was accepted is told to run again (40001): the second
time it no longer sees the rows. Whoever writes them later is refused. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.erasure.fence import P_NOW, P_SECRET, Fence
from journal.erasure.secret import read_secret
from journal.errors import Code, PalimpsestError
from journal.relations import column, version_value
from journal.schema import Table
from journal.segment import RowCounts
from journal.state import JournalState
from journal.statement import Statement
from journal.stores import duckdb_erasure as rows_of
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession
from journal.stores.duckdb_rows import show_rows
from journal.transaction import Transaction
from journal.version import Version

if TYPE_CHECKING:
    from journal.journal import Journal

_SHOWN = "fenced_rows"


def load_fence(session: DuckDBSession) -> Fence:
    """What is suppressed; makes the tables of erasures where there are none yet."""
    rows_of.ensure(session)
    return Fence(frozenset(rows_of.load_fences(session)), rows_of.newest_fence(session))


def check_buffers(
    journal: Journal, session: DuckDBSession, transaction: Transaction, committed: JournalState
) -> None:
    """Raise if a transaction is about to append erased rows."""
    for table_id in sorted(transaction.buffered_tables()):
        table = transaction.catalog.by_id(table_id) or committed.catalog.by_id(table_id)
        if table is None or not journal.state.fence.concerns(table):
            continue
        show_rows(session, table, _SHOWN, transaction.buffered(table_id))
        since = suppressed_since(journal, session, table, exp.to_table(_SHOWN))
        session.hide(_SHOWN)
        if since is not None:
            raise refusal(table, began_before=transaction.snapshot.fence.newest < since)


def check_direct(
    journal: Journal, statement: Statement, appended: Mapping[int, RowCounts], version: Version
) -> None:
    """Raise if a direct statement has appended erased rows under ``version``."""
    for table in _tables(statement.committed, appended):
        if not journal.state.fence.concerns(table):
            continue
        head = statement.committed.tables[table.id].manifest.heads[-1]
        number = version_value(table, exp.Literal.number(version))
        names = (table.format.version_column, table.format.subsequent_column)
        same = [exp.EQ(this=column(n), expression=number.copy()) for n in names]
        rows = exp.select("*").from_(layout.head_table(table.id, head)).where(exp.or_(*same))
        since = suppressed_since(journal, statement.session, table, rows.subquery(copy=False))
        if since is not None:
            raise refusal(table, began_before=False)


def suppressed_since(
    journal: Journal, session: DuckDBSession, table: Table, rows: exp.Expr
) -> Version | None:
    """When the newest suppression began that any of these rows runs into; None if none does."""
    parameters = {P_SECRET: read_secret(journal.root), P_NOW: journal.clock.now()}
    (since,) = session.row(journal.state.fence.caught(table, rows), parameters)
    return None if since is None else int(since)


def _tables(committed: JournalState, ids: Iterable[int]) -> list[Table]:
    return [t for t in (committed.catalog.by_id(i) for i in ids) if t is not None]


def refusal(table: Table, *, began_before: bool) -> PalimpsestError:
    """The error of a write that would bring erased rows back."""
    if began_before:
        return PalimpsestError(
            Code.SERIALIZATION,
            f"could not serialize access: rows of {table.name} that this transaction wrote were"
            " erased meanwhile",
            advice="roll back and run the transaction again; it will not see them any more",
        )
    return PalimpsestError(
        Code.ERASED,
        f"rows for {table.name} carry an identifier or a key that was erased",
        advice="leave them out; if the person came back, `palimpsest erase readmit` lets them in",
    )
