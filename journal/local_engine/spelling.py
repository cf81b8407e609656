"""Asks DuckDB how it spells an expression when it names a result column after it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import duckdb

from journal.local_engine.in_memory import connect_in_memory

_SPELL = "SELECT json_deserialize_sql(json_serialize_sql(?::VARCHAR))"


class QuerySpelling:
    """Writes queries as DuckDB does, by a database in memory that is made when first asked.

    Threads may share it.
    """

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._connect = connect
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    def respell(self, text: str) -> str | None:
        """A query as DuckDB writes it; None for a text that is no query to it."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            try:
                row = self._connection.execute(_SPELL, [text]).fetchone()
            except duckdb.Error:
                return None
        return None if row is None else str(row[0])


SPELLING = QuerySpelling(lambda: connect_in_memory(None, {"threads": "1"}))
