"""What do Hive's JDBC driver and its server take: many rows, and rows by key, beside Spark's?

Spark's Thrift Server has the same rows in Parquet files, and the same driver reads both, each in a
Java of its own that stays. Server CPU is what the server's process used meanwhile.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyhive import hive

from bench.hive import served as spark_served
from bench.measure import OURS, Promise, Report, ratios
from tests.support.thrift_server import spark_home

_SPARK = "spark thrift server"
_POINTS, _SPARK_POINTS = 300, 20
_POINT_AIM_MS = 2.5
_TICKS = os.sysconf("SC_CLK_TCK")


def measure_hive_jdbc(
    report: Report, url: str, server: int, work: Path, made: str, repeats: int
) -> None:
    """Both servers in turns; ``server`` is the process of ours, ``made`` the query of the rows."""
    with spark_served(work) as spark:
        assert spark.pid is not None
        connection = hive.connect(spark.host, spark.port, auth="NOSASL")
        connection.cursor().execute(f"CREATE TABLE t USING parquet AS {made}")
        connection.close()
        theirs_url = f"jdbc:hive2://{spark.host}:{spark.port}/default;auth=noSasl"
        with _client(url) as ours, _client(theirs_url) as theirs:
            pids = {OURS: server, _SPARK: spark.pid}
            clients = {OURS: ours, _SPARK: theirs}
            cpu: dict[str, list[float]] = {name: [] for name in clients}

            def rows(name: str) -> float:
                before = _cpu_s(pids[name])
                seconds = _ask(clients[name], "rows")
                cpu[name].append(_cpu_s(pids[name]) - before)
                return seconds

            report.compare(
                "hive jdbc: all rows",
                {name: lambda n=name: rows(n) for name in clients},
                repeats,
                (Promise(_SPARK, 1.0),),
            )
            spent = {name: found[1:] for name, found in cpu.items()}
            for name, found in spent.items():
                shown = round(statistics.median(found), 3)
                report.facts[f"hive jdbc: all rows: server CPU, s: {name}"] = shown
            found = ratios(spent[OURS], spent[_SPARK])
            report.judge("hive jdbc: all rows: server CPU", Promise(_SPARK, 0.5), found)
            for name, count in {OURS: _POINTS, _SPARK: _SPARK_POINTS}.items():
                case = f"hive jdbc: a row by key: p50, ms: {name}"
                _ask(clients[name], f"points {count}")
                report.facts[case] = round(_ask(clients[name], f"points {count}"), 3)
    report.facts["hive jdbc: a row by key: aim, ms"] = _POINT_AIM_MS


@contextmanager
def _client(url: str) -> Iterator[subprocess.Popen[str]]:
    """The driver, connected, in a process that waits for what to do."""
    source = Path(__file__).with_name("HiveFetch.java")
    command = ["java", "-Xmx512m", "-cp", f"{spark_home()}/jars/*", str(source), url]
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=silent, text=True) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n", f"no connection to {url}"
        yield client
        client.stdin.close()


def _ask(client: subprocess.Popen[str], what: str) -> float:
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(what + "\n")
    client.stdin.flush()
    return float(client.stdout.readline())


def _cpu_s(pid: int) -> float:
    """Seconds of processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
