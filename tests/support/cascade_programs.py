"""Random schemas with foreign keys that act, and random statements over them.

Each is a table of two or three columns that others refer to, or that refers to itself. Statements
keep to what PostgreSQL settles whatever the order of its triggers: values are unique where others
refer to them, and no column belongs to two foreign keys.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

TABLES = 4
ACTIONS = ("", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION")
DEFERRALS = ("", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED")
KEYS = 6


def schema(rng: random.Random) -> list[str]:
    """CREATE TABLE statements, parents first."""
    statements = []
    for number in range(TABLES):
        columns = ["k INTEGER PRIMARY KEY", "u INTEGER UNIQUE", "n INTEGER"]
        parents = [p for p in range(number) if rng.random() < 0.7]
        if rng.random() < 0.3:
            parents.append(number)
        for parent in parents:
            default = rng.choice(["", "", f" DEFAULT {rng.randrange(KEYS)}"])
            null = rng.choice([" NOT NULL", "", "", "", "", ""]) if parent != number else ""
            columns.append(
                f"r{parent} INTEGER{default}{null} REFERENCES t{parent} ({rng.choice('kku')})"
                f"{_actions(rng)}{rng.choice(DEFERRALS)}"
            )
        statements.append(f"CREATE TABLE t{number} ({', '.join(columns)})")
    return statements


def _actions(rng: random.Random) -> str:
    found = [f" ON {event} {action}" for event in ("DELETE", "UPDATE")
             if (action := rng.choice(ACTIONS))]  # fmt: skip
    return "".join(found)


def statements(rng: random.Random, created: list[str], count: int) -> Iterator[str]:
    """Statements over the tables of such a schema."""
    references = [[p for p in range(TABLES) if f"r{p} " in text] for text in created]
    inside = False
    for _ in range(count):
        if rng.random() < 0.15:
            yield "COMMIT" if inside else "BEGIN"
            inside = not inside
            continue
        if inside and rng.random() < 0.1:
            yield f"SET CONSTRAINTS ALL {rng.choice(['DEFERRED', 'DEFERRED', 'IMMEDIATE'])}"
            continue
        number = rng.randrange(TABLES)
        columns = ["k", "u", "n", *(f"r{p}" for p in references[number])]
        key = rng.randrange(KEYS)
        kind = rng.random()
        if kind < 0.5:
            values = [str(key), *(_value(rng) for _ in columns[1:])]
            yield f"INSERT INTO t{number} ({', '.join(columns)}) VALUES ({', '.join(values)})"
        elif kind < 0.7:
            name = rng.choice([c for c in columns if c != "n"])
            yield f"UPDATE t{number} SET {name} = {_value(rng)}, n = {key} WHERE k = {key}"
        elif kind < 0.8:
            yield f"UPDATE t{number} SET k = k + 10, u = u + 10 WHERE k < {rng.randrange(3)}"
        elif kind < 0.95:
            yield f"DELETE FROM t{number} WHERE k = {key}"
        else:
            yield f"DELETE FROM t{number} WHERE k < {key}"


def _value(rng: random.Random) -> str:
    return rng.choice(["NULL", *map(str, range(KEYS))])
