"""Random queries over two small tables of integers, for comparing lineage with execution.

What SQLite does not have stands beside an equivalent that it has: ``a LATERAL join`` beside a
subquery in its place.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

TABLES = {"s": ("id", "a", "b", "c"), "t": ("id", "u", "v")}
_LIMITS = 4
"""Conditions compare with integers below this; values of the tables reach further."""
_EITHER = re.compile(r"\[\[(.*?)\|\|(.*?)\]\]")


def either(said: str, run: str) -> str:
    """Two texts that mean the same: one for lineage, one for SQLite."""
    return f"[[{said}||{run}]]"


def as_said(sql: str) -> str:
    """The text that lineage reads."""
    return _EITHER.sub(r"\1", sql)


def as_run(sql: str) -> str:
    """The text that SQLite runs."""
    return _EITHER.sub(r"\2", sql)


@dataclass
class Generator:
    """Random queries whose outputs are integers; ``as_said`` and ``as_run`` give their texts."""

    rng: random.Random
    count: int = 0
    depth: int = 0

    def name(self) -> str:
        """A name that nothing has."""
        self.count += 1
        return f"n{self.count}"

    def pick(self, columns: list[str], count: int) -> list[str]:
        """Some columns, different ones where there are as many: ``a <> a`` hides everything."""
        enough = columns * -(-count // len(columns))
        return self.rng.sample(enough if len(columns) < count else columns, count)

    def query(self) -> tuple[str, list[str]]:
        """A query and its columns."""
        self.depth += 1
        kind = self.rng.random()
        if self.depth < 3 and kind < 0.2:
            found = self.union()
        elif self.depth < 3 and kind < 0.35:
            found = self.with_clause()
        elif self.depth < 3 and kind < 0.42:
            found = self.recursive()
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

    def recursive(self) -> tuple[str, list[str]]:
        """A WITH that reads itself, from a query of two columns on."""
        name, one, two, alias = (self.name() for _ in range(4))
        table, (key, *others) = self.rng.choice([("s", ["id", "a", "b"]), ("t", ["id", "u", "v"])])
        first, second = self.pick(["id", "a", "b", "c"], 2)
        given = self.rng.choice([*(f"{alias}.{c}" for c in others), two])
        return (
            f"WITH RECURSIVE {name}({one}, {two}) AS (SELECT {first}, {second} FROM s"
            f" UNION SELECT {one} + 1, {given} FROM {name} JOIN {table} AS {alias}"
            f" ON {alias}.{key} = {self.rng.choice([one, two])} WHERE {one} < {_LIMITS})"
            f" SELECT {one}, {two} FROM {name}"
        ), [one, two]

    def using(self) -> tuple[str, list[str]]:
        """Both tables by the column that they share."""
        left, right = self.name(), self.name()
        kind = self.rng.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
        columns = ["id", *(f"{left}.{c}" for c in "abc"), *(f"{right}.{c}" for c in "uv")]
        return f"s AS {left} {kind} t AS {right} USING (id)", columns

    def lateral(self, columns: list[str]) -> tuple[str, str]:
        """A LATERAL item of one row, and its column."""
        alias = self.name()
        key = self.rng.choice([c for c in columns if not c.startswith("[[")])
        value = self.rng.choice(["max(q.u)", "sum(q.v)", "count(*)"])
        rows = f"FROM t AS q WHERE q.id = {key}"
        item = either(f", LATERAL (SELECT {value} AS z {rows}) AS {alias}", "")
        return item, either(f"{alias}.z", f"(SELECT {value} {rows})")

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
        source, columns = self.using() if self.rng.random() < 0.1 else self.relation()
        if "USING" not in source and self.rng.random() < 0.5:
            other, more = self.relation()
            kind = self.rng.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
            on = f"{self.rng.choice(columns)} = {self.rng.choice(more)}"
            source, columns = f"{source} {kind} {other} ON {on}", columns + more
        if self.rng.random() < 0.1:
            item, column = self.lateral(columns)
            source, columns = source + item, [*columns, column]
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
        word, end = "SELECT", ""
        if self.rng.random() < 0.1:
            word = "SELECT DISTINCT"
        elif self.rng.random() < 0.1:
            # Equal rows are the same row, whichever of them comes first; the lowest rank is 1.
            order = ", ".join(f"{name} DESC" for name in names)
            end = f" ORDER BY {order} LIMIT {self.rng.randint(2, _LIMITS)}"
        if self.rng.random() < 0.1:
            window, value = self.name(), self.rng.choice(columns)
            given[0] = f"sum({value}) OVER {window} AS {names[0]}"
            where += f" WINDOW {window} AS (PARTITION BY {self.rng.choice(columns)})"
        return f"{word} {', '.join(given)} FROM {source}{where}{end}", names

    def condition(self, columns: list[str]) -> str:
        """A condition on columns."""
        one, two = self.pick(columns, 2)
        return self.rng.choice(
            [
                f"{one} > {self.rng.randrange(_LIMITS)}",
                f"{one} <> {two}" if one != two else f"{one} <> 2",
                f"{one} IN (SELECT u FROM t WHERE v > 1)",
                f"EXISTS (SELECT 1 FROM s AS e WHERE e.a = {one})",
            ]
        )

    def aggregate(self, columns: list[str]) -> str:
        """An aggregate of columns."""
        one, two = self.pick(columns, 2)
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
        """A value of columns, or one that a window function gives."""
        one, two = self.pick(columns, 2)
        windows = [
            f"sum({one}) OVER (PARTITION BY {two})",
            f"rank() OVER (PARTITION BY {one} ORDER BY {two})",
            f"sum({one}) OVER (ORDER BY {two} DESC)",
        ]
        # A row has the rank 1 among those that are equal to it.
        is_window = one != two and self.rng.random() < 0.2
        return self.rng.choice(windows) if is_window else self.scalar(columns)

    def scalar(self, columns: list[str]) -> str:
        """A value of the columns of one row."""
        one, two, three = self.pick(columns, 3)
        return self.rng.choice(
            [
                one,
                one,
                f"{one} + {two}",
                f"coalesce({one}, {two})",
                f"CASE WHEN {one} > 1 THEN {two} ELSE {three} END",
                f"if({one} = {two}, {three}, 0)",
                f"(SELECT max(u) FROM t AS q WHERE q.id = {one})",
                f"(SELECT count(*) FROM s AS q WHERE q.b < {one})",
                "7",
            ]
        )
