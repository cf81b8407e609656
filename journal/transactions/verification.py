"""Verifies journals: pieces against manifests, rows against the rules.

What a piece is, and how it is looked at, is the store's: ``CheckPieces``. Everything is read and
nothing is changed; an empty list of problems is the proof that nothing was found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.model.store_session import Progress, StoreSession
from journal.model.verification import Problem, Verification
from journal.model.version import Version
from journal.sql.counting import Fingerprint, count_rows
from journal.transactions.foreign_writes import altered
from journal.transactions.orphaned_rows import orphans
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.reading import reading
from journal.transactions.row_checks import row_checks
from journal.transactions.state import TableState

S = TypeVar("S", bound=StoreSession)
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


CheckPieces = Callable[[Any, Table, TableState, Verification, Progress], Found]
"""Tells what is wrong with the pieces of a table, live ones and those that backups list.

It is given a statement of the store, counts what it reads in the report, and says which part of it
is done, 0 to 1.
"""


def _nothing_newer(_table: Table) -> None:
    """The gateway alone writes: nothing is newer than the last commit."""


def verify(
    journal: OpenJournal,
    pieces: CheckPieces,
    progress: Progress | None = None,
    only: Collection[int] | None = None,
    newest: Callable[[Table], Version | None] = _nothing_newer,
) -> Verification:
    """Check every journal, or ``only`` those of the tables of these ids.

    ``progress`` is told which part is done, 0 to 1. ``newest`` is the last version that the store's
    clock would pass, of a journal that others write too. Raises what keeps the store from being
    read.
    """
    report = Verification()
    with reading(journal) as statement:
        known = sorted(statement.committed.tables.items())
        states = [(i, s) for i, s in known if s.layouts and (only is None or i in only)]
        for done, (table_id, state) in enumerate(states):

            def advance(part: float, done: int = done) -> None:
                if progress is not None:
                    progress((done + part) / len(states))

            table = statement.committed.catalog.by_id(table_id) or state.layouts[-1]
            report.tables += 1
            found = partial(pieces, statement, table, state, report, advance)
            for kind, message in _problems(statement, found, table, state, newest, report):
                report.problems.append(Problem(kind, str(table.name), message))
            advance(1.0)
    return report


def _problems(
    statement: OpenStatement,
    pieces: Callable[[], Found],
    table: Table,
    state: TableState,
    newest: Callable[[Table], Version | None],
    report: Verification,
) -> Found:
    committed, is_readable = statement.committed, True
    try:
        for kind, message in pieces():
            is_readable &= kind not in UNREADABLE
            yield kind, message
        if not is_readable:
            return
        passed, in_care = newest(table), committed.catalog.by_id(table.id) is not None
        if passed is None or in_care:
            # What others write to a journal that was ejected is their affair.
            yield from row_checks(statement.session, table, state, committed.version, passed)
        if in_care:
            report.dangling |= orphans(statement.session, committed, table)
    except PalimpsestError as error:
        if error.code in _NOT_OF_THE_JOURNAL:
            raise
        yield "unreadable", error.message


class OnlyVerified:
    """The upkeep of a store that seals nothing, because its heads are as good as its segments."""

    def __init__(
        self, verify: Callable[[Progress | None, Collection[int] | None], Verification]
    ) -> None:
        self._verify = verify

    def request(self, table_id: int, rows_max: int) -> None:
        """A head may grow."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Nothing is sealed; rows are as durable and as quick to read where they are."""
        return ()

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        """Check pieces and rows; nothing is repaired."""
        return self._verify(progress, only)

    def close(self) -> None:
        """Nothing runs in the background."""


def check_segments(
    session: S,
    table: Table,
    segments: Sequence[Segment],
    source: Callable[[Segment], exp.Expr],
    held: Callable[[S, Table, Segment], Fingerprint],
    report: Verification,
    advance: Progress,
) -> Found:
    """Segments that are tables, given by ``source``: their rows by kind, and what is ``held``."""
    for done, segment in enumerate(segments, 1):
        report.segments += 1
        report.files += 1
        rows = count_rows(session, table, source(segment))
        report.rows += rows.total
        yield from miscounted(segment.id, rows, segment.counts)
        if rows == segment.counts:
            if (changed := altered(segment, held(session, table, segment))) is not None:
                yield "altered", changed
        advance(done / len(segments))


def miscounted(piece: str, rows: RowCounts, listed: RowCounts) -> Found:
    """What is said of a piece that holds other rows than are listed of it."""
    if rows != listed:
        yield "count", f"{rows} in {piece}, the manifest says {listed}"


def miscounted_backup(piece: str, rows: int, listed: int) -> Found:
    """What is said of a piece of a backup that holds more rows or less."""
    if rows != listed:
        yield "count", f"{rows} rows in {piece}, which backups list with {listed}"
