"""An ordinary DuckDB database in memory: mutable tables, no journal, nothing of ours.

Comparisons run the same statements here and expect the same rows. No warehouse is ever opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import pyarrow as pa

from journal.local_engine.in_memory import connect_in_memory


class PlainDatabase:
    """One database that vanishes when it is closed."""

    def __init__(self) -> None:
        self._connection = connect_in_memory(None)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement."""
        self._connection.execute(sql, list(parameters))

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query and hold its rows."""
        return self._connection.execute(sql, list(parameters)).fetchall()

    def arrow(self, sql: str) -> pa.Table:
        """Run a query and hold its rows as an Arrow table."""
        return self._connection.sql(sql).to_arrow_table()

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()

    def __enter__(self) -> PlainDatabase:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
