"""A transaction of many small statements reads what it has written, as a mutable table would."""

from __future__ import annotations

import random

import pytest

from gateway.dbapi.connection import Connection
from gateway.errors import IntegrityError
from tests.support.kept import rows
from tests.support.stores.store import Store

_STATEMENTS = 90
"""More than a store is shown of a transaction's rows as they are."""


def _change(con: Connection, chance: random.Random, there: dict[str, int]) -> None:
    """Run one statement at random, on a table and on what it should hold."""
    key, number = f"k{chance.randrange(60)}", chance.randrange(1000)
    match chance.randrange(6):
        case 0 if key in there:
            with pytest.raises(IntegrityError):
                con.execute("INSERT INTO t VALUES (?, ?)", (key, number))
            return
        case 0 | 1:
            upsert = "ON CONFLICT (k) DO UPDATE SET v = excluded.v"
            con.execute(f"INSERT INTO t VALUES (?, ?) {upsert}", (key, number))
            there[key] = number
        case 2:
            con.execute("DELETE FROM t WHERE k = ?", (key,))
            there.pop(key, None)
        case 3 if key in there and (moved := f"m{number}") not in there:
            con.execute("UPDATE t SET k = ? WHERE k = ?", (moved, key))
            there[moved] = there.pop(key)
        case _:
            con.execute("UPDATE t SET v = v + ? WHERE k = ?", (number, key))
            if key in there:
                there[key] += number
    expected = [(there[key],)] if key in there else []
    assert con.execute("SELECT v FROM t WHERE k = ?", (key,)).fetchall() == expected


@pytest.mark.also_on("hive")
def test_many_statements(store: Store) -> None:
    con, chance = store.connect(), random.Random(5)
    con.execute("CREATE TABLE t (k VARCHAR PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES ('k1', 1), ('k2', 2), ('k3', 3)")
    there = {"k1": 1, "k2": 2, "k3": 3}
    con.execute("BEGIN")
    for number in range(_STATEMENTS):
        con.execute("SAVEPOINT s")
        before = dict(there)
        try:
            _change(con, chance, there)
        finally:
            if number % 7 == 3 or there == before:
                con.execute("ROLLBACK TO s")
                there.clear()
                there |= before
    assert rows(con, "SELECT k, v FROM t ORDER BY k") == sorted(there.items())
    con.execute("COMMIT")
    assert rows(con, "SELECT k, v FROM t ORDER BY k") == sorted(there.items())
