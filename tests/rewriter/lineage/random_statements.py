"""Random statements that write two small tables, for comparing lineage with execution."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.rewriter.lineage.random_queries import TABLES, Generator

TARGETS = {"d": ("k", "p", "q"), "e": ("p", "q")}
"""Tables that statements write; ``k`` has each value once, or is NULL."""
ALL = {**TABLES, **TARGETS}


@dataclass(frozen=True)
class RandomStatement:
    """A statement, and what SQLite runs in its place.

    ``varied`` are the tables that it reads and whose cells may be changed: a change of a table that
    is written shows itself. ``observed`` are the tables it writes.
    """

    text: str
    run: tuple[str, ...]
    dialect: str = "duckdb"
    varied: tuple[str, ...] = tuple(TABLES)
    observed: tuple[str, ...] = ("d", "e")


def random_statement(rng: random.Random) -> RandomStatement:
    """Any statement that writes."""
    made = rng.choice([_insert, _upsert, _update, _delete, _merge, _multi_insert, _returning])
    return made(Generator(rng), rng)


def _insert(draw: Generator, rng: random.Random) -> RandomStatement:
    """INSERT of a UNION by position, of two columns in any order."""
    columns = rng.sample(["p", "q"], 2)
    sides = [_two(draw) for _ in range(2)]
    text = f"INSERT INTO e ({', '.join(columns)}) {' UNION ALL '.join(sides)}"
    return RandomStatement(text, (text,))


def _two(draw: Generator) -> str:
    """A SELECT of two values of a table."""
    table = draw.rng.choice(list(TABLES))
    columns = [f"n.{c}" for c in TABLES[table]]
    where = f" WHERE {draw.condition(columns)}"
    return f"SELECT {draw.value(columns)} AS v, {draw.value(columns)} AS w FROM {table} AS n{where}"


def _upsert(draw: Generator, rng: random.Random) -> RandomStatement:
    """INSERT .. ON CONFLICT DO UPDATE, with a condition or without."""
    value = rng.choice(["excluded.p", "excluded.q + d.p", "coalesce(excluded.q, d.q)", "7"])
    where = rng.choice(["", " WHERE excluded.p > 1", " WHERE d.q < excluded.q"])
    text = (
        f"INSERT INTO d (k, p, q) SELECT s.id, s.a, s.b FROM s WHERE {draw.condition(['s.c'])}"
        f" ON CONFLICT (k) DO UPDATE SET {rng.choice(['p', 'q'])} = {value}{where}"
    )
    return RandomStatement(text, (text,))


def _update(draw: Generator, rng: random.Random) -> RandomStatement:
    """UPDATE .. FROM one table or a join, or with subqueries alone."""
    kind = rng.random()
    if kind < 0.4:
        text = (
            f"UPDATE d SET p = {draw.scalar(['s.a', 's.b', 'd.q'])} FROM s"
            f" WHERE s.id = d.k AND {draw.condition(['s.c', 'd.p'])}"
        )
    elif kind < 0.7:
        text = (
            "UPDATE d SET p = s.a, q = t.u FROM s JOIN t ON t.id = s.b"
            f" WHERE s.id = d.k AND {draw.condition(['t.v', 's.c'])}"
        )
    else:
        text = (
            f"UPDATE d SET p = {draw.scalar(['d.p', 'd.q'])}, q = (SELECT max(s.b) FROM s"
            f" WHERE s.a = d.k) WHERE {draw.condition(['d.q', 'd.p'])}"
        )
    return RandomStatement(text, (text,))


def _delete(draw: Generator, rng: random.Random) -> RandomStatement:
    """DELETE with subqueries, or USING another table."""
    table, columns = rng.choice([("s", ["s.a", "s.b"]), ("t", ["t.u", "t.v"])])
    condition = f"{table}.id = d.k AND {draw.condition(columns)}"
    text = f"DELETE FROM d USING {table} WHERE {condition}"
    run = f"DELETE FROM d WHERE EXISTS (SELECT 1 FROM {table} WHERE {condition})"
    return RandomStatement(text if rng.random() < 0.5 else run, (run,))


def _merge(draw: Generator, rng: random.Random) -> RandomStatement:
    """MERGE that updates or deletes what is there, and inserts what is not."""
    matched, missing = draw.condition(["s.b"]), draw.condition(["s.c"])
    value = draw.scalar(["s.a", "s.b", "d.q"])
    same = "s.id = d.k"
    action, instead = rng.choice(
        [
            (
                f"UPDATE SET p = {value}",
                f"UPDATE d SET p = {value} FROM s WHERE {same} AND {matched}",
            ),
            (
                "DELETE",
                f"DELETE FROM d WHERE EXISTS (SELECT 1 FROM s WHERE {same} AND {matched})",
            ),
        ]
    )
    text = (
        f"MERGE INTO d USING s ON {same} WHEN MATCHED AND {matched} THEN {action}"
        f" WHEN NOT MATCHED AND {missing} THEN INSERT (p, q) VALUES (s.a, s.b)"
    )
    insert = (
        "INSERT INTO d (p, q) SELECT s.a, s.b FROM s"
        f" WHERE NOT EXISTS (SELECT 1 FROM d WHERE {same}) AND {missing}"
    )
    return RandomStatement(text, (insert, instead))


def _multi_insert(draw: Generator, rng: random.Random) -> RandomStatement:
    """Hive's FROM .. INSERT .. INSERT .. over one query."""
    source = f"(SELECT a AS x, b AS y, c AS z FROM s WHERE {draw.condition(['id', 'a'])}) AS f"
    parts = []
    for table in ("d", "e"):
        columns = rng.sample(["x", "y", "z"], 2)
        where = f" WHERE {draw.condition(['f.x', 'f.z'])}" if rng.random() < 0.5 else ""
        parts.append((table, columns, where))
    said = [f"INSERT INTO {t} (p, q) SELECT f.{x}, f.{y}{w}" for t, (x, y), w in parts]
    run = tuple(
        f"INSERT INTO {t} (p, q) SELECT f.{x}, f.{y} FROM {source}{w}" for t, (x, y), w in parts
    )
    return RandomStatement(f"FROM {source} {' '.join(said)}", run, "hive")


def _returning(draw: Generator, rng: random.Random) -> RandomStatement:
    """An UPDATE or DELETE in a WITH, whose RETURNING another table takes."""
    condition = draw.condition(["d.k", "d.p"])
    if rng.random() < 0.5:
        text = (
            f"WITH w AS (DELETE FROM d WHERE {condition} RETURNING p, q)"
            " INSERT INTO e (p, q) SELECT q, p + 1 FROM w"
        )
        run = f"INSERT INTO e (p, q) SELECT q, p + 1 FROM d WHERE {condition}"
    else:
        text = (
            f"WITH w AS (UPDATE d SET q = 1 FROM s WHERE s.id = d.k AND {condition}"
            " RETURNING d.p, s.a) INSERT INTO e (p, q) SELECT p, a FROM w"
        )
        # One row of s for each row of d.
        run = (
            "INSERT INTO e (p, q) SELECT d.p, max(s.a) FROM d JOIN s ON s.id = d.k"
            f" WHERE {condition} GROUP BY d.rowid"
        )
    return RandomStatement(text, (run,), "postgres", (*TABLES, "d"), ("e",))
