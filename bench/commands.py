"""What do commands take: to answer at all, beside an owner, and to write a million rows as CSV?

Peers are DuckDB's COPY of the same rows, a Python that asks DuckDB for the same, and a connection
of the owner itself. Aims in milliseconds are shown beside what was measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import gateway
from bench.contenders import plain
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from gateway.dbapi.connection import Connection

_COLUMNS = 41
_COPY, _DUCKDB, _IN_PROCESS = "duckdb copy", "python and duckdb", "in process"
_AIMS_MS = {"--help": 150, "SELECT 1": 500, "SELECT 1 beside an owner": 250}
_POINTS = 500
_SCAN = "SELECT id, c1, c2, c3, c4 FROM t"
_POINT = "SELECT v FROM p WHERE id = ?"
_CLIENT = """
import sys, gateway
from bench.commands import point, scan
connection = gateway.connect(sys.argv[1], autocommit=True)
for line in sys.stdin:
    print({"point": point, "scan": scan}[line.strip()](connection), flush=True)
"""


def measure(options: Options) -> Report:
    """Time whole processes, then statements through an owner."""
    rows = min(options.rows, 1_000_000)
    report = Report("commands", rows)
    folder = options.work / "commands"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    warehouse, parquet = folder / "warehouse", folder / "rows.parquet"
    with plain() as store:
        store.execute(f"COPY ({_wide(rows)}) TO '{parquet}' (FORMAT parquet)")
    with gateway.connect(f"palimpsest:///{warehouse}", autocommit=True) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{parquet}')")
        connection.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, v TEXT)")
        connection.execute("INSERT INTO p SELECT x, 'v' || x FROM range(100000) AS r(x)")
    _answer_times(report, warehouse, options.repeats)
    _csv_times(report, warehouse, parquet, options.repeats)
    with gateway.connect(f"palimpsest:///{warehouse}", autocommit=True) as owner:
        _compare(report, "SELECT 1 beside an owner", warehouse, options.repeats)
        _owner_times(report, owner, warehouse, options.repeats)
    for case, aim in _AIMS_MS.items():
        report.facts[f"{case}: aim, ms"] = aim
    shutil.rmtree(folder)
    return report


def _wide(rows: int) -> str:
    kinds = (
        "(hash(i + {0}) % 1000000)::INTEGER",
        "'name ' || (hash(i * 3 + {0}) % 5000)",
        "((hash(i + {0}) % 100000) / 100)::DOUBLE",
        "DATE '2020-01-01' + (hash(i + {0}) % 1000)::INTEGER",
        "((hash(i + {0}) % 100000) / 100)::DECIMAL(12, 2)",
        "TIMESTAMP '2020-01-01' + INTERVAL (hash(i + {0}) % 100000) SECOND",
        "CASE WHEN hash(i + {0}) % 3 = 0 THEN NULL ELSE 'x' || (hash(i) % 100) END",
    )
    columns = [f"{kinds[n % len(kinds)].format(n)} AS c{n}" for n in range(1, _COLUMNS)]
    return f"SELECT i AS id, {', '.join(columns)} FROM range({rows}) AS r(i)"


def _answer_times(report: Report, warehouse: Path, repeats: int) -> None:
    _run("query", "-w", str(warehouse), "SELECT 1")
    report.compare("--help", {OURS: partial(_run, "--help")}, repeats)
    _compare(report, "SELECT 1", warehouse, repeats)


def _compare(report: Report, case: str, warehouse: Path, repeats: int) -> None:
    peer = f"import duckdb; duckdb.connect({str(warehouse) + '.db'!r}).execute('SELECT 1')"
    report.compare(
        case,
        {
            _DUCKDB: lambda: _python(peer),
            OURS: partial(_run, "query", "-w", str(warehouse), "SELECT 1"),
        },
        repeats,
    )


def _csv_times(report: Report, warehouse: Path, parquet: Path, repeats: int) -> None:
    target = parquet.with_suffix(".csv")
    copy = f"COPY (FROM '{parquet}') TO '{target}' (FORMAT csv, HEADER)"
    place = ("-w", str(warehouse))
    for case, command in {
        "query --format csv": ("query", *place, "-t", "csv", "-o", str(target), "SELECT * FROM t"),
        "export": ("export", *place, "t", str(target)),
    }.items():
        report.compare(
            case,
            {
                _COPY: lambda: _python(f"import duckdb; duckdb.connect().execute({copy!r})"),
                OURS: partial(_run, *command),
            },
            min(repeats, 5),
            (Promise(_COPY, 1.5),),
        )


def _owner_times(report: Report, owner: Connection, warehouse: Path, repeats: int) -> None:
    """Statements of the owner itself, and of a client in a process of its own, in turns."""
    command = [sys.executable, "-c", _CLIENT, f"palimpsest:///{warehouse}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as client:

        def through(what: str) -> float:
            assert client.stdin is not None
            assert client.stdout is not None
            client.stdin.write(what + "\n")
            client.stdin.flush()
            return float(client.stdout.readline())

        report.compare(
            "scan",
            {_IN_PROCESS: lambda: scan(owner), OURS: lambda: through("scan")},
            repeats,
            (Promise(_IN_PROCESS, 1.3),),
        )
        report.compare(
            f"{_POINTS} rows by key, aim: {_POINTS} ms more",
            {_IN_PROCESS: lambda: point(owner), OURS: lambda: through("point")},
            repeats,
        )
        assert client.stdin is not None
        client.stdin.close()


def scan(connection: Connection) -> float:
    """Seconds that all rows take, as an Arrow table."""
    start = time.perf_counter()
    connection.execute(_SCAN).fetch_arrow()
    return time.perf_counter() - start


def point(connection: Connection) -> float:
    """Seconds that rows by key take, one after the other."""
    start = time.perf_counter()
    for number in range(_POINTS):
        connection.execute(_POINT, (number,)).fetchall()
    return time.perf_counter() - start


def _run(*words: str) -> None:
    """Run the installed command, its modules compiled before as in every installation."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [str(Path(sys.executable).with_name("palimpsest")), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def _python(script: str) -> None:
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
