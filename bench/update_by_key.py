"""How long does a durable UPDATE of one row by key take, each its own commit?

delta-rs and pyiceberg rewrite files for it, so they get few rounds; DuckLake and plain DuckDB, with
and without a primary key, take turns with the gateway.
"""

from __future__ import annotations

import os
import random
import time
from statistics import median

import duckdb

from bench import lineitem
from bench.contenders import TABLE, Gateway, loaded_gateway, native
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options
from bench.peers import Peer, peer

PLAIN, KEYED = "plain duckdb", "plain duckdb, key"
_ROUNDS, _SLOW_ROUNDS = 20, 3
_IN_A_ROW = 11
_SET = "l_comment = 'changed'"


def measure(options: Options) -> Report:
    """Update random keys."""
    report = Report("single-row UPDATE by key", options.rows)
    source = lineitem.lineitem_file(options.work, options.rows)
    keys = random.Random(11)
    with (
        loaded_gateway(options.work / "update_by_key", source) as ours,
        native(options.work, "update_plain", source, key=False) as table,
        native(options.work, "update_key", source, key=True) as keyed,
        peer(options.work, options.peers) as other,
    ):
        fast: dict[str, Run] = {
            PLAIN: _plain_run(table, keys, options.rows),
            KEYED: _plain_run(keyed, keys, options.rows),
            OURS: _ours_run(ours, keys, options.rows),
        }
        promises = (Promise(PLAIN, 5.0), Promise(KEYED, 5.0))
        case = "beside plain tables"
        report.compare(case, fast, options.repeats * _ROUNDS, promises, warm_ups=20)
        if other is not None:
            _peers(report, options, ours, other, keys)
    return report


def _peers(
    report: Report, options: Options, ours: Gateway, other: Peer, keys: random.Random
) -> None:
    source = str(lineitem.lineitem_file(options.work, options.rows))
    for name in ("lake", "delta", "iceberg"):
        other.call(f"{name}_load", path=str(options.work / name), parquet=source)
    lake_sql = f"UPDATE t SET {_SET} WHERE k = ?"
    run = _ours_run(ours, keys, options.rows)

    def key() -> int:
        return keys.randint(1, options.rows)

    lake: Run = lambda: float(other.call("lake_sql", sql=lake_sql, values=[key()]))  # noqa: E731
    delta: Run = lambda: float(other.call("delta_update", key=key()))  # noqa: E731
    iceberg: Run = lambda: float(other.call("iceberg_update", key=key()))  # noqa: E731
    report.compare(
        "beside ducklake",
        {"ducklake": _settled(lake), OURS: _settled(run)},
        options.repeats * 2,
        (Promise("ducklake", 1.0),),
        warm_ups=3,
    )
    report.compare(
        "beside table formats",
        {
            "delta-rs": _settled(delta),
            "pyiceberg": _settled(iceberg),
            f"{OURS}, the first": _settled(run),
            OURS: _in_a_row(run),
        },
        _SLOW_ROUNDS,
        (Promise("delta-rs", 0.01), Promise("pyiceberg", 0.01)),
    )


def _settled(run: Run) -> Run:
    """The run, once the disk has what others wrote: they leave files unsynced, which would wait
    for the next commit of whoever syncs."""

    def timed() -> float:
        os.sync()
        start = time.perf_counter()
        own = run()
        return time.perf_counter() - start if own is None else own

    return timed


def _in_a_row(run: Run) -> Run:
    """The median of several runs: the first after seconds of others' work finds cold caches."""

    def timed() -> float:
        return median(_settled(run)() or 0.0 for _ in range(_IN_A_ROW))

    return timed


def _plain_run(table: duckdb.DuckDBPyConnection, keys: random.Random, rows: int) -> Run:
    def run() -> None:
        key = keys.randint(1, rows)
        table.execute(f"UPDATE t SET {_SET} WHERE k = ?", [key]).fetchall()

    return run


def _ours_run(ours: Gateway, keys: random.Random, rows: int) -> Run:
    def run() -> None:
        changed = ours.run(f"UPDATE {TABLE} SET {_SET} WHERE k = ?", (keys.randint(1, rows),))
        assert changed == 1

    return run


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
