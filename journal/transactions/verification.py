"""Are journals whole? The pieces against what is listed, the rows against a journal's rules.

What a piece is, and how it is looked at, is the store's: ``PieceChecks``. Everything is read and
nothing is changed; an empty list of problems is the proof that nothing was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import Progress
from journal.model.verification import Problem, Verification
from journal.model.version import Version
from journal.transactions.orphaned_rows import orphans
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.row_checks import row_checks
from journal.transactions.state import TableState

Found = Iterator[tuple[str, str]]
"""Kind and message of each problem."""

UNREADABLE = frozenset({"file", "unreadable"})
"""The kinds of problems with pieces whose rows cannot be looked at."""
_NOT_OF_THE_JOURNAL = {
    Code.STORE_LOST,
    Code.STORE_UNREACHABLE,
    Code.STORE_LOGIN,
    Code.STORE_GRANT,
    Code.STORE_WRITE,
    Code.OUT_OF_MEMORY,
    Code.CANCELLED,
    Code.JOB_BUSY,
}
"""What keeps from looking, and says nothing of what would be seen."""


class PieceChecks(Protocol):
    """How a store looks at the pieces of a journal."""

    def pieces(
        self,
        statement: Any,
        table: Table,
        state: TableState,
        report: Verification,
        advance: Progress,
    ) -> Found:
        """What is wrong with the pieces of a table, live ones and those that backups list.

        Counts what it reads in the report, and says which part of it is done, 0 to 1. The statement
        is one of the store's own.
        """

    def newest(self, table: Table) -> Version | None:
        """The last version that the store's clock would pass, of a journal that others write too.

        None for one that the gateway alone writes: nothing is newer than the last commit.
        """


def verify(
    journal: OpenJournal,
    checks: PieceChecks,
    progress: Progress | None = None,
    only: Collection[int] | None = None,
) -> Verification:
    """Check every journal, or ``only`` those of the tables of these ids.

    ``progress`` is told which part is done, 0 to 1. Raises what keeps the store from being read.
    """
    report = Verification()
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            known = sorted(statement.committed.tables.items())
            states = [(i, s) for i, s in known if s.layouts and (only is None or i in only)]
            for done, (table_id, state) in enumerate(states):

                def advance(part: float, done: int = done) -> None:
                    if progress is not None:
                        progress((done + part) / len(states))

                table = statement.committed.catalog.by_id(table_id) or state.layouts[-1]
                report.tables += 1
                for kind, message in _problems(statement, checks, table, state, report, advance):
                    report.problems.append(Problem(kind, str(table.name), message))
                advance(1.0)
    finally:
        journal.rollback(transaction)
    return report


def _problems(
    statement: OpenStatement,
    checks: PieceChecks,
    table: Table,
    state: TableState,
    report: Verification,
    advance: Progress,
) -> Found:
    committed, is_readable = statement.committed, True
    try:
        for kind, message in checks.pieces(statement, table, state, report, advance):
            is_readable &= kind not in UNREADABLE
            yield kind, message
        if not is_readable:
            return
        newest = checks.newest(table)
        yield from row_checks(statement.session, table, state, committed.version, newest)
        if committed.catalog.by_id(table.id) is not None:
            report.dangling |= orphans(statement.session, committed, table)
    except PalimpsestError as error:
        if error.code in _NOT_OF_THE_JOURNAL:
            raise
        yield "unreadable", error.message


def miscounted(piece: str, rows: RowCounts, listed: RowCounts) -> Found:
    """What is said of a piece that holds other rows than are listed of it."""
    if rows != listed:
        yield "count", f"{rows} in {piece}, the manifest says {listed}"


def miscounted_backup(piece: str, rows: int, listed: int) -> Found:
    """What is said of a piece of a backup that holds more rows or less."""
    if rows != listed:
        yield "count", f"{rows} rows in {piece}, which backups list with {listed}"
