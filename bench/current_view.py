"""How much slower than a plain Parquet table is the current view, with 0, 1 and 10 % changed?

Answers are compared as well as times: a shape that is fast and wrong does not pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb

from bench import lineitem
from bench.contenders import TABLE, Gateway, loaded_gateway, plain
from bench.measure import OURS, Promise, Report, Run
from bench.options import Options, read_options
from bench.peers import Peer, peer

PARQUET = "plain parquet"
DUCKLAKE = "ducklake"
_JUDGED_FROM_MS = 20.0


@dataclass(frozen=True, slots=True)
class Case:
    """A query over ``{t}`` and ``{o}``; ``linear`` when its aggregates are sums and counts."""

    name: str
    sql: str
    linear: bool = False
    arrow: bool = False


CASES = (
    Case(
        "full aggregate",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),"
        " sum(l_extendedprice * (1 - l_discount)), count(*) FROM {t}"
        " WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
        linear=True,
    ),
    Case(
        "filtered aggregate",
        "SELECT sum(l_extendedprice * l_discount) FROM {t}"
        " WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'"
        " AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
        linear=True,
    ),
    Case(
        "join, sums",
        "SELECT o_orderpriority, count(*), sum(l_extendedprice) FROM {t} JOIN {o}"
        " ON l_orderkey = o_orderkey WHERE o_orderdate < DATE '1994-01-01'"
        " GROUP BY o_orderpriority",
        linear=True,
    ),
    Case("count(*)", "SELECT count(*) FROM {t}", linear=True),
    Case(
        "full min, max, distinct",
        "SELECT l_returnflag, l_linestatus, min(l_quantity), max(l_extendedprice),"
        " count(DISTINCT l_suppkey) FROM {t}"
        " WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    ),
    Case(
        "filtered max",
        "SELECT max(l_extendedprice * l_discount) FROM {t}"
        " WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'"
        " AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    ),
    Case(
        "many groups",
        "SELECT count(*) FROM (SELECT l_orderkey, sum(l_quantity) AS q FROM {t}"
        " GROUP BY l_orderkey) AS g WHERE q > 100",
    ),
    Case("many different values", "SELECT count(DISTINCT l_extendedprice) FROM {t}"),
    Case("rows, 2 %", "SELECT * FROM {t} WHERE l_quantity = 5", arrow=True),
    Case(
        "rows, 10 %",
        "SELECT k, l_extendedprice, l_comment FROM {t} WHERE l_quantity <= 5",
        arrow=True,
    ),
    Case(
        "join, max",
        "SELECT o_orderpriority, max(l_extendedprice) FROM {t} JOIN {o}"
        " ON l_orderkey = o_orderkey WHERE o_orderdate < DATE '1994-01-01'"
        " GROUP BY o_orderpriority",
    ),
)

_LIMITS = {0: (1.05, 1.05), 1: (1.15, 2.0), 10: (1.5, 3.0)}
"""At most this many times plain: linear aggregates, and everything else."""


def measure(options: Options) -> Report:
    """Load, change in steps, and measure after each."""
    report = Report("current view", options.rows)
    if options.cpu:
        report.clock = time.process_time
        report.notes.append("processor time of all threads, not time that passes")
    source = lineitem.lineitem_file(options.work, options.rows)
    with (
        loaded_gateway(options.work / "current_view", source) as ours,
        peer(options.work, options.peers) as other,
        plain() as store,
    ):
        if other is not None:
            other.call("lake_load", path=str(options.work / "lake"), parquet=str(source))
        for percent in (0, 1, 10):
            if percent:
                _change(ours, other, percent)
            _measure_all(report, options, ours, other, store, percent)
    report.notes.append(
        f"queries whose plain form takes under {_JUDGED_FROM_MS:.0f} ms are shown, not judged;"
        " ducklake runs on the DuckDB its extension is built for"
    )
    return report


def _change(ours: Gateway, other: Peer | None, percent: int) -> None:
    for statement in lineitem.changes(TABLE, percent):
        ours.run(statement)
    if other is not None:
        for statement in lineitem.changes("t", percent):
            other.call("lake_sql", sql=statement)


def _measure_all(
    report: Report,
    options: Options,
    ours: Gateway,
    other: Peer | None,
    store: duckdb.DuckDBPyConnection,
    percent: int,
) -> None:
    table = lineitem.changed_file(options.work, options.rows, percent)
    orders = lineitem.orders_file(options.work, options.rows)
    for case in CASES:
        asked = case.sql.format(t=TABLE, o=f"read_parquet('{orders}')")
        wanted = case.sql.format(t=f"'{table}'", o=f"'{orders}'")
        _check(ours, store, case, asked, wanted)
        contenders: dict[str, Run] = {
            PARQUET: _plain_run(store, wanted, case),
            OURS: _ours_run(ours, asked, case),
        }
        if other is not None:
            lake = case.sql.format(t="t", o=f"'{orders}'")
            contenders[DUCKLAKE] = _peer_run(other, lake, case, options.cpu)
        name = f"{percent:>2} % {case.name}"
        report.compare(name, contenders, options.repeats)
        if report.median_ms(name, PARQUET) >= _JUDGED_FROM_MS:
            linear, rest = _LIMITS[percent]
            report.judge_times(name, Promise(PARQUET, linear if case.linear else rest))
            report.judge_times(name, Promise(DUCKLAKE, 1.0))


def _check(
    ours: Gateway, store: duckdb.DuckDBPyConnection, case: Case, asked: str, wanted: str
) -> None:
    if case.arrow:
        got: Any = ours.arrow(asked).num_rows
        expected: Any = store.sql(wanted).to_arrow_table().num_rows
    else:
        got = sorted(ours.rows(asked))
        expected = sorted(store.execute(wanted).fetchall())
    if got != expected:
        raise SystemExit(f"wrong answer to {case.name}: {got} instead of {expected}")


def _ours_run(ours: Gateway, sql: str, case: Case) -> Run:
    fetch: Callable[[str], object] = ours.arrow if case.arrow else ours.rows
    return _discarding(lambda: fetch(sql))


def _plain_run(store: duckdb.DuckDBPyConnection, sql: str, case: Case) -> Run:
    if case.arrow:
        return _discarding(lambda: store.sql(sql).to_arrow_table())
    return _discarding(lambda: store.execute(sql).fetchall())


def _discarding(run: Callable[[], object]) -> Run:
    def without_result() -> None:
        run()

    return without_result


def _peer_run(other: Peer, sql: str, case: Case, cpu: bool) -> Run:
    return lambda: float(other.call("lake_sql", sql=sql, arrow=case.arrow, cpu=cpu))


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
