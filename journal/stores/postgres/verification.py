"""Verifies a database's journals: counts, rows, and what gateways committed."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from journal.erasure.guard import has_returned
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import Progress
from journal.model.verification import Verification
from journal.model.version import Version
from journal.sql.relations import Reader, stored_outputs
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, layout
from journal.stores.postgres.backup_segments import backup_only_segments
from journal.stores.postgres.flat import moved_segments
from journal.stores.postgres.statement import DatabaseStatement
from journal.transactions import verification
from journal.transactions.state import TableState
from journal.transactions.verification import Found, check_segments, miscounted, miscounted_backup

if TYPE_CHECKING:
    from journal.stores.postgres.journal import DatabaseJournal


def verify(
    journal: DatabaseJournal,
    progress: Progress | None = None,
    only: Collection[int] | None = None,
) -> Verification:
    """Check every journal, or ``only`` those of the tables of these ids; nothing is repaired."""

    def newest(table: Table) -> Version | None:
        return journal.clock.latest_passed if is_flat(table) else None

    return verification.verify(journal, partial(_pieces, journal), progress, only, newest)


def _pieces(
    journal: DatabaseJournal,
    statement: DatabaseStatement,
    table: Table,
    state: TableState,
    report: Verification,
    advance: Progress,
) -> Found:
    """Heads, segments, and the tables that only backups list; then what was erased."""
    session, counted = statement.session, RowCounts()
    for head in state.manifest.heads:
        report.files += 1
        counted += layout.count_rows(session, table, layout.head_table(table.id, head))
    report.rows += counted.total
    yield from miscounted("the heads", counted, state.head_counts)
    segments, source = moved_segments(state.manifest), layout.segment_table
    given = (segments, source, as_committed.segment_fingerprint, report, advance)
    yield from check_segments(session, table, *given)
    for segment in backup_only_segments(session, table, state):
        report.segments += 1
        report.files += 1
        total = layout.count_rows(session, table, layout.segment_table(segment)).total
        yield from miscounted_backup(segment.id, total, segment.counts.total)
    if _holds_erased(journal, statement, table, state):
        told = "holds rows with an identifier or a key that was erased: somebody wrote them back"
        yield "erased", told


def _holds_erased(
    journal: DatabaseJournal, statement: DatabaseStatement, table: Table, state: TableState
) -> bool:
    """True if rows that can be seen carry what may not come back.

    Identifiers are looked for in current rows: versions before may have one that was erased
    from other rows alone.
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
