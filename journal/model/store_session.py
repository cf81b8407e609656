"""The seam between a journal and the store that holds it: row sets, sessions, errors.

A ``StoreSession`` runs queries inside one short transaction of the store. It knows SQL and bytes,
not versions, conflicts or catalogs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

import pyarrow as pa

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, SegmentFile
from journal.model.store_plan import ExplainOptions, StorePlan

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """Journal rows held in memory; ``fields`` are empty where nobody reads them under a layout.

    ``source`` are the rows, or makes them when they are first asked for: then ``columns`` are their
    values, column by column.
    """

    source: pa.Table | Callable[[], pa.Table]
    counts: RowCounts
    fields: Fields = ()
    columns: Sequence[Sequence[Any]] | None = None
    kept: dict[object, Any] = field(init=False, default_factory=dict, compare=False, repr=False)
    """What was read off the rows, for the next who asks."""

    @property
    def rows(self) -> pa.Table:
        """The rows in Arrow."""
        if not isinstance(self.source, pa.Table):
            object.__setattr__(self, "source", self.source())
        return self.source

    @property
    def values(self) -> Sequence[Sequence[Any]]:
        """The values of the rows, column by column."""
        if self.columns is not None:
            return self.columns
        return [column.to_pylist() for column in self.rows.columns]


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Journal rows already written to unlisted Parquet files."""

    files: tuple[SegmentFile, ...]
    fields: Fields
    counts: RowCounts


RowSet = MemoryRows | StagedRows


class LongWay(Exception):
    """What was tried in one trip has to be done otherwise; nothing is changed, or told."""


class RecordDialect(StrEnum):
    """How statements about records are written for a session."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    CATALOG_SQLITE = "catalog in sqlite"
    CATALOG_POSTGRES = "catalog in postgres"

    @property
    def is_beside(self) -> bool:
        """Whether the records lie in a database of their own, which runs no query of a client."""
        return self in {RecordDialect.CATALOG_SQLITE, RecordDialect.CATALOG_POSTGRES}


class RecordSession(Protocol):
    """A connection to where a store keeps its records, inside a transaction."""

    @property
    def dialect(self) -> RecordDialect:
        """How its statements are written."""

    def text(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run constant SQL of the catalog; never anything that came from a client."""


class FetchableRows(Protocol):
    """The rows of one query, each fetched once."""

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        """The next rows; empty at the end."""

    def rest_as_arrow(self) -> pa.Table:
        """The rows that were not fetched yet."""

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The same in batches of about so many rows, at least one; they come as they are asked."""


@dataclass(frozen=True, slots=True)
class ServerText:
    """The text of a query in a server's language, which ``dialect`` names."""

    dialect: str
    sql: str


class StoreSession(FetchableRows, RecordSession, Protocol):
    """One connection to the store, used by one thread at a time."""

    def begin(self) -> None:
        """Start a transaction that sees everything committed so far."""

    def commit(self) -> None:
        """Make it durable; raises STORE_WRITE when that fails, with nothing changed."""

    def rollback(self) -> None:
        """End the transaction and forget everything staged in it."""

    def execute(self, query: Query, parameters: Parameters) -> None:
        """Run a query; its rows are streamed by the fetch methods."""

    def stream(self, query: Query, parameters: Parameters) -> None:
        """Run a query whose rows may be many; no other runs before they are fetched."""

    def columns(self) -> list[ResultColumn]:
        """Columns of the query that was executed last."""

    def rows_at_hand(self) -> FetchableRows | None:
        """The rows of the query executed last, if they need the session no more."""

    def arrow(self, query: Query, parameters: Parameters) -> pa.Table:
        """Run a query and hold its rows."""

    def arrow_rows(self, table: pa.Table) -> list[tuple[Any, ...]]:
        """Arrow rows as the Python values a query would give."""

    def row(self, query: Query, parameters: Parameters) -> tuple[Any, ...]:
        """The single row of a query, which is finished then."""

    def describe(self, query: Query, parameters: Parameters) -> list[ResultColumn]:
        """The columns a query would have; it is not run."""

    def explain(self, query: Query, parameters: Parameters, options: ExplainOptions) -> StorePlan:
        """The store's plan of a query, which runs only to be measured."""

    def server_text(self, query: Query, shown: Callable[[str], str]) -> ServerText | None:
        """What a server would be sent for a query, as people read it; nothing is sent.

        ``shown`` gives what stands for a parameter. None where the query is run as it is: by the
        gateway itself, or by a store that has no words of its own for it.
        """

    def use_zone(self, name: str | None) -> None:
        """Read and show timestamps in a time zone until the session is given back.

        None: in that of the process. Raises SETTING_VALUE for a zone the store does not know.
        """

    def count(self, name: str) -> int:
        """Rows of a staged relation."""

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        """Keep a query's rows as relation ``name`` until the transaction ends."""

    def show_arrow(self, name: str, rows: pa.Table) -> None:
        """Let queries of this transaction read an Arrow table as relation ``name``."""

    def hide(self, *names: str) -> None:
        """Take back relations that ``show_arrow`` has made."""

    def interrupt(self) -> None:
        """Stop whatever runs, from another thread."""

    def track_progress(self) -> None:
        """Let ``progress`` know of the queries that follow."""

    def progress(self) -> float | None:
        """How much of the running query is done, from 0 to 1, asked by another thread."""


Progress = Callable[[float], None]


def batches_of(rows: pa.Table) -> list[pa.RecordBatch]:
    """The batches of an Arrow table; an empty one of a table without rows."""
    return rows.to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]


def in_arrow(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Rows as they came from a store in columns of Arrow's."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(v, f.type) for v, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def count_kinds(rows: pa.Table, table: Table) -> RowCounts:
    """How many journal rows of each kind an Arrow table holds."""
    import pyarrow.compute as pc

    ends = rows.column(table.format.subsequent_column)
    tombstones = pc.sum(pc.equal(ends, rows.column(table.format.version_column))).as_py() or 0
    opens = ends.null_count
    return RowCounts(opens, rows.num_rows - opens - tombstones, tombstones)
