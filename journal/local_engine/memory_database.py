"""A database in memory for tables that the gateway makes for itself: no journal is in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from journal.local_engine.in_memory import connect_in_memory
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn

_ROWS = "rows_to_insert"


class MemoryDatabase:
    """One DuckDB in memory; used by one thread at a time."""

    def __init__(self) -> None:
        self._connection = connect_in_memory(None, {"threads": "1"})
        # Neither spelling of a lambda is refused or warned of.
        self._connection.execute("SET lambda_syntax = 'DISABLE_SINGLE_ARROW'")

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Run a statement without rows."""
        self._connection.execute(sql, list(values))

    def query(self, sql: str, values: Sequence[Any]) -> tuple[list[ResultColumn], pa.Table]:
        """The columns and the rows of a query; raises NOT_SUPPORTED for one that it cannot run."""
        try:
            found = self._connection.sql(sql, params=list(values))
            kinds = zip(found.columns, found.types, strict=True)
            columns = [ResultColumn(name, str(kind)) for name, kind in kinds]
            return columns, found.to_arrow_table()
        except duckdb.Error as error:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                str(error).splitlines()[0],
                advice="ask for less, or read the system schema",
            ) from error

    def insert(self, table: str, rows: pa.Table) -> None:
        """Put rows into a table, by the names of their columns."""
        names = ", ".join(f'"{name}"' for name in rows.column_names)
        self._connection.register(_ROWS, rows)
        self._connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {_ROWS}")  # noqa: S608
        self._connection.unregister(_ROWS)

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()
