"""Provenance by execution: whose cells, when changed, change a column of a query?

Random queries run in DuckDB over two small tables. Each cell of the tables takes other values, one
at a time; a column of the result whose values change then comes from the column of that cell. What
lineage says must name every such column (a miss is a defect); what it names besides is counted.

    python -m tests.rewriter.lineage.provenance --seeds 0..2000
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, field

import duckdb
from sqlglot import parse_one

from rewriter.lineage.statements import lineage_of
from rewriter.lineage.tables import KnownTables

TABLES = {"s": ("id", "a", "b", "c"), "t": ("id", "u", "v")}
_ROWS = 6
_VALUES = 4
_TRIES = 3
Origins = dict[str, set[tuple[str, str]]]


@dataclass
class Generator:
    """Random queries whose outputs are integers."""

    rng: random.Random
    count: int = 0
    depth: int = 0

    def name(self) -> str:
        """A name that nothing has."""
        self.count += 1
        return f"n{self.count}"

    def query(self) -> tuple[str, list[str]]:
        """A query and its columns."""
        self.depth += 1
        kind = self.rng.random()
        if self.depth < 3 and kind < 0.2:
            found = self.union()
        elif self.depth < 3 and kind < 0.35:
            found = self.with_clause()
        else:
            found = self.select()
        self.depth -= 1
        return found

    def union(self) -> tuple[str, list[str]]:
        """Branches of as many columns."""
        (left, columns), (right, others) = self.select(), self.select()
        width = min(len(columns), len(others))
        word = self.rng.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
        sides = [
            f"SELECT {', '.join(names[:width])} FROM ({sql}) AS {self.name()}"
            for sql, names in ((left, columns), (right, others))
        ]
        return f"{sides[0]} {word} {sides[1]}", columns[:width]

    def with_clause(self) -> tuple[str, list[str]]:
        """A common table expression, read once or twice."""
        sql, columns = self.query()
        name, one, two = self.name(), self.name(), self.name()
        if self.rng.random() < 0.5:
            chosen = self.rng.choice(columns)
            return (
                (
                    f"WITH {name} AS ({sql}) SELECT {one}.*, {two}.{chosen} AS {chosen}x"
                    f" FROM {name}"
                    f" AS {one} JOIN {name} AS {two} ON {one}.{columns[0]} = {two}.{columns[-1]}"
                ),
                [*columns, f"{chosen}x"],
            )
        return f"WITH {name} AS ({sql}) SELECT * FROM {name}", columns

    def relation(self) -> tuple[str, list[str]]:
        """An item of FROM and the columns under its alias."""
        alias = self.name()
        if self.depth < 3 and self.rng.random() < 0.3:
            sql, columns = self.query()
            return f"({sql}) AS {alias}", [f"{alias}.{c}" for c in columns]
        table = self.rng.choice(list(TABLES))
        return f"{table} AS {alias}", [f"{alias}.{c}" for c in TABLES[table]]

    def select(self) -> tuple[str, list[str]]:
        """A SELECT with what may go into one."""
        source, columns = self.relation()
        if self.rng.random() < 0.5:
            other, more = self.relation()
            kind = self.rng.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
            on = f"{self.rng.choice(columns)} = {self.rng.choice(more)}"
            source, columns = f"{source} {kind} {other} ON {on}", columns + more
        where = f" WHERE {self.condition(columns)}" if self.rng.random() < 0.4 else ""
        names = [self.name() for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.35:
            keys = [self.rng.choice(columns) for _ in names[:-1]]
            given = [f"{k} AS {n}" for k, n in zip(keys, names, strict=False)]
            given.append(f"{self.aggregate(columns)} AS {names[-1]}")
            group = f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else ""
            having = " HAVING count(*) > 1" if self.rng.random() < 0.2 else ""
            return f"SELECT {', '.join(given)} FROM {source}{where}{group}{having}", names
        given = [f"{self.value(columns)} AS {n}" for n in names]
        return f"SELECT {', '.join(given)} FROM {source}{where}", names

    def condition(self, columns: list[str]) -> str:
        """A condition on columns."""
        one, two = self.rng.choice(columns), self.rng.choice(columns)
        return self.rng.choice(
            [
                f"{one} > {self.rng.randrange(_VALUES)}",
                f"{one} <> {two}",
                f"{one} IN (SELECT u FROM t WHERE v > 1)",
                f"EXISTS (SELECT 1 FROM s AS e WHERE e.a = {one})",
            ]
        )

    def aggregate(self, columns: list[str]) -> str:
        """An aggregate of columns."""
        one, two = self.rng.choice(columns), self.rng.choice(columns)
        return self.rng.choice(
            [
                f"sum({one})",
                f"max({one} + {two})",
                "count(*)",
                f"count({one})",
                f"sum({one}) FILTER (WHERE {two} > 1)",
                f"sum(CASE WHEN {one} > 1 THEN {two} END)",
            ]
        )

    def value(self, columns: list[str]) -> str:
        """A value of columns."""
        one, two, three = (self.rng.choice(columns) for _ in range(3))
        return self.rng.choice(
            [
                one,
                one,
                f"{one} + {two}",
                f"coalesce({one}, {two})",
                f"CASE WHEN {one} > 1 THEN {two} ELSE {three} END",
                f"if({one} = {two}, {three}, 0)",
                f"sum({one}) OVER (PARTITION BY {two})",
                f"(SELECT max(u) FROM t AS q WHERE q.id = {one})",
                f"(SELECT count(*) FROM s AS q WHERE q.b < {one})",
                "7",
            ]
        )


@dataclass
class Tally:
    """How many pairs of columns lineage named, how many execution showed, and what it missed."""

    named: int = 0
    shown: int = 0
    missed: list[str] = field(default_factory=list)


def origins_by_lineage(sql: str) -> Origins:
    """The columns that lineage names for each output."""
    tables = KnownTables("duckdb", columns=dict(TABLES))
    targets = lineage_of(parse_one(f"CREATE TABLE r AS {sql}", dialect="duckdb"), tables)
    assert all(t.unknown is None for t in targets), targets
    return {t.column: {(s.table, s.column) for s in t.sources} for t in targets}


def origins_by_execution(sql: str, rng: random.Random) -> Origins:
    """The columns of whose cells a change was seen in each output."""
    with duckdb.connect() as store:
        for table, columns in TABLES.items():
            store.execute(f"CREATE TABLE {table} ({', '.join(f'{c} INTEGER' for c in columns)})")
            for _ in range(_ROWS):
                row = [rng.randrange(_VALUES) for _ in columns]
                store.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        names, before = _columns(store, sql)
        found: Origins = {name: set() for name in names}
        for table, columns in TABLES.items():
            for column in columns:
                for _ in range(_TRIES * _ROWS):
                    store.execute("BEGIN")
                    change = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                    store.execute(change, [rng.choice([*range(_VALUES), 9, None]), _row(rng)])
                    _, after = _columns(store, sql)
                    store.execute("ROLLBACK")
                    for name, one, two in zip(names, before, after, strict=True):
                        if one != two:
                            found[name].add((table, column))
    return found


def _row(rng: random.Random) -> int:
    return rng.randrange(_ROWS)


def _columns(store: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], list[Counter[object]]]:
    cursor = store.execute(sql)
    names = [column[0] for column in cursor.description or []]
    rows = cursor.fetchall()
    return names, [Counter(row[place] for row in rows) for place in range(len(names))]


def compare(seed: int, tally: Tally) -> None:
    """Add to the tally what one random query shows."""
    rng = random.Random(seed)
    sql, _ = Generator(rng).query()
    said, shown = origins_by_lineage(sql), origins_by_execution(sql, rng)
    for column, origins in shown.items():
        tally.named += len(said[column])
        tally.shown += len(origins)
        tally.missed += [f"seed {seed}: {column} <- {o}: {sql}" for o in origins - said[column]]


def main() -> None:
    """Compare the seeds of the command line, and exit with 1 for a miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0..200", help="first..last, the last one excluded")
    first, _, last = parser.parse_args().seeds.partition("..")
    tally = Tally()
    for seed in range(int(first), int(last)):
        compare(seed, tally)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{seed} {len(tally.missed)} missed")
    more = tally.named - tally.shown
    said = f"{tally.named} named, {tally.shown} shown, {len(tally.missed)} missed, {more} not shown"
    sys.stdout.write("\n".join([*tally.missed, said]) + "\n")
    sys.exit(1 if tally.missed else 0)


if __name__ == "__main__":
    main()
