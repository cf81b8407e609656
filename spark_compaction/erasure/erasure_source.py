"""Where a warehouse keeps rows that may depend on erased ones: files, heads, copies of backups.

Files and their bytes are counted by table, for the receipts. Says where to look, and changes
nothing but what killed copies have left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from journal.erasure.unreachable_copies import check_searched
from journal.local_engine import layout
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.stores.embedded import retired_files
from journal.stores.embedded.journal import Journal
from journal.transactions.state import JournalState
from spark_compaction.erasure.backup_search import rows_copied
from spark_compaction.erasure.cascade import Ask, SourceRows
from spark_compaction.erasure.locate import Search, by_fields


@dataclass(slots=True)
class WarehouseSource:
    """The ground of one request; what a killed copy has left is finished if it ``tidies``."""

    journal: Journal
    tidies: bool
    searches: dict[int, Search] = field(default_factory=dict)

    def search(self, table: Table) -> Search:
        """What was looked at of a table."""
        return self.searches.setdefault(table.id, Search())

    @contextmanager
    def here(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> Iterator[SourceRows]:
        """Live segments, those that are kept besides, and heads; files are checked, and stay."""
        manifest = state.tables[table.id].manifest
        with retired_files.pinned(self.journal, table.id) as kept:
            segments = [*manifest.segments, *kept]
            self.journal.checker.check(segments)
            self._count(table, manifest.segments, segments)

            def rows(skipped: Collection[str], heads: bool) -> list[exp.Query]:
                files = self._files(table, segments, skipped)
                return [*(layout.head_rows(table, h) for h in manifest.heads if heads), *files]

            yield SourceRows({f.path for s in segments for f in s.files}, rows)

    def in_copies(self, table: Table, ask: Ask, *, counted: bool) -> list[pa.Table]:
        """What every copy elsewhere answers; raises ERASURE if one cannot be searched."""

        def find(segments: Sequence[Segment]) -> pa.Table:
            with self.journal.reading_session() as session:
                return ask(session, self._files(table, segments, ()))

        search = self.search(table) if counted else Search()
        found, left = rows_copied(self.journal, table, find, search, tidies=self.tidies)
        check_searched(left)
        return [rows for rows in found if rows.num_rows]

    def _files(
        self, table: Table, segments: Sequence[Segment], skipped: Collection[str]
    ) -> list[exp.Query]:
        found: list[exp.Query] = []
        for fields, files in by_fields(segments):
            paths = [f.path for f in files if f.path not in skipped]
            if paths:
                found.append(layout.segment_rows(table, paths, fields, self.journal.root))
        return found

    def _count(self, table: Table, live: Sequence[Segment], segments: Sequence[Segment]) -> None:
        search, alive = self.search(table), {f.path for s in live for f in s.files}
        for file in (f for s in segments for f in s.files if f.path not in search.seen):
            search.seen.add(file.path)
            (search.live if file.path in alive else search.kept).count(file, read=True)
