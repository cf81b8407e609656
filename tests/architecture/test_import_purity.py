"""Importing a package loads no driver: each check runs in a Python of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRIVERS = ("duckdb", "psycopg", "pyhive", "pyspark", "sqlalchemy", "pandas", "thrift")
FRONT_ENDS = ("click", "rich", "prompt_toolkit", "pygments")


def loaded_by(module: str, root: Path) -> set[str]:
    """The top-level packages a fresh Python holds after importing one module."""
    script = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("journal", (*DRIVERS, *FRONT_ENDS, "pyarrow")),
        ("rewriter", (*DRIVERS, *FRONT_ENDS, "pyarrow")),
        ("rewriter.rewriter", (*DRIVERS, *FRONT_ENDS, "pyarrow")),
        ("spark_compaction", (*DRIVERS, *FRONT_ENDS)),
        ("gateway", (*DRIVERS, *FRONT_ENDS)),
    ],
)
def test_import_loads_no_driver(module: str, forbidden: tuple[str, ...], root: Path) -> None:
    loaded = loaded_by(module, root)
    assert module.partition(".")[0] in loaded
    assert loaded.isdisjoint(forbidden)


def test_import_gateway_is_fast(root: Path) -> None:
    """Well under the time a person notices; the best of three, for the machine may be busy."""
    script = (
        "import time; start = time.perf_counter(); import gateway;"
        "print(time.perf_counter() - start)"
    )
    seconds = []
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
        )
        seconds.append(float(run.stdout))
    assert min(seconds) < 0.6
