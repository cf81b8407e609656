"""Which shape shows a classic journal in PostgreSQL fastest, by the indexes it has.

    python -m bench.flat_shapes --keys 100000 --versions 4

Starts a server of its own and fills one journal. For each set of indexes and each shape: the best
of a few scans of all current rows, and of look-ups by key. Prints JSON; what shows adopted journals
chooses by it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import psycopg

from tests.support.postgres import Cluster

_ROWS = "SELECT o.k, o.name FROM {} WHERE o.subsequent_version_number IS NULL"
_NEWEST = "version_number DESC NULLS LAST, subsequent_version_number NULLS FIRST"
_SHAPES = {
    "window": _ROWS.format(
        f"(SELECT *, row_number() OVER (PARTITION BY k ORDER BY {_NEWEST}) AS place"
        " FROM public.t_journal) o"
    )
    + " AND o.place = 1",
    "distinct-on": _ROWS.format(
        f"(SELECT DISTINCT ON (k) * FROM public.t_journal ORDER BY k, {_NEWEST}) o"
    ),
    "anti-join": _ROWS.format("public.t_journal o")
    + " AND NOT EXISTS (SELECT 1 FROM public.t_journal n"
    " WHERE n.k = o.k AND n.version_number > o.version_number)",
    "lateral": _ROWS.format(
        "(SELECT DISTINCT k FROM public.t_journal) keys CROSS JOIN LATERAL"
        f" (SELECT * FROM public.t_journal j WHERE j.k = keys.k ORDER BY {_NEWEST} LIMIT 1) o"
    ),
}
_INDEXES = {
    "none": "",
    "(k, version_number)": "CREATE INDEX ON public.t_journal (k, version_number)",
    "(k, version_number DESC)": "CREATE INDEX ON public.t_journal (k, version_number DESC)",
}
_LOOKUPS = 10


def _best(connection: psycopg.Connection[Any], queries: list[str], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        for query in queries:
            connection.execute(query).fetchall()
        best = min(best, (time.perf_counter() - started) / len(queries))
    return round(best * 1000, 3)


def measure(connection: psycopg.Connection[Any], keys: int, rounds: int) -> dict[str, Any]:
    """Milliseconds of scans and look-ups, by indexes and shape."""
    scan = ["SELECT count(*), max(name) FROM shown"]
    lookups = [f"SELECT * FROM shown WHERE k = {i * 37 % keys}" for i in range(_LOOKUPS)]
    found: dict[str, Any] = {}
    for index, statement in _INDEXES.items():
        if statement:
            connection.execute(statement)
        connection.execute("VACUUM ANALYZE public.t_journal")
        for name, rows in _SHAPES.items():
            if name == "lateral" and not statement:
                # A scan for each key.
                continue
            connection.execute(f"CREATE OR REPLACE VIEW shown AS {rows}")
            point = _best(connection, lookups[: _LOOKUPS if statement else 3], rounds)
            times = {"scan_ms": _best(connection, scan, rounds), "look-up_ms": point}
            found.setdefault(index, {})[name] = times
        connection.execute("DROP INDEX IF EXISTS public.t_journal_k_version_number_idx")
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.flat_shapes")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cluster = Cluster.start()
    try:
        with psycopg.connect(cluster.conninfo(cluster.database()), autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE public.t_journal (k integer NOT NULL, name text,"
                " version_number bigint NOT NULL, subsequent_version_number bigint)"
            )
            connection.execute(
                "INSERT INTO public.t_journal SELECT k, 'name ' || k || ' ' || v, v * 1000000 + k,"
                " CASE WHEN v = %s AND k %% 20 = 0 THEN v * 1000000 + k END"
                " FROM generate_series(1, %s) AS v, generate_series(0, %s) AS k",
                [options.versions, options.versions, options.keys - 1],
            )
            found = measure(connection, options.keys, options.rounds)
    finally:
        cluster.remove()
    sizes = {"keys": options.keys, "versions": options.versions}
    sys.stdout.write(json.dumps({**sizes, "best": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
