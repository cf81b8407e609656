"""The seam between a journal and the store that holds it: row sets, sessions, errors.

A ``StoreSession`` runs queries inside one short transaction of the store. It knows SQL and bytes,
not versions, conflicts or catalogs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from journal.plan import Query
from journal.segment import Fields, RowCounts, SegmentFile

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """Journal rows held in memory; ``fields`` are empty where nobody reads them under a layout."""

    rows: pa.Table
    counts: RowCounts
    fields: Fields = ()


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Journal rows already written to unlisted Parquet files."""

    files: tuple[SegmentFile, ...]
    fields: Fields
    counts: RowCounts


RowSet = MemoryRows | StagedRows


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """Name and type (SQL text) of a result column."""

    name: str
    type: str


class StoreSession(Protocol):
    """One connection to the store, used by one thread at a time."""

    def begin(self) -> None:
        """Start a transaction that sees everything committed so far."""

    def commit(self) -> None:
        """Make it durable; raises STORE_WRITE when that fails, with nothing changed."""

    def rollback(self) -> None:
        """End the transaction and forget everything staged in it."""

    def execute(self, query: Query, parameters: Parameters) -> None:
        """Run a query; its rows are streamed by the fetch methods."""

    def columns(self) -> list[ResultColumn]:
        """Columns of the query that was executed last."""

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        """The next rows of the query executed last; empty at the end."""

    def arrow_reader(self, query: Query, parameters: Parameters) -> pa.RecordBatchReader:
        """Run a query and stream it as Arrow batches."""

    def arrow(self, query: Query, parameters: Parameters) -> pa.Table:
        """Run a query and hold its rows."""

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        """Keep a query's rows as relation ``name`` until the transaction ends."""

    def show_arrow(self, name: str, rows: pa.Table) -> None:
        """Let queries of this transaction read an Arrow table as relation ``name``."""

    def interrupt(self) -> None:
        """Stop whatever runs, from another thread."""

    def track_progress(self) -> None:
        """Let ``progress`` know of the queries that follow."""

    def progress(self) -> float | None:
        """How much of the running query is done, from 0 to 1, asked by another thread."""


Progress = Callable[[float], None]


class SegmentWriter(Protocol):
    """Writes the rows of a query as Parquet files that are on disk when it returns."""

    def write(
        self, session: StoreSession, query: Query, parameters: Parameters, folder: Path
    ) -> tuple[SegmentFile, ...]:
        """Files written, synced, with sizes and checksums."""
