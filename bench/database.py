"""What the gateway adds over PostgreSQL: the same rewritten SQL through it and sent directly.

    python -m bench.database --rows 200000 --rounds 7

Starts a server of its own. Interleaved rounds, the best of each: scans that fetch every row, sums,
look-ups by key, and updates by key. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg

import gateway
from gateway.dbapi.connection import Connection
from journal.plan import Fetch
from journal.stores.postgres_text import render
from tests.support.postgres import Cluster

POINTS = 200


def rewritten(con: Connection, sql: str) -> str:
    """The text of a query as the server gets it; it must take no parameters."""
    session = con.session
    (parsed,) = session.parse(sql)
    plan = session.executor.plan(session.journal.begin(), parsed, session.settings, session.dialect)
    (step,) = plan.steps
    assert isinstance(step, Fetch)
    return render(step.query).sql


def seconds(action: Callable[[], Any]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def fetched(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    """All rows through the gateway."""
    return con.execute(sql).fetchall()


def measure(con: Connection, direct: Any, rows: int, rounds: int) -> dict[str, Any]:
    """Best times of each question, both ways."""
    scans = {
        "scan": "SELECT a, b, c FROM t",
        "scan of other types": "SELECT a, d, e, f FROM u",
        "sum": "SELECT b % 10 AS g, sum(c), count(*) FROM t GROUP BY b % 10",
    }
    best: dict[str, dict[str, float]] = {
        name: {} for name in (*scans, "point read", "point update")
    }
    update = "UPDATE t SET c = c + 1 WHERE a = ?"
    mutable = "UPDATE plain SET c = c + 1 WHERE a = %s"
    points = [f"SELECT a, b, c FROM t WHERE a = {i * 37 % rows}" for i in range(POINTS)]
    plain = [rewritten(con, sql) for sql in points]

    def keep(name: str, way: str, took: float) -> None:
        best[name][way] = min(took, best[name].get(way, took))

    for _ in range(rounds):
        for name, sql in scans.items():
            text = rewritten(con, sql)
            keep(name, "direct", seconds(lambda text=text: direct.execute(text).fetchall()))
            keep(name, "gateway", seconds(lambda sql=sql: fetched(con, sql)))
        took = seconds(lambda: [direct.execute(sql).fetchall() for sql in plain])
        keep("point read", "direct", took / POINTS)
        keep("point read", "gateway", seconds(lambda: [fetched(con, s) for s in points]) / POINTS)
        took = seconds(lambda: [con.execute(update, [i]) for i in range(POINTS)])
        keep("point update", "gateway", took / POINTS)
        took = seconds(lambda: [direct.execute(mutable, [i]) for i in range(POINTS)])
        keep("point update", "plain table", took / POINTS)
    return best


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.database")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    cluster = Cluster.start()
    try:
        database = cluster.database()
        direct = psycopg.connect(cluster.conninfo(database), autocommit=True)
        with direct, gateway.connect(cluster.url(database), autocommit=True) as con:
            con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c BIGINT)")
            filled = f"SELECT i, i * 7, i FROM range({options.rows}) AS r(i)"
            con.execute(f"INSERT INTO t {filled}")
            direct.execute("CREATE TABLE plain (a integer PRIMARY KEY, b integer, c bigint)")
            direct.execute("INSERT INTO plain SELECT a, b, c FROM t")
            con.execute(
                "CREATE TABLE u (a INTEGER PRIMARY KEY, d VARCHAR, e DECIMAL(12,2), f TIMESTAMP)"
            )
            texts = "'name ' || a, c / 100.0, TIMESTAMP '2024-01-01' + b * INTERVAL '1 second'"
            con.execute(f"INSERT INTO u SELECT a, {texts} FROM t")
            direct.execute("ANALYZE")
            best = measure(con, direct, options.rows, options.rounds)
        for times in best.values():
            if "direct" in times:
                times["ratio"] = round(times["gateway"] / times["direct"], 3)
                times["more_ms"] = round((times["gateway"] - times["direct"]) * 1000, 3)
        sys.stdout.write(json.dumps({"rows": options.rows, "best_s": best}, indent=2) + "\n")
    finally:
        cluster.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
