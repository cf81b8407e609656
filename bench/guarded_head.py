"""What it costs a head of a PostgreSQL journal to take no row twice, and to have guards.

    python -m bench.guarded_head --rows 200000 --repeats 15

Starts a server of its own. The head that the gateway has made is held against a table of the same
columns with an ordinary index by key and version, and without triggers: rows appended one by one
and many at once, and rows looked up by key and by what ends them. Both sides are sent the same SQL.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import psycopg

import gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, options_of, parser
from journal.stores.postgres.adopt.guards import A_GATEWAY
from tests.support.postgres import Cluster

HEAD = "_palimpsest.t1_head_1"
PLAIN = "plain_index"
POINTS = 200
MANY = 10_000
AT_MOST = {"rows appended": 1.25, "": 1.05}
"""By what a case is called. A bare INSERT is so short that a few microseconds count."""
_CURRENT = (
    "SELECT o.* FROM {0} o WHERE {1} o.s IS NULL AND NOT EXISTS"
    " (SELECT 1 FROM {0} c WHERE c.a = o.a AND c.v = o.v AND c.s > c.v)"
)


def _both(report: Report, con: psycopg.Connection[Any], repeats: int) -> None:
    keys: dict[str, Iterator[int]] = {t: count(report.rows) for t in (HEAD, PLAIN)}

    def one_by_one(table: str) -> None:
        sql = f"INSERT INTO {table} VALUES (%s, 'new', %s, NULL)"
        for _ in range(POINTS):
            key = next(keys[table])
            con.execute(sql, [key, key])

    def many(table: str) -> None:
        key = next(keys[table])
        keys[table] = count(key + MANY)
        con.execute(
            f"INSERT INTO {table} SELECT i, 'new', i, NULL FROM generate_series(%s::int, %s) i",
            [key, key + MANY - 1],
        )

    def by_key(table: str) -> None:
        sql = _CURRENT.format(table, "o.a = %s AND")
        for key in range(POINTS):
            con.execute(sql, [key * 37 % report.rows]).fetchall()

    def everything(table: str) -> None:
        con.execute(f"SELECT count(*), max(b) FROM ({_CURRENT.format(table, '')}) r").fetchall()

    for case, work in (
        (f"{POINTS} rows appended one by one", one_by_one),
        (f"{MANY} rows appended at once", many),
        (f"{POINTS} look-ups by key", by_key),
        ("all current rows", everything),
    ):
        runs = {
            OURS: lambda work=work: work(HEAD),
            PLAIN: lambda work=work: work(PLAIN),
        }
        at_most = next(ratio for name, ratio in AT_MOST.items() if name in case)
        report.compare(case, runs, repeats, (Promise(PLAIN, at_most),), warm_ups=2)
    for table in (HEAD, PLAIN):
        rows, size = con.execute(
            f"SELECT count(*), pg_indexes_size('{table}') FROM {table}"
        ).fetchall()[0]
        report.facts[f"bytes of index for a row, {table}"] = round(size / rows, 1)
    for table in (HEAD, PLAIN):
        plan = con.execute("EXPLAIN " + _CURRENT.format(table, "o.a = 37 AND")).fetchall()
        report.notes += [f"{table}: {line}" for (line,) in plan if "Index" in line]


def measure(options: Options) -> Report:
    """All of it, on a server that is removed again."""
    report = Report("what the index and the guards of a head cost", options.rows)
    cluster = Cluster.start()
    try:
        database = cluster.database()
        with gateway.connect(cluster.url(database), autocommit=True) as made:
            made.execute(
                "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR) WITH"
                " (journal_version_type = 'BIGINT', version_column = 'v',"
                " subsequent_version_column = 's')"
            )
        conninfo = cluster.conninfo(database)
        with psycopg.connect(conninfo, autocommit=True) as con:
            con.execute(f"SELECT set_config({A_GATEWAY}, false)")
            con.execute(f"CREATE TABLE {PLAIN} (LIKE {HEAD})")
            con.execute(f"CREATE INDEX ON {PLAIN} (a, v)")
            for table in (HEAD, PLAIN):
                con.execute(
                    f"INSERT INTO {table} SELECT i, 'x', i, NULL FROM generate_series(0, %s) i",
                    [report.rows - 1],
                )
                con.execute(
                    f"INSERT INTO {table} SELECT a, b, v, {report.rows} + a FROM {table}"
                    " WHERE a % 20 = 0"
                )
                con.execute(f"INSERT INTO {table} SELECT a, 'y', s, NULL FROM {table} WHERE s > v")
                con.execute(f"VACUUM ANALYZE {table}")
            _both(report, con, options.repeats)
    finally:
        cluster.remove()
    return report


def main() -> int:
    """Run the command line."""
    made = parser(__doc__ or "")
    made.set_defaults(rows=200_000)
    options = options_of(made.parse_args())
    measure(options).finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
