"""DuckDB databases in memory. None puts rows on disk but in the folder that its user names.

Left alone, DuckDB puts rows that it has no memory for into ``.tmp`` in the process's current
folder, for everybody to read, where no erasure looks and a killed process leaves them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

_NO_FOLDER = ""
"""DuckDB's word for a database that runs out of memory instead."""


def connect_in_memory(
    spill: Path | None, settings: Mapping[str, str] | None = None
) -> duckdb.DuckDBPyConnection:
    """A new database in memory.

    ``spill`` is a folder that only its owner reads and that goes with the database; without one a
    statement that needs more memory than there is fails.
    """
    folder = _NO_FOLDER if spill is None else str(spill)
    return duckdb.connect(":memory:", config={**(settings or {}), "temp_directory": folder})
