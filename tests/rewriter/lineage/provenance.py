"""Provenance by execution: whose cells, when changed, change a column of a query or of a table?

Random queries, and random statements that write, run in SQLite over worlds of two tables: few rows
or many, with NULLs, with values that repeat, with a table that is empty. A column of a table gets
other values in one cell, in two or in all; a column of the result, or of the table that is written,
whose values change then comes from it. What lineage says must name every such column, or say that
it decides about the rows; a miss is a defect. What it names besides is tried in many more worlds,
and counted as an edge too many if none of them shows it, by the way in which the column should
count. A query that gives no row in any world shows nothing, and is counted by itself.

    python -m tests.rewriter.lineage.provenance --seeds 0..2000
    python -m tests.rewriter.lineage.provenance --seeds 0..2000 --statements
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from sqlglot import parse_one

from rewriter.lineage.sources import WHOLE
from rewriter.lineage.statements import lineage_of
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import row_sources, targets_by_table
from tests.rewriter.lineage.random_queries import TABLES, Generator, as_run, as_said
from tests.rewriter.lineage.random_statements import ALL, RandomStatement, random_statement

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


def origins_of_tables(statement: RandomStatement) -> Ways:
    """The columns that lineage names for each column that a statement writes, as above."""
    tables = KnownTables(statement.dialect, columns=dict(ALL))
    targets = lineage_of(parse_one(statement.text, dialect=statement.dialect), tables)
    assert all(t.unknown is None for t in targets), targets
    found: Ways = {f"{t}.{c}": {} for t in statement.observed for c in (*ALL[t], WHOLE)}
    for table, written in targets_by_table(targets).items():
        if table not in statement.observed:
            continue
        shared = row_sources(written)
        sources = {t.column: [s for s in t.sources if s not in shared] for t in written}
        sources[WHOLE] = [*shared, *sources.get(WHOLE, ())]
        for column, named in sources.items():
            ways: dict[Column, set[str]] = {}
            for source in named:
                ways.setdefault((source.table, source.column), set()).add(source.subtype)
            found[f"{table}.{column}"] = {c: " and ".join(sorted(w)) for c, w in ways.items()}
    return found


def _through_itself(name: str, ways: Ways) -> set[Column]:
    """What a column comes from, also by another column of its table: rows of one statement may
    change the same row one after the other."""
    found, rest = set[Column](), list(ways[name])
    while rest:
        column = rest.pop()
        if column not in found:
            found.add(column)
            rest += ways.get(".".join(column), {})
    return found


Outputs = Callable[[sqlite3.Connection], dict[str, Counter[object]]]
"""The values of each output, and the rows."""


class _World:
    """Rows of the tables, drawn at random, and the outputs that come of them."""

    def __init__(self, store: sqlite3.Connection, rng: random.Random) -> None:
        self._store = store
        self._rng = rng
        values = rng.choice([range(2), range(4), range(9), (2, 5, 7), (0, 1, 2, 3, 7)])
        self._domain = [*values, *([None] * rng.choice([0, 0, 1, 2]))]
        self._rows = {table: self._drawn(len(columns)) for table, columns in ALL.items()}
        _without_repeats(self._rows["d"])
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

    def changes(self, outputs: Outputs, column: Column, count: int) -> Iterator[set[str]]:
        """The outputs that change with a column, one change of the column after the other."""
        table, name = column
        rows, place = self._rows[table], ALL[table].index(name)
        if not rows:
            return
        before = outputs(self._store)
        for _ in range(count):
            changed = [list(row) for row in rows]
            for row in self._rng.sample(
                changed, self._rng.choice([1, 1, min(2, len(rows)), len(rows)])
            ):
                others = [other[place] for other in rows]
                row[place] = self._rng.choice([*self._domain, *others, 99, None])
            if table == "d":
                _without_repeats(changed)
            self._fill(table, changed)
            after = outputs(self._store)
            yield {output for output in before if before[output] != after[output]}
        self._fill(table, rows)


def _without_repeats(rows: Rows) -> None:
    """Keep each value of the first column once."""
    seen: set[int | None] = set()
    for row in rows:
        row[0] = None if row[0] in seen else row[0]
        seen.add(row[0])


def _of_query(store: sqlite3.Connection, sql: str) -> dict[str, Counter[object]]:
    cursor = store.execute(sql)
    names = [column[0] for column in cursor.description or []]
    rows = cursor.fetchall()
    found = {name: Counter(row[place] for row in rows) for place, name in enumerate(names)}
    return {**found, WHOLE: Counter(rows)}


def _of_tables(
    store: sqlite3.Connection, run: Sequence[str], observed: Sequence[str]
) -> dict[str, Counter[object]]:
    """What tables hold after some statements, which are undone."""
    store.execute("BEGIN")
    try:
        for sql in run:
            store.execute(sql)
        return {
            f"{table}.{name}": values
            for table in observed
            for name, values in _of_query(store, f"SELECT * FROM {table}").items()
        }
    finally:
        store.execute("ROLLBACK")


def origins_by_execution(
    outputs: Outputs, named: Ways, rng: random.Random, varied: Sequence[str] = tuple(TABLES)
) -> tuple[Origins, bool]:
    """The columns with which a change was seen in each output, and whether no output had a row.

    ``named`` is what to look for longer, ``varied`` are the tables whose columns are changed.
    """
    found: Origins = {name: set() for name in named}
    is_empty = True
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        for table, columns in ALL.items():
            store.execute(f"CREATE TABLE {table} ({', '.join(f'{c} INTEGER' for c in columns)})")
        store.execute("CREATE UNIQUE INDEX d_k ON d (k)")
        every = [(table, column) for table in varied for column in ALL[table]]
        for number in range(_WORLDS + _WORLDS_MORE):
            wanted = {o for name, origins in named.items() for o in origins.keys() - found[name]}
            wanted &= {*every}
            if number >= _WORLDS and not wanted:
                break
            world = _World(store, rng)
            is_empty = is_empty and not any(outputs(store).values())
            for column in every if number < _WORLDS else sorted(wanted):
                for changed in world.changes(outputs, column, _CHANGES):
                    for name in changed:
                        found[name].add(column)
    return found, is_empty


def compare(seed: int, tally: Tally) -> None:
    """Add to the tally what one random query shows."""
    rng = random.Random(seed)
    drawn, _ = Generator(rng).query()
    sql = as_said(drawn)
    plain = _for_sqlite(as_run(drawn))
    ways = origins_by_lineage(sql)
    shown = origins_by_execution(lambda store: _of_query(store, plain), ways, rng)
    _add(tally, f"seed {seed}: {sql}", ways, *shown, tuple(TABLES))


def compare_statement(seed: int, tally: Tally) -> None:
    """Add to the tally what one random statement that writes shows."""
    rng = random.Random(seed)
    statement = random_statement(rng)
    run = [sql if "ON CONFLICT" in sql else _for_sqlite(sql) for sql in statement.run]
    ways = origins_of_tables(statement)
    shown = origins_by_execution(
        lambda store: _of_tables(store, run, statement.observed), ways, rng, statement.varied
    )
    _add(tally, f"seed {seed}: {statement.text}", ways, *shown, statement.varied)


def _for_sqlite(sql: str) -> str:
    return parse_one(sql, dialect="duckdb").sql(dialect="sqlite")


def _add(
    tally: Tally, what: str, ways: Ways, shown: Origins, is_empty: bool, varied: Sequence[str]
) -> None:
    if is_empty:
        tally.empty += sum(map(len, ways.values()))
        return
    for name, origins in shown.items():
        said = {c: way for c, way in ways[name].items() if c[0] in varied}
        table, dot, _ = name.rpartition(".")
        rows = f"{table}{dot}{WHOLE}"
        tally.named += len(said)
        for column in sorted(said.keys() - origins):
            tally.hidden.append((said[column], f"{name} <- {column}: {what}"))
        if name != rows:
            missed = origins - _through_itself(name, ways) - _through_itself(rows, ways)
            tally.missed += [f"{name} <- {column}: {what}" for column in missed]


def main() -> None:
    """Compare the seeds of the command line, and exit with 1 for a miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0..200", help="first..last, the last one excluded")
    parser.add_argument("--hidden", action="store_true", help="show what execution did not show")
    about = "compare statements that write, instead of queries"
    parser.add_argument("--statements", action="store_true", help=about)
    given = parser.parse_args()
    compared = compare_statement if given.statements else compare
    first, _, last = given.seeds.partition("..")
    tally = Tally()
    for seed in range(int(first), int(last)):
        compared(seed, tally)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{seed} {len(tally.missed)} missed")
    sys.stdout.write("\n".join(tally.report(with_hidden=given.hidden)) + "\n")
    sys.exit(1 if tally.missed else 0)


if __name__ == "__main__":
    main()
