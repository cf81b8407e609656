"""Does INSERT .. ON CONFLICT stay as fast when the table grows from a thousand rows to a million?

Half of the keys are there, half are new; every statement is a durable commit of its own.
"""

from __future__ import annotations

import random
from contextlib import ExitStack

import duckdb

from bench.contenders import Gateway, fresh_gateway
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_QUICK_SIZES = (1_000, 100_000)
_FLAT = 1.5
_ROUNDS = 20
_TABLE = "(id BIGINT PRIMARY KEY, hits BIGINT, note VARCHAR)"
_ROWS = "SELECT i * 2 AS id, 1 AS hits, 'note ' || i AS note FROM range({rows}) AS r(i)"
_UPSERT = (
    "INSERT INTO {table} VALUES (?, 1, 'new')"
    " ON CONFLICT (id) DO UPDATE SET hits = hits + EXCLUDED.hits"
)


def measure(options: Options) -> Report:
    """Upsert into tables of growing size, all open at once, taking turns."""
    sizes = _QUICK_SIZES if options.quick else SIZES
    report = Report("INSERT .. ON CONFLICT as the table grows", sizes[-1])
    keys = random.Random(13)
    with ExitStack() as stack:
        ours = stack.enter_context(fresh_gateway(options.work / "on_conflict"))
        ours.run("CREATE SCHEMA c")
        store = stack.enter_context(duckdb.connect(str(options.work / "on_conflict.duckdb")))
        runs: dict[str, Run] = {}
        for rows in sizes:
            runs[f"{OURS} {rows:,}"] = _ours(ours, rows, keys)
            runs[f"plain duckdb {rows:,}"] = _plain(store, rows, keys)
        report.compare("upsert", runs, options.repeats * _ROUNDS, warm_ups=20)
    (options.work / "on_conflict.duckdb").unlink()
    small = report.median_ms("upsert", f"{OURS} {sizes[0]:,}")
    large = report.median_ms("upsert", f"{OURS} {sizes[-1]:,}")
    promise = Promise(f"of the latency at {sizes[0]:,} rows", _FLAT)
    report.judge(f"flat up to {sizes[-1]:,} rows", promise, [large / small])
    return report


def _ours(ours: Gateway, rows: int, keys: random.Random) -> Run:
    table = f"c.t{rows}"
    ours.run(f"CREATE TABLE {table} {_TABLE}")
    ours.run(f"INSERT INTO {table} {_ROWS.format(rows=rows)}")
    ours.rows("CALL system.flush()")
    sql = _UPSERT.format(table=table)

    def run() -> None:
        assert ours.run(sql, (keys.randrange(2 * rows),)) == 1

    return run


def _plain(store: duckdb.DuckDBPyConnection, rows: int, keys: random.Random) -> Run:
    store.execute(f"CREATE OR REPLACE TABLE t{rows} {_TABLE}")
    store.execute(f"INSERT INTO t{rows} {_ROWS.format(rows=rows)}")
    store.execute("CHECKPOINT")
    sql = _UPSERT.format(table=f"t{rows}")

    def run() -> None:
        store.execute(sql, [keys.randrange(2 * rows)]).fetchall()

    return run


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
