"""Conditions on keys and other columns, however they are bracketed: SQLite is the oracle."""

from __future__ import annotations

import random
import sqlite3

import pytest

from tests.support.stores.store import Store

_TEXTS, _REPEATS = 15, 3
"""A statement that comes again is planned on rows in memory."""
_COLUMNS: dict[str, list[object]] = {"a": [1, 2], "b": ["x", "y"], "n": [0, 1], "v": ["x", "y"]}
_MADE = (
    "CREATE TABLE t (a INTEGER, b VARCHAR(5), n INTEGER, v VARCHAR(5), PRIMARY KEY ({}))",
    "INSERT INTO t VALUES (1, 'x', 0, 'x'), (2, 'y', 1, 'y')",
)
_CHANGES = ("UPDATE t SET v = 'z' WHERE {}", "UPDATE t SET n = n + 1 WHERE {}")
_CHANGES += ("DELETE FROM t WHERE {}",)


def _condition(chance: random.Random, key: list[str]) -> tuple[str, list[str]]:
    """A condition that gives a whole key, and mostly more; the columns of its parameters."""
    others = [name for name in _COLUMNS if name not in key]
    names = [*key, *chance.sample(others, chance.randint(0, len(others)))]
    chance.shuffle(names)
    parts = [(f"{name} = ?", [name]) for name in names]
    while len(parts) > 1:
        place = chance.randrange(len(parts) - 1)
        (one, these), (other, those) = parts[place : place + 2]
        joined = f"{one} AND {other}"
        parts[place : place + 2] = [
            (f"({joined})" if chance.random() < 0.7 else joined, these + those)
        ]
    return parts[0]


@pytest.mark.also_on("hive")
@pytest.mark.parametrize("key", [["a"], ["a", "b"]], ids=",".join)
def test_a_key_among_other_conditions(store: Store, key: list[str]) -> None:
    con, chance, oracle = store.connect(), random.Random(3), sqlite3.connect(":memory:")
    for statement in _MADE:
        con.execute(statement.format(", ".join(key)))
        oracle.execute(statement.format(", ".join(key)))
    oracle.commit()
    for _ in range(_TEXTS):
        where, names = _condition(chance, key)
        change = chance.choice(_CHANGES).format(where)
        read = f"SELECT n, v FROM t WHERE {where}"
        for _ in range(_REPEATS):
            values = [chance.choice(_COLUMNS[name]) for name in names]
            asked = con.execute(read, values).fetchall(), oracle.execute(read, values).fetchall()
            assert asked[0] == asked[1], (read, values)
            con.execute("BEGIN")
            counts = con.execute(change, values).rowcount, oracle.execute(change, values).rowcount
            assert counts[0] == counts[1], (change, values)
            con.execute("ROLLBACK")
            oracle.rollback()
    oracle.close()
