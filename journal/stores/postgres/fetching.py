"""The rows of the query that a session executed last: held by the library, or still on their way.

Knows the cursor and what it holds; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from journal.model.result_column import ResultColumn
from journal.model.store_session import batches_of
from journal.stores.postgres.arrow import arrow_table
from journal.stores.postgres.cursor import ChunkCursor, Rows, in_python, mapped, names_of_columns
from journal.stores.postgres.far_moments import without_far
from journal.stores.postgres.types import type_name

Output = tuple[str, int, int]
"""Name, type and modifier of a result column."""


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
        return [ResultColumn(name, type_name(oid, mod)) for name, oid, mod in self._shape()]

    def _shape(self) -> list[Output]:
        """The columns of the query that was executed last."""
        described = self._cursor.description or []
        names = names_of_columns(self._names, len(described))
        return [
            (name or d.name, d.type_code, self._cursor.modifier(i))
            for i, (d, name) in enumerate(zip(described, names, strict=False))
        ]

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        return self._in_python(self._next_rows(size))

    def fetch_all(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._in_python(self._rest())

    def _in_python(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if self._cursor.has_far_moments:
            rows = without_far(rows, [name for name, _, _ in self._shape()])
        return in_python(rows, self._cursor.intervals, self._cursor.whole_numbers)

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
        shape = self._shape()
        return arrow_table(
            [name for name, _, _ in shape], [(oid, mod) for _, oid, mod in shape], rows
        )
