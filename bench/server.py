"""What do the protocols cost: many rows, rows by key, connections, idle ones?

Rows go to psycopg, over Flight, to PyHive and to Hive's JDBC driver. Peers are PostgreSQL and
Spark's Thrift Server with the same rows. Aims are shown beside what was measured.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight
import psycopg
from pyhive import hive

import gateway
from bench.hive_jdbc import measure_hive_jdbc
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from tests.support.certificates import make_certificates
from tests.support.postgres import running

_PEER, _IN_PROCESS = "postgresql", "in process"
_COLUMNS = "id, name, amount, day, score"
_POINTS = 200
_IDLE = 500
_HIVE_ROWS = 100_000
"""How many rows are fetched by HiveServer2's protocol."""
_FLIGHT_ROWS = 4_000_000
"""Rows of five columns a second that are to go over Flight."""
_LOGINS, _UPDATE_ROUNDS = 40, 3
_AIMS_MS = {
    "a row by key, prepared": 1.5,
    "connect by SCRAM over TLS": 8.0,
    "a row updated, durably: psycopg less in process": 1.0,
}


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
    with running() as cluster, _served(folder / "w") as (server, dsn, others):
        peer_dsn = cluster.conninfo("postgres")
        with psycopg.connect(peer_dsn, autocommit=True) as peer:
            peer.execute(f"CREATE TABLE t AS {_made(rows, 'generate_series(0, {0} - 1) AS r(i)')}")
            peer.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
            peer.execute("VACUUM ANALYZE t")
            with psycopg.connect(dsn, autocommit=True) as ours:
                _compare(report, ours, peer, dsn, peer_dsn, options.repeats)
                flight_url, hive_url = others
                _measure_flight(report, flight_url, rows, options.repeats)
                _compare_arrow(report, dsn, flight_url, rows, options.repeats)
                _measure_points(report, ours)
                _measure_hive(report, hive_url, rows)
                if options.peers and shutil.which("java") is not None:
                    made = _made(rows, "range({0}) AS r(i)").replace(" precision", "")
                    args = (hive_url, server.pid, folder, made, min(options.repeats, 5))
                    measure_hive_jdbc(report, *args)
                _measure_idle(report, ours, dsn, server)
    _measure_logins(report, folder / "logins")
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
        "connect without a password",
        {OURS: lambda: _connect(dsn), _PEER: lambda: _connect(peer_dsn)},
        repeats,
    )


def _measure_flight(report: Report, url: str, rows: int, repeats: int) -> None:
    """All rows over Flight, by ADBC, with batches as they come."""
    with flight.connect(url, autocommit=True) as connection, connection.cursor() as cursor:

        def fetch() -> float:
            start = time.perf_counter()
            cursor.execute(f"SELECT {_COLUMNS} FROM t")
            assert sum(batch.num_rows for batch in cursor.fetch_record_batch()) == rows
            return time.perf_counter() - start

        best = min(fetch() for _ in range(max(repeats, 3)))
    report.facts["flight: rows a second, best"] = round(rows / best)
    report.facts["flight: rows a second, aim"] = _FLIGHT_ROWS


def _compare_arrow(report: Report, dsn: str, url: str, rows: int, repeats: int) -> None:
    """All rows as one Arrow table: by our own client, over PostgreSQL's port, and over Flight."""
    ours_url = dsn.replace("postgresql://", "palimpsest://")
    sql = f"SELECT {_COLUMNS} FROM t"
    with (
        gateway.connect(ours_url, autocommit=True) as ours,
        flight.connect(url, autocommit=True) as peer,
        peer.cursor() as cursor,
    ):

        def by_flight() -> None:
            cursor.execute(sql)
            assert cursor.fetch_arrow_table().num_rows == rows

        def by_network() -> None:
            assert ours.execute(sql).fetch_arrow().num_rows == rows

        contenders = {OURS: by_network, "flight": by_flight}
        report.compare("all rows, as Arrow", contenders, repeats)
        found = report.median_ms("all rows, as Arrow", OURS)
        ratio = found / report.median_ms("all rows, as Arrow", "flight")
        report.facts["all rows, as Arrow: our client beside flight"] = round(ratio, 2)


def _measure_points(report: Report, connection: psycopg.Connection) -> None:
    report.facts["a row by key, prepared: p50, ms"] = _point_p50_ms(connection)


def _measure_hive(report: Report, url: str, rows: int) -> None:
    """Rows by key, and rows by columns, to PyHive, which makes Python values of them."""
    port = int(re.findall(r":(\d+)/", url)[0])
    connection = hive.connect("127.0.0.1", port, "me")
    cursor = connection.cursor(arraysize=_HIVE_ROWS)
    times = []
    for key in range(_POINTS):
        start = time.perf_counter()
        cursor.execute(f"SELECT {_COLUMNS} FROM t WHERE id = {key}")
        assert cursor.fetchone() is not None
        times.append(time.perf_counter() - start)
    report.facts["hive: a row by key: p50, ms"] = round(statistics.median(times) * 1000, 3)
    start = time.perf_counter()
    cursor.execute(f"SELECT {_COLUMNS} FROM t")
    assert len(cursor.fetchmany(_HIVE_ROWS)) == min(rows, _HIVE_ROWS)
    seconds = time.perf_counter() - start
    report.facts["hive: rows a second to PyHive"] = round(min(rows, _HIVE_ROWS) / seconds)
    cursor.close()
    connection.close()


def _measure_idle(
    report: Report, connection: psycopg.Connection, dsn: str, server: subprocess.Popen[str]
) -> None:
    """What connections cost that do nothing: memory of the server, and time of a read by key."""
    before_ms, before_mb = _point_p50_ms(connection), _memory_mb(server.pid)
    idle = [psycopg.connect(dsn, autocommit=True) for _ in range(_IDLE - 1)]
    try:
        time.sleep(1)
        report.facts[f"{_IDLE} idle: MB more"] = round(_memory_mb(server.pid) - before_mb, 1)
        report.facts[f"{_IDLE} idle: MB more, aim"] = 60
        report.facts[f"{_IDLE} idle: a row by key"] = round(
            _point_p50_ms(connection) / before_ms, 2
        )
        report.facts[f"{_IDLE} idle: a row by key, aim"] = 1.2
    finally:
        for one in idle:
            one.close()


def _measure_logins(report: Report, folder: Path) -> None:
    """Logins by SCRAM over TLS, and updates of a row by key over such a connection."""
    folder.mkdir()
    make_certificates(folder, {"server": "localhost"})
    with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as own:
        for sql in (
            "CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)",
            f"INSERT INTO t SELECT i, 0 FROM range({_POINTS}) AS r(i)",
            "CREATE USER chief PASSWORD 'one' SUPERUSER",
        ):
            own.execute(sql)
        change = "UPDATE t SET v = v + 1 WHERE k = ?"
        before_ms = [
            _p50_ms(lambda k: own.execute(change, (k,)), _POINTS) for _ in range(_UPDATE_ROUNDS)
        ]
    tls = ("--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key"))
    with _served(folder / "w", tls) as (_, dsn, _):
        secured = dsn.replace("me@127.0.0.1", "chief:one@localhost")
        secured += f"?sslmode=verify-full&sslrootcert={folder}/ca.pem"
        login_ms = _p50_ms(lambda _: psycopg.connect(secured).close(), _LOGINS)
        report.facts["connect by SCRAM over TLS: p50, ms"] = login_ms
        with psycopg.connect(secured, autocommit=True) as connection:
            sql = change.replace("?", "%s")
            after_ms = [
                _p50_ms(lambda k: connection.execute(sql, (k,), prepare=True), _POINTS)
                for _ in range(_UPDATE_ROUNDS)
            ]
    report.facts["a row updated, durably: in process: p50, ms"] = min(before_ms)
    report.facts["a row updated, durably: psycopg: p50, ms"] = min(after_ms)


def _p50_ms(run: Callable[[int], object], times: int) -> float:
    found = []
    for number in range(times):
        start = time.perf_counter()
        run(number)
        found.append(time.perf_counter() - start)
    return round(statistics.median(found) * 1000, 3)


def _point_p50_ms(connection: psycopg.Connection) -> float:
    times = []
    sql = f"SELECT {_COLUMNS} FROM t WHERE id = %s"
    for key in range(_POINTS * 5):
        start = time.perf_counter()
        assert connection.execute(sql, (key,), prepare=True).fetchone() is not None
        times.append(time.perf_counter() - start)
    return round(statistics.median(times) * 1000, 3)


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def _made(rows: int, source: str) -> str:
    return (
        "SELECT i::integer AS id, 'name ' || i AS name, (i * 1.25)::numeric(12, 2) AS amount,"
        " DATE '2000-01-01' + (i % 3000)::integer AS day, i / 7.0::double precision AS score"
        f" FROM {source.format(rows)}"
    )


@contextmanager
def _served(
    root: Path, more: Sequence[str] = ("--trust-loopback",)
) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """A server on a warehouse; how psycopg connects to it, and the URLs for Flight and Hive."""
    command = [sys.executable, "-m", "gateway.cli", "serve", str(root), *more]
    process = subprocess.Popen(
        [*command, "--postgres", "127.0.0.1:0", "--flight", "127.0.0.1:0", "--hive", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        ports = (re.search(r"127\.0\.0\.1:(\d+)", line) for line in process.stdout)
        port = next(found[1] for found in ports if found is not None)
        others = [process.stdout.readline().strip() for _ in range(2)]
        yield process, f"postgresql://me@127.0.0.1:{port}/palimpsest", others
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
