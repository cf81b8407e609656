"""Are a database's journals whole? Counts against rows, and rows against the rules of a journal."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from journal.erasure.guard import has_returned
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import Progress
from journal.model.verification import Problem, Verification
from journal.sql.relations import Reader, stored_outputs
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, layout
from journal.stores.postgres.backup_segments import backup_only_segments
from journal.stores.postgres.flat import moved
from journal.stores.postgres.statement import DatabaseStatement
from journal.transactions.row_checks import row_checks
from journal.transactions.state import TableState

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

if TYPE_CHECKING:
    from journal.stores.postgres.journal import DatabaseJournal


def verify(
    journal: DatabaseJournal,
    progress: Progress | None = None,
    only: Collection[int] | None = None,
) -> Verification:
    """Check everything, or ``only`` the tables of these ids.

    ``progress`` is told which part of the tables is done, 0 to 1.
    """
    report = Verification()
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            known = statement.committed.tables
            states = sorted((i, s) for i, s in known.items() if only is None or i in only)
            for done, (table_id, state) in enumerate(states):
                table = statement.committed.catalog.by_id(table_id) or state.layouts[-1]
                report.tables += 1
                report.problems += _problems(journal, statement, table, state, report)
                if progress is not None:
                    progress((done + 1) / len(states))
    finally:
        journal.rollback(transaction)
    return report


def _problems(
    journal: DatabaseJournal,
    statement: DatabaseStatement,
    table: Table,
    state: TableState,
    report: Verification,
) -> list[Problem]:
    session, name = statement.session, str(table.name)
    found: list[Problem] = []
    try:
        counted = RowCounts()
        for head in state.manifest.heads:
            report.files += 1
            counted += layout.count_rows(session, table, layout.head_table(table.id, head))
        report.rows += counted.total
        if counted != state.head_counts:
            told = f"{counted} in the heads, the catalog says {state.head_counts}"
            found.append(Problem("count", name, told))
        for segment in moved(state.manifest):
            report.segments += 1
            report.files += 1
            source = layout.segment_table(segment)
            rows = layout.count_rows(session, table, source)
            report.rows += rows.total
            if rows != segment.counts:
                told = f"{rows} in {segment.id}, the manifest says {segment.counts}"
                found.append(Problem("count", name, told))
                continue
            holds = as_committed.fingerprint(session, table, source, segment.fields)
            if (changed := as_committed.altered(segment, holds)) is not None:
                found.append(Problem("altered", name, changed))
        for segment in backup_only_segments(session, table, state):
            report.segments += 1
            report.files += 1
            rows = layout.count_rows(session, table, layout.segment_table(segment))
            if rows.total != segment.counts.total:
                told = f"{rows.total} rows in {segment.id}, which backups list with"
                found.append(Problem("count", name, f"{told} {segment.counts.total}"))
        if _holds_erased(journal, statement, table, state):
            told = (
                "holds rows with an identifier or a key that was erased: somebody wrote them back"
            )
            found.append(Problem("erased", name, told))
        ahead = journal.clock.latest_passed if is_flat(table) else None
        for kind, message in row_checks(session, table, state, statement.committed.version, ahead):
            found.append(Problem(kind, name, message))
    except PalimpsestError as error:
        if error.code in _NOT_OF_THE_JOURNAL:
            raise
        found.append(Problem("unreadable", name, error.message))
    return found


def _holds_erased(
    journal: DatabaseJournal, statement: DatabaseStatement, table: Table, state: TableState
) -> bool:
    """True if rows that can be seen carry what may not come back.

    Identifiers are looked for in current rows: versions before may have one that was erased from
    other rows alone.
    """
    fence, reader = statement.committed.fence, Reader(table, state.tiers)
    looked = (
        (fence.of_keys, reader.journal()),
        (fence.of_people, reader.current(stored_outputs(table))),
    )
    return any(
        part.concerns(table)
        and has_returned(journal, statement.session, part, table, rows.subquery(copy=False))
        for part, rows in looked
    )
