"""DuckDB sessions that hold nothing but what a unit of work reads and writes: no database file.

Executors of jobs use them, one for each unit. Rows that do not fit the memory they may use go into
the folder that the unit writes to, from where the owner removes them if the unit is killed; never
into a temporary folder of the executor's machine, which nobody would ever look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from journal.files.staging import spill_folder
from journal.local_engine.in_memory import connect_in_memory
from journal.local_engine.session import DuckDBSession

_SETTINGS = {
    "threads": "1",
    "memory_limit": "1GB",
    "autoinstall_known_extensions": "false",
    "arrow_lossless_conversion": "true",
    "TimeZone": "UTC",
}


@contextmanager
def memory_session(
    root: Path, folder: str, settings: Mapping[str, str] | None = None
) -> Iterator[DuckDBSession]:
    """A session in memory; ``root`` is the warehouse whose segment files it reads.

    ``folder`` is one of the folders of its job, relative to the root, and open.
    """
    with spill_folder(root, folder) as place:
        connection = connect_in_memory(place, {**_SETTINGS, **(settings or {})})
        try:
            yield DuckDBSession(connection, root)
        finally:
            connection.close()
