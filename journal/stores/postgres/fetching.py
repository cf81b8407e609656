"""The rows of the query that a session executed last: held by the library, or still on their way.

Knows the cursor and what it holds; runs nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from journal.model.result_column import ResultColumn
from journal.model.store_session import batches_of
from journal.stores.postgres.arrow import arrow_table
from journal.stores.postgres.cursor import (
    ChunkCursor,
    Output,
    Rows,
    in_python,
    mapped,
    names_of_columns,
    odd_places,
)
from journal.stores.postgres.dialect.types import type_name
from journal.stores.postgres.far_moments import without_far


@lru_cache(maxsize=1024)
def _result_columns(shape: tuple[Output, ...]) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(name, type_name(oid, mod)) for name, oid, mod in shape)


def _arrow(shape: Sequence[Output], rows: Rows) -> pa.Table:
    return arrow_table([name for name, _, _ in shape], [(oid, mod) for _, oid, mod in shape], rows)


class HeldRows:
    """All rows of a query, with what it takes to show them: they need their session no more."""

    def __init__(self, rows: Rows, shape: tuple[Output, ...], *, has_far_moments: bool) -> None:
        self._rows = rows
        self._next = 0
        self._shape = shape
        self._has_far_moments = has_far_moments

    @property
    def columns(self) -> tuple[ResultColumn, ...]:
        """The columns of the rows; the same object for the same columns."""
        return _result_columns(self._shape)

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        """The next rows, as Python has them."""
        rows = self._next_rows(size)
        if self._has_far_moments:
            rows = without_far(rows, [name for name, _, _ in self._shape])
        return in_python(rows, odd_places(self._shape))

    def _next_rows(self, size: int) -> Rows:
        rows = self._rows[self._next : self._next + size]
        self._next += len(rows)
        return rows

    def rest_as_arrow(self) -> pa.Table:
        """The rows that were not fetched yet."""
        return _arrow(self._shape, self._next_rows(len(self._rows)))

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The same in batches of so many rows, at least one."""
        yield from batches_of(_arrow(self._shape, self._next_rows(rows)))
        while self._next < len(self._rows):
            yield from _arrow(self._shape, self._next_rows(rows)).to_batches()


class FetchedRows:
    """The part of a session that gives rows; another one runs queries."""

    _cursor: ChunkCursor
    _chunks: Iterator[Rows] | None
    """Further rows of a query that streams."""
    _ahead: Rows
    """Rows that came and were not asked for yet."""
    _names: tuple[str, ...]
    """The names of its columns; empty where the server has them."""

    def columns(self) -> list[ResultColumn]:
        return list(_result_columns(self._shape()))

    def _shape(self) -> tuple[Output, ...]:
        """The columns of the query that was executed last."""
        outputs = self._cursor.outputs
        if not self._names:
            return outputs
        names = names_of_columns(self._names, len(outputs))
        return tuple(
            (name or told, oid, mod) for name, (told, oid, mod) in zip(names, outputs, strict=True)
        )

    def rows_at_hand(self) -> HeldRows | None:
        """The rows of the query executed last, if all have come; None while more may come."""
        return None if isinstance(self._chunks, Generator) else self.held_rows()

    def held_rows(self) -> HeldRows:
        """All rows that are left of the query executed last, to be held by themselves."""
        rows, shape = self._rest(), self._shape()
        return HeldRows(rows, shape, has_far_moments=self._cursor.has_far_moments)

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        return self._in_python(self._next_rows(size))

    def fetch_all(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._in_python(self._rest())

    def _in_python(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if self._cursor.has_far_moments:
            rows = without_far(rows, [name for name, _, _ in self._shape()])
        return in_python(rows, odd_places(self._cursor.outputs))

    def _next_rows(self, size: int) -> list[tuple[Any, ...]]:
        """As many rows as that, at most, with intervals as Arrow has them."""
        with mapped():
            if self._chunks is None:
                return self._cursor.next_rows(size)
            found = self._ahead
            while len(found) < size and (chunk := next(self._chunks, [])):
                found += chunk
            self._ahead = found[size:]
            return found[:size]

    def _rest(self) -> list[tuple[Any, ...]]:
        """All rows that are left, likewise."""
        with mapped():
            if self._chunks is None:
                return self._cursor.next_rows(None)
            found, self._ahead = self._ahead, []
            for chunk in self._chunks:
                found += chunk
            return found

    def rest_as_arrow(self) -> pa.Table:
        """The rows of the query executed last that were not fetched yet."""
        return self._as_arrow(self._rest())

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        found = self._next_rows(rows)
        yield from batches_of(self._as_arrow(found))
        while len(found) == rows:
            found = self._next_rows(rows)
            yield from self._as_arrow(found).to_batches()

    def _as_arrow(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        return _arrow(self._shape(), rows)
