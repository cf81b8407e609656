"""Results of statements, with their rows streamed or in memory.

A streamed result keeps its statement's stay in the store open until it is read to the end or
closed. It knows nothing of SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from gateway.session.outcome import Row, StatementOutcome
from journal.model.arrow_types import arrow_columns
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import FetchableRows, StoreSession, batches_of
from journal.transactions.protocol import OpenJournal, OpenStatement


class StreamedRows:
    """Rows that come from the store as they are asked for.

    They hold ``statement`` up to the last one; None: all have come already. ``explain`` puts an
    error on the way into the client's terms.
    """

    def __init__(
        self,
        source: FetchableRows,
        statement: OpenStatement | None,
        explain: Callable[[PalimpsestError], PalimpsestError],
    ) -> None:
        self._source: FetchableRows | None = source
        self._statement = statement
        self._explain = explain
        self._batches: Iterator[pa.RecordBatch] | None = None
        self.names: Sequence[str] | None = None

    @property
    def store(self) -> StoreSession | None:
        """The store's session that makes the rows; None after the last one."""
        return None if self._statement is None else self._statement.session

    @property
    def is_held(self) -> bool:
        """True while the statement stays in the store."""
        return self._statement is not None or self._batches is not None

    def take(self, size: int) -> list[Row]:
        """The next rows, fewer at the end."""
        if self._source is None:
            return []
        try:
            rows = self._source.fetch_many(size)
        except PalimpsestError as error:
            self.close()
            raise self._explain(error) from error
        except BaseException:
            self.close()
            raise
        if len(rows) < size:
            self.close()
        return rows

    def arrow(self) -> pa.Table:
        """All rows that are left, as an Arrow table."""
        if self._source is None:
            raise _fetched_already()
        try:
            return _named(self._source.rest_as_arrow(), self.names)
        except PalimpsestError as error:
            raise self._explain(error) from error
        finally:
            self.close()

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """All rows that are left, in Arrow batches of about so many rows; at least one batch."""
        if self._source is None:
            raise _fetched_already()
        found = self._batches = self._source.rest_as_batches(size)
        try:
            for batch in found:
                yield _named(batch, self.names)
        except PalimpsestError as error:
            raise self._explain(error) from error
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the store."""
        if isinstance(self._batches, Generator):
            # The store's reader lives in it, and must go before the transaction can end.
            self._batches.close()
        self._batches = self._source = None
        if self._statement is not None:
            self._statement.close()
            self._statement = None


def streamed_rows(
    statement: OpenStatement, explain: Callable[[PalimpsestError], PalimpsestError]
) -> StreamedRows:
    """The rows of the query that a statement has run last."""
    at_hand = statement.session.rows_at_hand()
    if at_hand is not None:
        return StreamedRows(at_hand, None, explain)
    return StreamedRows(statement.session, statement, explain)


class BufferedRows:
    """Rows that are in memory already."""

    def __init__(self, table: pa.Table, convert: Callable[[pa.Table], list[Row]]) -> None:
        self._table = table
        self._convert = convert
        self._rows: list[Row] | None = None
        self._next = 0
        self.names: Sequence[str] | None = None

    is_held = False
    """The rows are all there is."""

    def take(self, size: int) -> list[Row]:
        """The next rows, fewer at the end."""
        if self._rows is None:
            self._rows = self._convert(self._table)
        part = self._rows[self._next : self._next + size]
        self._next += len(part)
        return part

    def arrow(self) -> pa.Table:
        """All rows that are left, as an Arrow table."""
        return _named(self._table.slice(self._next), self.names)

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """All rows that are left, in Arrow batches of at most so many rows; at least one batch."""
        found = self.arrow()
        self.close()
        yield from found.to_batches(size) or batches_of(found)

    def close(self) -> None:
        """Forget the rows."""
        self._next = self._table.num_rows


_A = TypeVar("_A", pa.Table, pa.RecordBatch)


def _named(rows: _A, names: Sequence[str] | None) -> _A:
    """Rows in columns of these names; of their own without any."""
    if names is None or rows.schema.names == list(names):
        return rows
    return rows.rename_columns(list(names))


def _fetched_already() -> PalimpsestError:
    return PalimpsestError(
        Code.NO_RESULT,
        "the rows were fetched already",
        advice="execute again, then call fetch_arrow or fetch_df first",
    )


def buffer_rows(journal: OpenJournal, table: pa.Table) -> BufferedRows:
    """Rows of an Arrow table, which the store converts to the values that a query would give."""

    def convert(rows: pa.Table) -> list[Row]:
        with journal.reading_session() as session:
            return session.arrow_rows(rows)

    return BufferedRows(table, convert)


def table_outcome(journal: OpenJournal, tag: str, table: pa.Table) -> StatementOutcome:
    """An outcome whose rows the gateway itself has made."""
    return StatementOutcome(tag, table.num_rows, arrow_columns(table), buffer_rows(journal, table))
