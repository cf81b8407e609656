"""How long do three levels of lineage take among 100,000 edges, up and down, on each store?

On the embedded store and PostgreSQL the whole question is asked, with the names and statements of
what is found; of a Hive store its catalog in SQLite is asked for the edges, as no server is needed
for that. A recursive query in plain DuckDB, over a table of the same edges, takes turns with them.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

import gateway
from bench.contenders import fresh_gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from gateway.lineage.questions import lineage_around
from gateway.lineage.walks import walk
from gateway.session.operations import no_progress
from gateway.session.session import Session
from journal.model.lineage import WHOLE, ColumnNode, NodeEdge, file_node
from journal.model.store_session import RecordSession
from journal.records.catalog import create_catalog
from journal.records.lineage import edges_beside
from journal.records.record_types import RecordTable
from journal.records.schema import LINEAGE, LINEAGE_STATEMENTS, OF_HIVE_CATALOG
from journal.records.statements import execute, insert
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from tests.support.postgres import Cluster

_EDGES, _COLUMNS, _SOURCES, _LAYER = 100_000, 10, 2, 500
_LEVELS, _LIMIT_MS = 3, 100.0
PLAIN, POSTGRES, HIVE = "recursive query", "PostgreSQL", "SQLite beside Hive"
_UP = """
WITH RECURSIVE walk (level, target, target_column, source, source_column) AS (
  SELECT 1, target, target_column, source, source_column FROM lineage WHERE target = ?
  UNION
  SELECT w.level + 1, e.target, e.target_column, e.source, e.source_column
  FROM walk w JOIN lineage e ON e.target = w.source AND e.target_column = w.source_column
  WHERE w.level < ?
) SELECT * FROM walk
"""


_AT_ONCE = 50
Edges = tuple[NodeEdge, ...]
"""Those of one statement."""
Ask = Callable[[str, int, int], None]
"""Asks for so many levels up and down from a file."""


def measure(options: Options) -> Report:
    """Walk from nodes in the middle of a graph."""
    edges = _EDGES if options.rows > 100_000 else _EDGES // 10
    clock = time.process_time if options.cpu else time.perf_counter
    report = Report("three levels of lineage", edges, clock=clock)
    chosen, made = random.Random(5), list(_statements(edges))
    nodes = len(made)
    with ExitStack() as stack:
        asks: dict[str, Ask] = {
            OURS: stack.enter_context(_embedded(options.work / "lineage", made)),
            POSTGRES: stack.enter_context(_on_postgres(made)),
            HIVE: stack.enter_context(_beside_hive(options.work / "lineage_hive", made)),
        }
        plain = stack.enter_context(_plain(made))

        def node() -> str:
            return f"/lake/{chosen.randrange(nodes // 3, nodes * 2 // 3)}"

        def run(ask: Ask, up: int, down: int) -> None:
            ask(node(), up, down)

        def query() -> None:
            plain.execute(_UP, [file_node(node()), _LEVELS]).fetchall()

        for case, levels in {"up": (_LEVELS, 0), "down": (0, _LEVELS)}.items():
            contenders: dict[str, Callable[[], None]] = {
                name: partial(run, ask, *levels) for name, ask in asks.items()
            }
            if case == "up":
                contenders[PLAIN] = query
            report.compare(case, contenders, options.repeats * 5, warm_ups=2)
            found = [report.median_ms(case, name) / _LIMIT_MS for name in asks]
            report.judge(case, Promise(f"{_LIMIT_MS:g} ms on each store", 1.0), [max(found)])
    return report


def _statements(edges: int) -> Iterator[Edges]:
    """Statements that fill a file each, in layers: each column from two of the layer before."""
    chosen = random.Random(7)

    def source(among: range) -> tuple[str, str]:
        return file_node(f"/lake/{chosen.choice(among)}"), f"c{chosen.randrange(_COLUMNS)}"

    for node in range(edges // _SOURCES // _COLUMNS):
        before = range(max(0, node - 2 * _LAYER), max(1, node - _LAYER))
        target = file_node(f"/lake/{node}")
        yield tuple(
            NodeEdge(target, f"c{column}", *source(before), "DIRECT", "IDENTITY", masking=False)
            for column in range(_COLUMNS)
            for _ in range(_SOURCES)
        )


def _record(records: RecordSession, made: Sequence[Edges]) -> None:
    edges = [(f"s{n}", *edge, n + 1, 0) for n, found in enumerate(made) for edge in found]
    _insert(records, LINEAGE, edges)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    text = "COPY (SELECT ? FROM read_parquet(?)) TO ?"
    told = [
        (f"s{n}", f"d{n}", "COPY", text, "bench", None, n + 1, moment, 1) for n in range(len(made))
    ]
    _insert(records, LINEAGE_STATEMENTS, told)


def _insert(records: RecordSession, table: RecordTable, rows: Sequence[Sequence[Any]]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        execute(records, insert(table, len(part)), [value for row in part for value in row])


@contextmanager
def _embedded(folder: Path, made: Sequence[Edges]) -> Iterator[Ask]:
    with fresh_gateway(folder) as ours:
        yield _filled(ours.connection.session, made)


@contextmanager
def _on_postgres(made: Sequence[Edges]) -> Iterator[Ask]:
    cluster = Cluster.start()
    try:
        url = cluster.url(cluster.database())
        with gateway.connect(url, autocommit=True) as connection:
            yield _filled(connection.session, made)
    finally:
        cluster.remove()


def _filled(session: Session, made: Sequence[Edges]) -> Ask:
    with session.journal.exclusive_session() as records:
        _record(records, made)
        records.commit()

    def ask(file: str, up: int, down: int) -> None:
        lineage_around(session, no_progress, file, up, down)

    return ask


@contextmanager
def _beside_hive(folder: Path, made: Sequence[Edges]) -> Iterator[Ask]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    catalog = CatalogDatabase(f"sqlite:///{folder}/catalog.db")
    with catalog.writing() as records:
        create_catalog(records, OF_HIVE_CATALOG)
        _record(records, made)

    def ask(file: str, up: int, down: int) -> None:
        start = ColumnNode(file_node(file), WHOLE)
        with catalog.reading() as records:
            for levels, downstream in ((up, False), (down, True)):
                beside = partial(edges_beside, records, downstream=downstream)
                walk(start, beside, levels, downstream=downstream)

    try:
        yield ask
    finally:
        catalog.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _plain(made: Sequence[Edges]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as plain:
        names = ", ".join(f"{name} VARCHAR" for name in LINEAGE.names[1:5])
        plain.execute(f"CREATE TABLE lineage ({names})")
        rows = [edge[:4] for edges in made for edge in edges]
        plain.executemany("INSERT INTO lineage VALUES (?, ?, ?, ?)", rows)
        yield plain


if __name__ == "__main__":
    given = read_options(__doc__ or "")
    measure(given).finish(given.json)
