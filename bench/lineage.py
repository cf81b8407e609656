"""How long do three levels of lineage take among 100,000 edges, up and down?

A recursive query in plain DuckDB, over a table of the same edges, takes turns with the gateway.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import duckdb

from bench.contenders import fresh_gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from gateway.lineage.questions import lineage_around
from gateway.session.operations import no_progress
from gateway.session.session import Session
from journal.records.schema import LINEAGE
from journal.records.statements import execute, insert

_EDGES, _COLUMNS, _SOURCES, _LAYER = 100_000, 10, 2, 500
_LEVELS, _LIMIT_MS = 3, 100.0
PLAIN = "recursive query"
_AT_ONCE = 50
_UP = """
WITH RECURSIVE walk (level, target, target_column, source, source_column) AS (
  SELECT 1, target, target_column, source, source_column FROM lineage WHERE target = ?
  UNION
  SELECT w.level + 1, e.target, e.target_column, e.source, e.source_column
  FROM walk w JOIN lineage e ON e.target = w.source AND e.target_column = w.source_column
  WHERE w.level < ?
) SELECT * FROM walk
"""


def measure(options: Options) -> Report:
    """Walk from nodes in the middle of a graph."""
    edges = _EDGES if options.rows > 100_000 else _EDGES // 10
    report = Report("three levels of lineage", edges)
    chosen = random.Random(5)
    with (
        fresh_gateway(options.work / "lineage") as ours,
        _graph(ours.connection.session, edges) as plain,
    ):
        nodes = edges // (_COLUMNS * _SOURCES)

        def node() -> str:
            return f"/lake/{chosen.randrange(nodes // 3, nodes * 2 // 3)}"

        def walk(up: int, down: int) -> None:
            lineage_around(ours.connection.session, no_progress, node(), up, down)

        def query() -> None:
            plain.execute(_UP, [f"file:{node()}", _LEVELS]).fetchall()

        runs: dict[str, tuple[int, int]] = {"up": (_LEVELS, 0), "down": (0, _LEVELS)}
        for case, levels in runs.items():
            contenders: dict[str, Callable[[], None]] = {OURS: partial(walk, *levels)}
            if case == "up":
                contenders[PLAIN] = query
            report.compare(case, contenders, options.repeats * 5, warm_ups=2)
            found = report.median_ms(case, OURS) / _LIMIT_MS
            report.judge(case, Promise(f"{_LIMIT_MS:g} ms", 1.0), [found])
    return report


@contextmanager
def _graph(session: Session, edges: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Edges in layers of files, each column from two of the layer before; in plain DuckDB, too."""
    chosen, rows = random.Random(7), []
    for number in range(edges // _SOURCES):
        node, column = divmod(number, _COLUMNS)
        before = range(max(0, node - 2 * _LAYER), max(1, node - _LAYER))
        for _ in range(_SOURCES):
            source = f"file:/lake/{chosen.choice(before)}"
            names = (f"file:/lake/{node}", f"c{column}", source, f"c{chosen.randrange(_COLUMNS)}")
            rows.append((f"s{node}", *names, "DIRECT", "IDENTITY", False, None, 1, 0))
    with session.journal.exclusive_session() as records:
        for start in range(0, len(rows), _AT_ONCE):
            part = [value for row in rows[start : start + _AT_ONCE] for value in row]
            execute(records, insert(LINEAGE, len(part) // len(LINEAGE.names)), part)
        records.commit()
    plain = duckdb.connect()
    names = ", ".join(f"{name} VARCHAR" for name in LINEAGE.names[1:5])
    plain.execute(f"CREATE TABLE lineage ({names})")
    plain.executemany("INSERT INTO lineage VALUES (?, ?, ?, ?)", [row[1:5] for row in rows])
    try:
        yield plain
    finally:
        plain.close()


if __name__ == "__main__":
    given = read_options(__doc__ or "")
    measure(given).finish(given.json)
