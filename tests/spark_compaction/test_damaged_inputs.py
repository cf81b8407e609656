"""A job writes nothing anew from a damaged file: the damage would pass for whole from then on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.support.client import Client

JOBS = {
    "major": ("CALL system.compact('t')",),
    "minor": ("CALL system.compact('t', mode => 'minor')",),
    "retain": (
        "ALTER TABLE t SET POLICY (RETENTION = 10 DAYS ON COLUMN ds)",
        "CALL system.retain('t', now => '2024-02-20')",
    ),
    "versions": ("ALTER TABLE t SET POLICY (VERSIONS = 1)", "CALL system.retain('t')"),
    "purge": ("ERASE FROM t WHERE k IN (3, 303, 603)", "CALL system.purge('t')"),
    "restore": ("CALL system.restore('t', backup => 'b')",),
}


def _other_values(path: Path) -> None:
    """A file that can be read and holds something else."""
    made = path.with_suffix(".made")
    rows = f"SELECT * REPLACE (n + 1000 AS n) FROM '{path}'"
    duckdb.sql(f"COPY ({rows}) TO '{made}' (FORMAT parquet)")
    made.replace(path)


def _flip(at: float) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * len(data))] ^= 0x10
        path.write_bytes(data)

    return flip


DAMAGES: dict[str, Callable[[Path], None]] = {
    "other values": _other_values,
    "data": _flip(0.3),
    "footer": _flip(0.97),
    "short": lambda path: os.truncate(path, path.stat().st_size - 50),
    "missing": lambda path: path.unlink(),
}


def _made(run: Client) -> None:
    run("SET job_engine = 'local'")
    run("CREATE TABLE t (k INT PRIMARY KEY, name VARCHAR, n INT, ds DATE) WITH (erasure = 'name')")
    for part in range(3):
        run(
            f"INSERT INTO t SELECT i, 'u' || i, 1, DATE '2024-01-01' + (i % 50)::INT"
            f" FROM range({part * 300}, {part * 300 + 300}) r(i)"
        )
        run("CALL system.flush('t')")
    run("CALL system.backup('t', name => 'b')")
    run("UPDATE t SET n = 2 WHERE k % 3 = 0")
    run("CALL system.flush('t')")
    run("UPDATE t SET n = 3 WHERE k % 3 = 0")
    run("CALL system.flush('t')")


def _tier(job: str, damage: str) -> tuple[pytest.MarkDecorator, ...]:
    """Whose rows are damaged in ``make test`` are a merge's and a purge's.

    All damages for one job and one for each of the others are ``long``, the rest ``slow``.
    """
    if damage == "data" and job in ("major", "purge"):
        return ()
    return (pytest.mark.long if job == "major" or damage == "data" else pytest.mark.slow,)


_CASES = [pytest.param(job, damage, marks=_tier(job, damage)) for job in JOBS for damage in DAMAGES]


@pytest.mark.parametrize(("job", "damage"), _CASES)
def test_a_damaged_file_is_not_written_anew(
    connect: Callable[..., Client], job: str, damage: str
) -> None:
    run = connect()
    _made(run)
    *before, last = JOBS[job]
    for sql in before:
        run(sql)
    files = {path: path.read_bytes() for path in run.files()}
    run.close()
    for path in files:
        DAMAGES[damage](path)
    run = connect()
    run("SET job_engine = 'local'")
    assert run.error(last)[0] == "PAL-503"
    assert run.error("SELECT sum(n) FROM t")[0] == "PAL-503"
    for path, data in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        # DuckDB keeps footers, and takes a file of the same second for the one it knows.
        os.utime(path, (time.time() + 2,) * 2)
    assert run(last)[0][3] == "SUCCEEDED"
    assert run("SELECT max(n) FROM t")[0][0] <= 3
    assert run("CALL system.verify('t')")[0][3] == "SUCCEEDED"
