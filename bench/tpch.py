"""What do the 22 queries of TPC-H cost after UPDATEs, against plain DuckDB over the same rows?

``tpchgen-cli`` makes the data. One UPDATE each changes no, 1 and 10 % of ``lineitem`` and
``orders``; the peer reads plain Parquet files of the same rows. ``warm`` is a query that ran
before in the same process, ``first`` the first statement of a process of its own. Each answer is
compared before its query is timed. A part of it, such as

    python -m bench.tpch --rows 60012150 --repeats 1 --cpu --percent 10 --queries q04 q12

is judged by the worst query alone.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import gateway
from bench.contenders import plain
from bench.measure import OURS, Promise, Report
from bench.options import Options, options_of, parser
from gateway.dbapi.connection import Connection

_PLAIN = "plain duckdb"
_LINEITEMS = 6_001_215
"""Rows of ``lineitem`` at scale factor 1."""
_KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "customer": "c_custkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}
_CHANGES = {"lineitem": "l_quantity = l_quantity + 1", "orders": "o_totalprice = o_totalprice + 1"}
_STEPS = {0: (), 1: ((100, 7),), 10: ((100, 7), (11, 3))}
"""Per percentage: divisors and rests of the order keys that are changed, one UPDATE after the
other."""
_AIMS = {"warm": {0: 0.8, 1: 1.0, 10: 1.15}, "first": {0: 1.2, 1: 1.3, 10: 1.5}}
_WORST = 2.0
_FIRST = """
import json, sys, time
from bench.tpch import our_rows, peer_rows
name, place, sql, clock = json.loads(sys.argv[1])
run = {"ours": our_rows, "peer": peer_rows}[name](place)
clock = getattr(time, clock)
start = clock()
run(sql)
print(clock() - start)
"""

Run = Callable[[str], list[tuple[Any, ...]]]


def queries() -> dict[str, str]:
    """The queries by name: q01 to q22."""
    text = Path(__file__).with_name("tpch_queries.sql").read_text("utf-8")
    parts = [part.partition("\n") for part in text.split("\n-- ")[1:]]
    return {name: sql.strip().rstrip(";") for name, _, sql in parts}


def measure(
    options: Options, percents: Collection[int] = _STEPS, names: Collection[str] = ()
) -> Report:
    """Run the named queries, or all, at each of the percentages, warm and in new processes."""
    scale = round(options.rows / _LINEITEMS, 3)
    report = Report("tpch", round(scale * _LINEITEMS))
    folder = options.work / "tpch"
    shutil.rmtree(folder, ignore_errors=True)
    warehouse, files = folder / "warehouse", folder / "files"
    _make_data(files, scale)
    _load(warehouse, files)
    done: tuple[tuple[int, int], ...] = ()
    for percent, steps in _STEPS.items():
        for divisor, rest in steps[len(done) :]:
            _change(warehouse, files, divisor, rest)
        done = steps
        if percent in percents:
            _compare(report, percent, warehouse, files, options, names)
    shutil.rmtree(folder)
    return report


def our_rows(place: str) -> Run:
    """Runs a query on a warehouse."""
    connection = gateway.connect(f"palimpsest:///{place}", autocommit=True)
    return lambda sql: connection.execute(sql).fetchall()


def peer_rows(place: str) -> Run:
    """Runs a query on a folder of Parquet files."""
    connection = plain()
    for table in _KEYS:
        connection.execute(f"CREATE VIEW {table} AS FROM '{place}/{table}.parquet'")
    return lambda sql: connection.execute(sql).fetchall()


def _make_data(folder: Path, scale: float) -> None:
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "-q"]
    subprocess.run([*command, "-s", str(scale), "--output-dir", str(folder)], check=True)


def _load(warehouse: Path, files: Path) -> None:
    with gateway.connect(f"palimpsest:///{warehouse}", autocommit=True) as connection:
        for table, key in _KEYS.items():
            described = connection.execute(f"DESCRIBE SELECT * FROM '{files / table}.parquet'")
            columns = ", ".join(f"{name} {kind}" for name, kind, *_ in described.fetchall())
            connection.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))")
            connection.execute(f"INSERT INTO {table} FROM '{files / table}.parquet'")
            connection.execute(f"CALL system.flush('{table}')")


def _change(warehouse: Path, files: Path, divisor: int, rest: int) -> None:
    """Change the same rows of the warehouse and of the peer's files."""
    with gateway.connect(f"palimpsest:///{warehouse}", autocommit=True) as connection:
        for table, change in _CHANGES.items():
            key = _KEYS[table].split(",")[0]
            connection.execute(f"UPDATE {table} SET {change} WHERE {key} % {divisor} = {rest}")
    with plain() as store:
        for table, change in _CHANGES.items():
            key, file = _KEYS[table].split(",")[0], files / f"{table}.parquet"
            column, _, value = change.partition(" = ")
            kind = f"CASE WHEN {key} % {divisor} = {rest} THEN {value} ELSE {column} END"
            whole = f"SELECT * REPLACE (({kind})::DECIMAL(15, 2) AS {column}) FROM '{file}'"
            store.execute(f"COPY ({whole}) TO '{file}.new' (FORMAT parquet)")
            Path(f"{file}.new").replace(file)


def _compare(
    report: Report,
    percent: int,
    warehouse: Path,
    files: Path,
    options: Options,
    names: Collection[str],
) -> None:
    clock, repeats = time.process_time if options.cpu else time.perf_counter, options.repeats
    asked = {name: sql for name, sql in queries().items() if not names or name in names}
    ratios: dict[str, list[float]] = {"warm": [], "first": []}
    connection = gateway.connect(f"palimpsest:///{warehouse}", autocommit=True)
    theirs = peer_rows(str(files))
    for name, sql in asked.items():
        _check_same(name, _rows(connection, sql), theirs(sql))
        runs = {
            _PLAIN: _discarding(theirs, sql, clock),
            OURS: _discarding(_run(connection), sql, clock),
        }
        ratios["warm"].append(_ratio(report, f"{percent} %, warm, {name}", runs, repeats))
    connection.close()
    for name, sql in asked.items():
        runs = {
            _PLAIN: _in_new_process("peer", files, sql, clock),
            OURS: _in_new_process("ours", warehouse, sql, clock),
        }
        case = f"{percent} %, first, {name}"
        ratios["first"].append(_ratio(report, case, runs, min(repeats, 3), warm_ups=0))
    for kind, found in ratios.items():
        mean, case = statistics.geometric_mean(found), f"{percent} %, {kind}, geometric mean"
        if len(asked) == len(queries()):
            report.judge(case, Promise(_PLAIN, _AIMS[kind][percent]), [mean])
        report.judge(f"{percent} %, {kind}, worst query", Promise(_PLAIN, _WORST), [max(found)])


def _ratio(
    report: Report,
    case: str,
    runs: Mapping[str, Callable[[], float | None]],
    repeats: int,
    warm_ups: int = 1,
) -> float:
    report.compare(case, runs, repeats, warm_ups=warm_ups)
    return report.median_ms(case, OURS) / report.median_ms(case, _PLAIN)


def _rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def _run(connection: Connection) -> Run:
    return lambda sql: _rows(connection, sql)


def _discarding(run: Run, sql: str, clock: Callable[[], float]) -> Callable[[], float]:
    def timed() -> float:
        start = clock()
        run(sql)
        return clock() - start

    return timed


def _in_new_process(
    name: str, place: Path, sql: str, clock: Callable[[], float]
) -> Callable[[], float]:
    asked = json.dumps([name, str(place), sql, clock.__name__])
    command = [sys.executable, "-c", _FIRST, asked]

    def timed() -> float:
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        # A slow query shows how far it is before that.
        return float(run.stdout.split()[-1])

    return timed


def _check_same(
    name: str, ours: Sequence[tuple[Any, ...]], theirs: Sequence[tuple[Any, ...]]
) -> None:
    """Raise AssertionError unless both answers are the same, but for the last digits of doubles."""
    assert [_plain(row) for row in ours] == [_plain(row) for row in theirs], f"{name} differs"


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        float(f"{value:.9g}") if isinstance(value, float | Decimal) else value for value in row
    )


def main() -> int:
    """Run the command line."""
    made = parser(__doc__ or "")
    made.add_argument("--percent", type=int, nargs="+", choices=_STEPS, default=[*_STEPS])
    made.add_argument("--queries", nargs="+", choices=queries(), default=[], metavar="qNN")
    parsed = made.parse_args()
    options = options_of(parsed)
    measure(options, parsed.percent, parsed.queries).finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
