"""Provenance by execution: whose cells, when changed, change a column of a query?

Random queries run in SQLite over worlds of two tables: few rows or many, with NULLs, with values
that repeat, with a table that is empty. A column of a table gets other values in one cell, in two
or in all; a column of the result whose values change then comes from it. What lineage says must
name every such column, or say that it decides about the rows; a miss is a defect. What it names
besides is tried in many more worlds, and counted as an edge too many if none of them shows it, by
the way in which the column should count. A query that gives no row in any world shows nothing, and
is counted by itself.

    python -m tests.rewriter.lineage.provenance --seeds 0..2000
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from sqlglot import parse_one

from rewriter.lineage.sources import WHOLE
from rewriter.lineage.statements import lineage_of
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import row_sources
from tests.rewriter.lineage.random_queries import TABLES, Generator

_WORLDS, _WORLDS_MORE = 4, 40
"""Worlds in which every column is changed, and those for what lineage alone names."""
_CHANGES = 6
"""Changes of one column in one world."""
Column = tuple[str, str]
Origins = dict[str, set[Column]]
Ways = dict[str, dict[Column, str]]
Rows = list[list[int | None]]


@dataclass
class Tally:
    """How many pairs of columns lineage named, what execution did not show of them, and missed."""

    named: int = 0
    empty: int = 0
    """Pairs that queries name which never gave a row."""
    hidden: list[tuple[str, str]] = field(default_factory=list)
    """The way in which a column should count, and where."""
    missed: list[str] = field(default_factory=list)

    @property
    def shown(self) -> int:
        """How many of the named pairs execution has shown."""
        return self.named - len(self.hidden)

    def report(self, *, with_hidden: bool) -> list[str]:
        """The lines that say it."""
        lines = [*self.missed]
        if with_hidden:
            lines += [f"not shown, {way}: {where}" for way, where in self.hidden]
        share = len(self.hidden) / max(self.named, 1)
        ways = Counter(way for way, _ in self.hidden).most_common()
        counts = f"{self.named} named, {self.shown} shown, {len(self.missed)} missed"
        lines += [f"{counts}, {len(self.hidden)} not shown ({share:.1%})"]
        lines += [f"{self.empty} more named by queries that gave no row in any world"]
        return lines + [f"    {count:5} {way}" for way, count in ways]


def origins_by_lineage(sql: str) -> Ways:
    """The columns that lineage names for each output, and for the rows, and how they count."""
    tables = KnownTables("duckdb", columns=dict(TABLES))
    targets = lineage_of(parse_one(f"CREATE TABLE r AS {sql}", dialect="duckdb"), tables)
    assert all(t.unknown is None for t in targets), targets
    shared = row_sources(targets)
    named = {t.column: [s for s in t.sources if s not in shared] for t in targets}
    found: Ways = {}
    for name, sources in {**named, WHOLE: shared}.items():
        ways: dict[Column, set[str]] = {}
        for source in sources:
            ways.setdefault((source.table, source.column), set()).add(source.subtype)
        found[name] = {column: " and ".join(sorted(w)) for column, w in ways.items()}
    return found


class _World:
    """Rows of the tables, drawn at random, and the results of a query over them."""

    def __init__(self, store: sqlite3.Connection, rng: random.Random) -> None:
        self._store = store
        self._rng = rng
        values = rng.choice([range(2), range(4), range(9), (2, 5, 7), (0, 1, 2, 3, 7)])
        self._domain = [*values, *([None] * rng.choice([0, 0, 1, 2]))]
        self._rows = {table: self._drawn(len(columns)) for table, columns in TABLES.items()}
        for table, rows in self._rows.items():
            self._fill(table, rows)

    def _drawn(self, width: int) -> Rows:
        count = self._rng.choice([0, 1, 2, 3, 5, 8, 13, 21])
        is_keyed = self._rng.random() < 0.5
        return [
            [
                place if is_keyed and not at else self._rng.choice(self._domain)
                for at in range(width)
            ]
            for place in range(count)
        ]

    def _fill(self, table: str, rows: Rows) -> None:
        self._store.execute(f"DELETE FROM {table}")
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._store.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def changes(self, sql: str, column: Column, count: int) -> Iterator[set[str]]:
        """The outputs that change with a column, one change of the column after the other."""
        table, name = column
        rows, place = self._rows[table], TABLES[table].index(name)
        if not rows:
            return
        before = _outputs(self._store, sql)
        for _ in range(count):
            changed = [list(row) for row in rows]
            for row in self._rng.sample(
                changed, self._rng.choice([1, 1, min(2, len(rows)), len(rows)])
            ):
                others = [other[place] for other in rows]
                row[place] = self._rng.choice([*self._domain, *others, 99, None])
            self._fill(table, changed)
            after = _outputs(self._store, sql)
            yield {output for output in before if before[output] != after[output]}
        self._fill(table, rows)


def _outputs(store: sqlite3.Connection, sql: str) -> dict[str, Counter[object]]:
    """The values of each output, and the rows."""
    cursor = store.execute(sql)
    names = [column[0] for column in cursor.description or []]
    rows = cursor.fetchall()
    found = {name: Counter(row[place] for row in rows) for place, name in enumerate(names)}
    return {**found, WHOLE: Counter(rows)}


def origins_by_execution(sql: str, named: Ways, rng: random.Random) -> tuple[Origins, bool]:
    """The columns with which a change was seen in each output, and whether no output had a row.

    ``named`` is what to look for longer.
    """
    found: Origins = {name: set() for name in named}
    is_empty = True
    plain = parse_one(sql, dialect="duckdb").sql(dialect="sqlite")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        for table, columns in TABLES.items():
            store.execute(f"CREATE TABLE {table} ({', '.join(f'{c} INTEGER' for c in columns)})")
        every = [(table, column) for table, columns in TABLES.items() for column in columns]
        for number in range(_WORLDS + _WORLDS_MORE):
            wanted = {o for name, origins in named.items() for o in origins.keys() - found[name]}
            if number >= _WORLDS and not wanted:
                break
            world = _World(store, rng)
            is_empty = is_empty and not _outputs(store, plain)[WHOLE]
            for column in every if number < _WORLDS else sorted(wanted):
                for outputs in world.changes(plain, column, _CHANGES):
                    for name in outputs:
                        found[name].add(column)
    return found, is_empty


def compare(seed: int, tally: Tally) -> None:
    """Add to the tally what one random query shows."""
    rng = random.Random(seed)
    sql, _ = Generator(rng).query()
    ways = origins_by_lineage(sql)
    shown, is_empty = origins_by_execution(sql, ways, rng)
    if is_empty:
        tally.empty += sum(map(len, ways.values()))
        return
    for name, origins in shown.items():
        said = ways[name]
        tally.named += len(said)
        for column in sorted(said.keys() - origins):
            tally.hidden.append((said[column], f"seed {seed}: {name} <- {column}: {sql}"))
        if name != WHOLE:
            missed = origins - said.keys() - ways[WHOLE].keys()
            tally.missed += [f"seed {seed}: {name} <- {column}: {sql}" for column in missed]


def main() -> None:
    """Compare the seeds of the command line, and exit with 1 for a miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0..200", help="first..last, the last one excluded")
    parser.add_argument("--hidden", action="store_true", help="show what execution did not show")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("..")
    tally = Tally()
    for seed in range(int(first), int(last)):
        compare(seed, tally)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{seed} {len(tally.missed)} missed")
    sys.stdout.write("\n".join(tally.report(with_hidden=given.hidden)) + "\n")
    sys.exit(1 if tally.missed else 0)


if __name__ == "__main__":
    main()
