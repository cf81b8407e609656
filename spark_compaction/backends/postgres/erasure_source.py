"""Where a database keeps rows that may depend on erased ones: its tables, and copies of backups.

Rows are read as they were written, hidden ones too, in the columns their table has now. What was
read of copies is counted by table, for the receipts. Changes nothing but what killed copies have
left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from journal.erasure.unreachable_copies import check_searched
from journal.model.schema import Table
from journal.model.segment import Fields
from journal.model.store_session import StoreSession
from journal.records.backups import Backup
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import backup_segments, layout
from journal.stores.postgres.journal import DatabaseJournal
from journal.transactions.state import JournalState
from spark_compaction.backends.postgres import searched, table_backups
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.erasure.cascade import Ask, SourceRows
from spark_compaction.erasure.offsite_search import Copied, keys_in_copies


@dataclass(slots=True)
class DatabaseSource:
    """The ground of one request; what a killed copy has left is finished if it ``tidies``."""

    journal: DatabaseJournal
    tidies: bool
    copies: dict[int, Copied] = field(default_factory=dict)

    def copied(self, table: Table) -> Copied:
        """What was looked at of copies of a table's backups."""
        return self.copies.setdefault(table.id, Copied())

    @contextmanager
    def here(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> Iterator[SourceRows]:
        """Tables that are live or of backups; the last head grows, and so does what others write.

        They stay: the session's transaction reads them, or nobody may replace them.
        """
        found = table_backups.with_backups(session, table, state.tables[table.id])
        growing = {layout.head_table(table.id, head).name for head in found.manifest.heads[-1:]}
        sources: list[tuple[str, exp.Expr, Fields]] = []
        for source, fields in searched.rows_written(table, found):
            name = source.name if isinstance(source, exp.Table) else ""
            sources.append(("" if name in growing else name, source, fields))

        def rows(skipped: Collection[str], heads: bool) -> list[exp.Query]:
            return [
                rows_in_layout(table, source.copy(), fields)
                for name, source, fields in sources
                if (name not in skipped if name else heads)
            ]

        yield SourceRows({name for name, _, _ in sources if name}, rows)

    def in_copies(self, table: Table, ask: Ask, *, counted: bool) -> list[pa.Table]:
        """What every copy elsewhere answers; raises ERASURE if one cannot be searched."""

        def look(here: Backup) -> list[pa.Table]:
            rows = [
                rows_in_layout(table, layout.segment_table(segment), segment.fields)
                for segment in backup_segments.tables_of(here)
            ]
            # In a transaction of its own: an earlier snapshot would not show what was loaded.
            with self.journal.reading_session() as session:
                session.begin()
                return [ask(session, rows)] if rows else []

        transport = DatabaseTransport(self.journal, table)
        found = keys_in_copies(transport, table, look, tidies=self.tidies)
        check_searched(found.left)
        answers, found.keys = found.keys, []
        if counted:
            self.copied(table).read(found)
        return answers
