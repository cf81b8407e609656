"""DuckDB sessions that hold nothing but what a unit of work reads and writes: no database file.

Executors of jobs use them, one for each unit. Rows that do not fit the memory they may use go to
files in a temporary folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from journal.stores.duckdb import DuckDBSession

_SETTINGS = {
    "threads": "1",
    "memory_limit": "1GB",
    "autoinstall_known_extensions": "false",
    "arrow_lossless_conversion": "true",
    "TimeZone": "UTC",
}


@contextmanager
def memory_session(
    root: Path, settings: Mapping[str, str] | None = None
) -> Iterator[DuckDBSession]:
    """A session in memory; ``root`` is the warehouse whose segment files it reads."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-unit-") as scratch:
        config: dict[str, Any] = {**_SETTINGS, "temp_directory": scratch, **(settings or {})}
        connection = duckdb.connect(":memory:", config=config)
        try:
            yield DuckDBSession(connection, root)
        finally:
            connection.close()
