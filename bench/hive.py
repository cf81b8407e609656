"""What the gateway costs on a Thrift Server: single-row INSERTs, and reads beside plain PyHive.

    python -m bench.hive [--rows 1000] [--scan-rows 200000] [--runs 7] [--json FILE]

``PALIMPSEST_THRIFT_SERVER=host:port`` names a server; else one is started. Prints JSON, and writes
it to a file where one is named. Reads are run in turns with PyHive's, by chance first or second.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from journal.hive.journal import HiveJournal
from journal.stores.hive import HiveConnection, Row
from tests.support.thrift_server import shared

Values = Sequence[object]
_CALLS = "ExecuteStatement GetOperationStatus GetResultSetMetadata FetchResults CloseOperation"
_called_s: list[float] = []
"""Seconds of each call to the server since the last run began."""


def timed(work: Callable[[], object]) -> tuple[float, float, float]:
    """Seconds of one run, those of this process's processor, and those outside of calls."""
    _called_s.clear()
    began, own = time.perf_counter(), time.process_time()
    work()
    clock = time.perf_counter() - began
    return clock, time.process_time() - own, clock - sum(_called_s)


def time_calls(client: type) -> None:
    """Have the driver's calls to the server timed."""

    def timing(call: Callable[..., object]) -> Callable[..., object]:
        def timed_call(*given: object) -> object:
            began = time.perf_counter()
            try:
                return call(*given)
            finally:
                _called_s.append(time.perf_counter() - began)

        return timed_call

    for name in _CALLS.split():
        setattr(client, name, timing(getattr(client, name)))


def inserts(con: Connection, rows: int) -> dict[str, float]:
    """Single-row INSERTs in one transaction beside one INSERT of the same rows."""
    for name in ("single", "many"):
        con.execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY, v VARCHAR)")
        con.execute(f"INSERT INTO {name} VALUES (-1, 'first')")
    values = ", ".join(f"({i}, 'row {i}')" for i in range(rows))
    many, *_ = timed(lambda: con.execute(f"INSERT INTO many VALUES {values}"))

    def one_by_one() -> None:
        con.execute("BEGIN")
        for i in range(rows):
            con.execute("INSERT INTO single VALUES (?, ?)", [i, f"row {i}"])
        con.execute("COMMIT")

    single, *_ = timed(one_by_one)
    return {"rows": rows, "many_s": many, "single_s": single, "ratio": single / many}


def beside(con: Connection, sql: str, runs: int, values: Values = ()) -> dict[str, float]:
    """A query through the gateway beside the text it sends, sent by the driver alone, in turns.

    ``values`` are those of the runs, where the query has a parameter.
    """
    given = [[v] for v in values] or [[]] * runs
    sent: list[str] = []
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    execute = HiveConnection.execute

    def listening(self: HiveConnection, *given: Any, **named: Any) -> list[list[Row]]:
        sent.append(given[0])
        return execute(self, *given, **named)

    HiveConnection.execute = listening  # type: ignore[method-assign]
    for parameters in given:
        con.execute(sql, parameters).fetchall()
    HiveConnection.execute = execute  # type: ignore[method-assign]
    ours: list[tuple[float, float, float]] = []
    theirs: list[tuple[float, float, float]] = []
    with journal.store.connection() as plain:
        for parameters, text in zip(given, sent[-len(given) :], strict=True):
            works: list[tuple[list[tuple[float, float, float]], Callable[[], object]]] = [
                (ours, lambda p=parameters: con.execute(sql, p).fetchall()),  # type: ignore[misc]
                (theirs, lambda t=text: plain.run(t)),  # type: ignore[misc]
            ]
            random.shuffle(works)
            for found, work in works:
                found.append(timed(work))
    through, own, apart_ours = (statistics.median(column) for column in zip(*ours, strict=True))
    direct, drivers, apart_theirs = (
        statistics.median(column) for column in zip(*theirs, strict=True)
    )
    apart = statistics.median(o[0] - t[0] for o, t in zip(ours, theirs, strict=True))
    return {
        "runs": len(given),
        "gateway_s": through,
        "direct_s": direct,
        "ratio": through / direct,
        "median_difference_ms": apart * 1000,
        "gateway_cpu_ms": own * 1000,
        "direct_cpu_ms": drivers * 1000,
        "added_cpu_ms": (own - drivers) * 1000,
        "added_outside_calls_ms": (apart_ours - apart_theirs) * 1000,
    }


def reads(con: Connection, rows: int, runs: int) -> dict[str, dict[str, float]]:
    """A scan, and rows by their key: the same one again and again, and others each time."""
    con.execute("CREATE TABLE big (k BIGINT PRIMARY KEY, v DOUBLE)")
    con.execute(f"INSERT INTO big SELECT i, i * 0.5 FROM range({rows}) r(i)")
    scan = "SELECT k % 10 AS g, sum(v) AS s FROM big GROUP BY k % 10"
    keys = [random.randrange(rows) for _ in range(runs * 5)]
    one, any_of = "SELECT v FROM big WHERE k = 77", "SELECT v FROM big WHERE k = ?"
    return {
        "scans": {"rows": rows, **beside(con, scan, runs)},
        "points": {"rows": rows, **beside(con, one, runs * 5)},
        "points_by_parameter": {"rows": rows, **beside(con, any_of, runs, keys)},
    }


def main() -> None:
    """Run both, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--scan-rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the result to this file, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, shared(Path(folder)) as server:
        with gateway.connect(server.new_store(Path(folder)), autocommit=True) as con:
            found = {"inserts": inserts(con, options.rows)}
            journal = con.session.journal
            assert isinstance(journal, HiveJournal)
            with journal.store.connection() as plain:
                time_calls(type(plain._connection.client))
            found |= reads(con, options.scan_rows, options.runs)
    text = json.dumps(found, indent=2)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
