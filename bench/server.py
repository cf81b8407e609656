"""What does the PostgreSQL protocol cost: rows to psycopg, rows by key, connections?

Peers are PostgreSQL with the same rows, and the DB-API in this process. Aims in milliseconds are
shown beside what was measured.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

import gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from tests.support.postgres import running

_PEER, _IN_PROCESS = "postgresql", "in process"
_COLUMNS = "id, name, amount, day, score"
_POINTS = 200
_AIMS_MS = {"a row by key, prepared": 1.5, "connect": 8.0}


def measure(options: Options) -> Report:
    """Time both servers in turns."""
    rows = min(options.rows, 1_000_000)
    report = Report("server", rows)
    folder = options.work / "server"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, amount DECIMAL(12, 2),"
            " day DATE, score DOUBLE)"
        )
        connection.execute(f"INSERT INTO t {_made(rows, 'range({0}) AS r(i)')}")
    with running() as cluster, _served(folder / "w") as dsn:
        peer_dsn = cluster.conninfo("postgres")
        with psycopg.connect(peer_dsn, autocommit=True) as peer:
            peer.execute(f"CREATE TABLE t AS {_made(rows, 'generate_series(0, {0} - 1) AS r(i)')}")
            peer.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
            peer.execute("VACUUM ANALYZE t")
            with psycopg.connect(dsn, autocommit=True) as ours:
                _compare(report, ours, peer, dsn, peer_dsn, options.repeats)
    for case, aim in _AIMS_MS.items():
        report.facts[f"{case}: aim, ms"] = aim
    shutil.rmtree(folder)
    return report


def _compare(
    report: Report,
    ours: psycopg.Connection,
    peer: psycopg.Connection,
    dsn: str,
    peer_dsn: str,
    repeats: int,
) -> None:
    for form, binary in (("text", False), ("binary", True)):
        report.compare(
            f"all rows, {form}",
            {OURS: lambda b=binary: _all(ours, b), _PEER: lambda b=binary: _all(peer, b)},
            min(repeats, 5),
            (Promise(_PEER, 1.5),),
        )
    report.compare(
        f"{_POINTS} rows by key, prepared",
        {OURS: lambda: _points(ours), _PEER: lambda: _points(peer)},
        repeats,
    )
    report.compare(
        "connect", {OURS: lambda: _connect(dsn), _PEER: lambda: _connect(peer_dsn)}, repeats
    )


def _made(rows: int, source: str) -> str:
    return (
        "SELECT i::integer AS id, 'name ' || i AS name, (i * 1.25)::numeric(12, 2) AS amount,"
        " DATE '2000-01-01' + (i % 3000)::integer AS day, i / 7.0::double precision AS score"
        f" FROM {source.format(rows)}"
    )


@contextmanager
def _served(root: Path) -> Iterator[str]:
    """A server on a warehouse; how psycopg connects to it."""
    command = [sys.executable, "-m", "gateway.cli", "serve", str(root), "--trust-loopback"]
    process = subprocess.Popen(
        [*command, "--postgres", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        ports = (re.search(r"127\.0\.0\.1:(\d+)", line) for line in process.stdout)
        port = next(found[1] for found in ports if found is not None)
        yield f"postgresql://me@127.0.0.1:{port}/palimpsest"
    finally:
        process.terminate()
        process.wait()


def _all(connection: psycopg.Connection, binary: bool) -> float:
    """Fetch all rows as they arrive, without making Python values of them."""
    start = time.perf_counter()
    with connection.cursor(binary=binary) as cursor:
        cursor.execute(f"SELECT {_COLUMNS} FROM t")
        assert cursor.pgresult is not None
        assert cursor.pgresult.ntuples > 0
    return time.perf_counter() - start


def _points(connection: psycopg.Connection) -> float:
    start = time.perf_counter()
    for key in range(_POINTS):
        sql = f"SELECT {_COLUMNS} FROM t WHERE id = %s"
        assert connection.execute(sql, (key,), prepare=True).fetchone() is not None
    return time.perf_counter() - start


def _connect(dsn: str) -> None:
    psycopg.connect(dsn).close()


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
