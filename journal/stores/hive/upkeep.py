"""What journals in Hive need besides statements: nothing by itself, checks on request."""

from __future__ import annotations

from collections.abc import Container

from journal.model.errors import PalimpsestError
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.model.store_session import Progress
from journal.model.verification import Problem, Verification
from journal.stores.hive import backup_segments, layout, segment_check
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.statement import HiveStatement
from journal.transactions.row_checks import row_checks
from journal.transactions.state import TableState


class HiveUpkeep:
    """Every commit is a segment of its own, so there is nothing to seal."""

    def __init__(self, journal: HiveJournal) -> None:
        self._journal = journal

    def request(self, table_id: int, rows_max: int) -> None:
        """Nothing: there are no heads."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Nothing is sealed, but the views say what is committed when this returns."""
        if self._journal.views is not None:
            _, state = self._journal.look()
            self._journal.views.refresh(state)
        return ()

    def verify(
        self, progress: Progress | None = None, only: Container[int] | None = None
    ) -> Verification:
        """Check counts against rows, and rows against the rules of a journal; repairs nothing.

        Of all journals, or of those of some tables, given by id.
        """
        report = Verification()
        transaction = self._journal.begin(read_only=True)
        with self._journal.statement(transaction) as statement:
            listed = sorted(statement.committed.tables.items())
            states = [(i, state) for i, state in listed if only is None or i in only]
            for done, (table_id, state) in enumerate(states):
                table = statement.committed.catalog.by_id(table_id) or state.layouts[-1]
                report.tables += 1
                report.problems += self._problems(statement, table, state, report)
                if progress is not None:
                    progress((done + 1) / len(states))
        return report

    def _problems(
        self, statement: HiveStatement, table: Table, state: TableState, report: Verification
    ) -> list[Problem]:
        name = str(table.name)
        found: list[Problem] = []
        before = report.segments
        report.segments += len(state.manifest.segments)
        connection, segments = statement.session.connection, state.manifest.segments
        try:
            segment_check.refresh(statement.names, connection, segments)
            counted = segment_check.counted(statement.names, connection, table, segments)
            for segment in segments:
                rows = counted.get(segment.id, RowCounts())
                report.rows += rows.total
                if rows != segment.counts:
                    told = f"{rows} in {segment.id}, the manifest says {segment.counts}"
                    found.append(Problem("count", name, told))
            report.segments += self._check_backups(statement, table, state, found)
            report.files += report.segments - before
            for mask in state.manifest.key_lists:
                keys = layout.masked_keys(self._journal.names, table, [mask]).limit(1)
                if not statement.session.connection.run(keys):
                    found.append(Problem("mask", name, f"the list of hidden keys {mask} is empty"))
            version = statement.committed.version
            for kind, message in row_checks(statement.session, table, state, version):
                found.append(Problem(kind, name, message))
        except PalimpsestError as error:
            found.append(Problem("unreadable", name, error.message))
        return found

    def _check_backups(
        self, statement: HiveStatement, table: Table, state: TableState, found: list[Problem]
    ) -> int:
        """How many segments only backups list; those that lack rows, or have more, are told."""
        segments = backup_segments.backup_only_segments(statement.session, table, state)
        connection = statement.session.connection if segments else None
        for segment in segments:
            assert connection is not None
            rows = segment_check.count_rows(
                *(self._journal.names, connection, table, segment.files[0].path)
            ).total
            if rows != segment.counts.total:
                told = f"{rows} rows in {segment.id}, which backups list with"
                problem = Problem("count", str(table.name), f"{told} {segment.counts.total}")
                found.append(problem)
        return len(segments)

    def close(self) -> None:
        """Nothing runs in the background."""
