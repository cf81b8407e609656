"""Writing a transaction's rows to partitions of their own, which no manifest lists yet.

    held in the gateway -> one statement per table and set of columns, where they are few
    in Spark already    -> as they are, or once more where their versions were overtaken

The caller lists the segments, or has ``undo`` remove the partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, Segment
from journal.model.store_session import MemoryRows, RowSet, StagedRows
from journal.model.version import Version
from journal.sql.held_rows import combine_rows
from journal.sql.row_layout import fields_of
from journal.stores.hive import layout
from journal.stores.hive.adopt import plain as hive_plain
from journal.stores.hive.missing_tables import append
from journal.stores.hive.row_upload import write_held
from journal.stores.hive.statement import HiveStatement
from journal.transactions.inlined_rows import NOTHING_INLINED, InlinedRows
from journal.transactions.restamp import restamp_query, restamp_rows

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal


class Appending:
    """Partitions that one try to commit makes.

    ``rows`` are what was appended from the gateway, by path.
    """

    def __init__(
        self,
        journal: HiveJournal,
        statement: HiveStatement,
        overtaken: Mapping[Version, Version],
        versions: tuple[Version, Version],
    ) -> None:
        self._journal = journal
        self._statement = statement
        self._mapping = overtaken
        self._first, self._last = versions
        self._made: list[str] = []
        self.rows: dict[str, pa.Table] = {}

    def append(
        self, table: Table, sets: Sequence[RowSet], inlined: InlinedRows = NOTHING_INLINED
    ) -> list[Segment]:
        """Write row sets of one table, in one statement where they are few; the new segments.

        Rows that were committed as ``inlined`` go along as they are.
        """
        alike: dict[Fields, list[MemoryRows]] = {}
        found: list[Segment] = []
        for rows in sets:
            if isinstance(rows, MemoryRows):
                alike.setdefault(rows.fields or fields_of(table), []).append(rows)
            else:
                found.append(self._segment_of_staged(table, rows))
        of_inlined = inlined.pieces[0].fields if inlined else None
        if of_inlined is not None:
            alike.setdefault(of_inlined, [])
        for fields, group in alike.items():
            before = inlined if fields == of_inlined else NOTHING_INLINED
            found.append(self._append_alike(table, fields, group, before))
        return found

    def _append_alike(
        self,
        table: Table,
        fields: Fields,
        group: Sequence[MemoryRows],
        before: InlinedRows,
    ) -> Segment:
        """Write rows of the same columns to one partition, behind those committed ``before``."""
        own = list(group)
        if self._mapping and own:
            restamped = restamp_rows(combine_rows(own), table, self._mapping)
            own = [MemoryRows(restamped, sum((r.counts for r in own), RowCounts()), fields)]
        together = [*before.pieces, *own]
        rows = combine_rows(together)
        with self._new_segment(table, fields) as path:
            session = self._statement.session
            write_held(self._journal, session.local, session.connection, rows, path)
        self.rows[path] = rows
        counts = sum((r.counts for r in together), RowCounts())
        return self._segment(path, fields, counts, before.first or self._first)

    def _segment_of_staged(self, table: Table, rows: StagedRows) -> Segment:
        """Rows that are in Spark already, under newer versions where these were overtaken."""
        path = rows.files[0].path
        if layout.is_adopted(self._journal.names, path):
            hive_plain.show_segment(
                self._statement.session.connection, self._journal.names, path, table, self._last
            )
        elif self._mapping:
            with self._new_segment(table, rows.fields) as new:
                source = layout.rows_of(self._journal.names, [path])
                query = restamp_query(source, table, self._mapping)
                insert = layout.insert_rows(self._journal.names, new, query)
                append(self._statement.session.connection, self._journal.names, new, insert)
            path = new
        return self._segment(path, rows.fields, rows.counts, self._first)

    @contextmanager
    def _new_segment(self, table: Table, fields: Fields) -> Iterator[str]:
        connection = self._statement.session.connection
        with self._journal.new_segment(table, connection, fields) as path:
            self._made.append(path)
            yield path

    def _segment(self, path: str, fields: Fields, counts: RowCounts, first: Version) -> Segment:
        file = layout.segment_file(path, counts.total)
        versions = (first, self._last)
        return Segment.of_changes(path.partition("/")[2], (file,), fields, counts, versions)

    def undo(self) -> None:
        """Remove the partitions that nobody will list."""
        self._journal.drop_segments(self._made)
