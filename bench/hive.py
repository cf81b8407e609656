"""What the gateway costs on a Thrift Server: single-row INSERTs, and reads beside plain PyHive.

    python -m bench.hive [--rows 1000] [--scan-rows 200000] [--seconds 30] [--json FILE]

Starts a server of its own, whose threads stay (docs/hive.md says why) and which compiles queries
as Spark does by itself, unless ``PALIMPSEST_THRIFT_SERVER=host:port`` names one. A read through the
gateway is paired with the text it sends, sent by PyHive's own cursor in a session with the same
settings. Prints what was found, and whether the promises hold. Takes five times ``--seconds``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyhive import hive

import gateway
from bench.measure import machine
from bench.paired import Between, Paired, compare
from gateway.dbapi.connection import Connection
from journal.stores.hive.client.opening import session_settings
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.store import HiveConnection
from tests.support.thrift_server import RUNNING, ThriftServer, own, shared

_COMPILING = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}
_JAVA = "-XX:TieredStopAtLevel=4"
_FETCH_ROWS = 10_000
_SCAN_SHARE = 0.6
"""Scans take fewer rounds to tell 5 % than rows by their key to tell 2 ms."""
_CALLS = "ExecuteStatement GetOperationStatus GetResultSetMetadata FetchResults CloseOperation"
INSERTS_TIMES, SCAN_TIMES, POINT_MS = 3.0, 1.05, 2.0
Found = dict[str, Any]


@contextlib.contextmanager
def served(folder: Path, memory: str = "1g") -> Iterator[ThriftServer]:
    """A server to measure on; one of its own has so much memory."""
    if os.environ.get(RUNNING):
        with shared(folder) as found:
            yield found
    else:
        with own(conf=_COMPILING, java=_JAVA, memory=memory) as found:
            yield found


def inserts(con: Connection, rows: int) -> Found:
    """Single-row INSERTs in one transaction beside one INSERT of the same rows."""
    for name in ("warm", "single", "many"):
        con.execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY, v VARCHAR)")
        con.execute(f"INSERT INTO {name} VALUES (-1, 'first')")
    values = ", ".join(f"({i}, 'row {i}')" for i in range(rows))
    times: dict[str, list[float]] = {"single": [], "many": []}
    for turn, table in enumerate(("warm", "many", "single")):
        began = time.perf_counter()
        if table == "single":
            con.execute("BEGIN")
            for i in range(rows):
                con.execute("INSERT INTO single VALUES (?, ?)", [i, f"row {i}"])
            con.execute("COMMIT")
        else:
            con.execute(f"INSERT INTO {table} VALUES {values}")
        if turn:
            times[table].append(time.perf_counter() - began)
    (single,), (many,) = times["single"], times["many"]
    ratio = single / many
    kept = "kept" if ratio <= INSERTS_TIMES else "BROKEN"
    return {"rows": rows, "many_s": many, "single_s": single, "ratio": ratio, "verdict": kept}


class Beside:
    """A query through the gateway, and the text it sends through PyHive."""

    def __init__(self, con: Connection, plain: Any) -> None:
        self._con = con
        self._cursor = plain.cursor(arraysize=_FETCH_ROWS)
        self._text = ""

    def listen(self, sql: str, values: Sequence[object] = ()) -> None:
        """Note what the gateway sends for a query."""
        sent: list[str] = []
        execute = HiveConnection.execute

        def listening(self: HiveConnection, *given: Any, **named: Any) -> Any:
            sent.append(given[0])
            return execute(self, *given, **named)

        HiveConnection.execute = listening  # type: ignore[method-assign]
        try:
            rows = self._con.execute(sql, values).fetchall()
        finally:
            HiveConnection.execute = execute  # type: ignore[method-assign]
        if not self._text:
            self._text = sent[-1]
            assert sorted(self.directly()) == sorted(rows)
        self._text = sent[-1]

    def through(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows by way of the gateway."""
        return self._con.execute(sql, values).fetchall()

    def directly(self) -> list[Any]:
        """The rows of the same text without it."""
        self._cursor.execute(self._text)
        rows: list[Any] = self._cursor.fetchall()
        return rows

    def close(self) -> None:
        """Let the server forget the last result."""
        self._cursor.close()


@contextlib.contextmanager
def counted(client: type) -> Iterator[Counter[str]]:
    """Count the calls to the server meanwhile."""
    found: Counter[str] = Counter()
    kept = {name: getattr(client, name) for name in _CALLS.split()}

    def counting(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def counted_call(*given: object) -> object:
            found[name] += 1
            return call(*given)

        return counted_call

    for name, call in kept.items():
        setattr(client, name, counting(name, call))
    try:
        yield found
    finally:
        for name, call in kept.items():
            setattr(client, name, call)


def own_ms(work: Callable[[], object], runs: int = 10) -> float:
    """Milliseconds of this process's processor, of one run."""
    began = time.process_time()
    for _ in range(runs):
        work()
    return (time.process_time() - began) * 1e3 / runs


def reads(con: Connection, plain: Any, rows: int, seconds: float) -> dict[str, Found]:
    """Sums, every row, and rows by their key: the same one again and again, and others."""
    con.execute("CREATE TABLE big (k BIGINT PRIMARY KEY, v DOUBLE)")
    con.execute(f"INSERT INTO big SELECT i, i * 0.5 FROM range({rows}) r(i)")
    found: dict[str, Found] = {}
    for case, sql, is_scan in (
        ("sum", "SELECT k % 10 AS g, sum(v) AS s FROM big GROUP BY k % 10", True),
        ("scan", "SELECT k, v FROM big", True),
        ("row by key", "SELECT v FROM big WHERE k = 77", False),
        ("row by parameter", "SELECT v FROM big WHERE k = ?", False),
    ):
        beside = Beside(con, plain)
        values: list[object] = [random.randrange(rows)] if "?" in sql else []
        beside.listen(sql, values)

        def another(beside: Beside = beside, sql: str = sql, values: list[object] = values) -> None:
            if values:
                values[0] = random.randrange(rows)
                beside.listen(sql, values)

        def ours(beside: Beside = beside, sql: str = sql, values: list[object] = values) -> object:
            return beside.through(sql, values)

        lasting = seconds * (_SCAN_SHARE if is_scan else 1)
        paired = compare(case, ours, beside.directly, seconds=lasting, prepare=another)
        found[case] = {
            **asdict(paired),
            "verdict": verdict(paired, is_scan=is_scan),
            "calls": calls(ours, beside.directly),
            "gateway_cpu_ms": own_ms(ours),
            "direct_cpu_ms": own_ms(beside.directly),
        }
        beside.close()
    return found


def calls(ours: Callable[[], object], theirs: Callable[[], object]) -> dict[str, dict[str, int]]:
    """How often each of them calls the server."""
    from TCLIService import TCLIService

    told = {}
    for name, work in (("gateway", ours), ("direct", theirs)):
        with counted(TCLIService.Client) as found:
            work()
        told[name] = dict(found)
    return told


def verdict(paired: Paired, *, is_scan: bool) -> str:
    """What was promised of a case, and whether it holds on the clock."""
    if is_scan:
        return f"{paired.ratio.verdict(SCAN_TIMES)}: at most {SCAN_TIMES:g}x promised"
    return f"{paired.difference_ms.verdict(POINT_MS)}: at most {POINT_MS:g} ms promised"


def shown(found: Found) -> str:
    """What was found, for people."""
    one = found["inserts"]
    told = (
        f"{one['rows']} INSERTs of one transaction: {one['ratio']:.2f}x one INSERT of the same rows"
        f" ({one['single_s']:.2f} s, {one['many_s']:.2f} s); {one['verdict']}: at most"
        f" {INSERTS_TIMES:g}x promised"
    )
    lines = [told]
    for case, case_found in found["reads"].items():
        apart, ratio = Between(**case_found["difference_ms"]), Between(**case_found["ratio"])
        lines.append(
            f"{case}: {case_found['ours_ms']:.1f} ms beside {case_found['theirs_ms']:.1f} ms, in"
            f" {case_found['rounds']} rounds apart by {apart.middle:+.2f} ms ({apart.low:+.2f} .."
            f" {apart.high:+.2f}), {ratio.middle:.3f}x ({ratio.low:.3f} .. {ratio.high:.3f});"
            f" {case_found['verdict']}"
        )
        cpu = case_found["gateway_cpu_ms"], case_found["direct_cpu_ms"]
        counts = [sum(case_found["calls"][who].values()) for who in ("gateway", "direct")]
        lines.append(
            f"    of this process's processor {cpu[0]:.2f} ms beside {cpu[1]:.2f} ms, calls to the"
            f" server {counts[0]} beside {counts[1]}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run all, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--scan-rows", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", type=Path, help="write the result to this file, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        with gateway.connect(server.new_store(Path(folder), presence="5"), autocommit=True) as con:
            journal = con.session.journal
            assert isinstance(journal, HiveJournal)
            settings = session_settings(journal.store.server)
            with contextlib.closing(
                hive.connect(
                    host=server.host,
                    port=server.port,
                    username="tester",
                    auth="NOSASL",
                    configuration=settings,
                )
            ) as plain:
                found: Found = {"machine": machine(), "inserts": inserts(con, options.rows)}
                found["reads"] = reads(con, plain, options.scan_rows, options.seconds)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    print(shown(found))


if __name__ == "__main__":
    main()
