"""The daemon that Spark's executors fork their Python processes from, what units need loaded.

Spark ends a process that had no task for a minute. The next one would load DuckDB, Arrow and numpy
anew, which takes longer than a small unit does; forked from here it has them. Runs nothing itself.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

_LOADED = (
    "journal.stores.embedded.file_rewrite",
    "spark_compaction.programs.compaction_unit",
    "spark_compaction.programs.differences",
    "spark_compaction.programs.expired_files",
)


def main() -> None:
    """Load, then do what Spark's own daemon does."""
    from pyspark.daemon import manager

    for name in _LOADED:
        # What is not installed here is told by the unit that needs it.
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    # Collections in the forked processes need not look at any of it, nor copy its pages.
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
