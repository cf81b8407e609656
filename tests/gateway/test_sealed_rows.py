"""Rows by key out of decoded row groups are those that the store gives, whatever happens between.

The oracle is the same question asked so that no key is seen in it: ``k + 0 = ?``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.schema import Table, TableName
from journal.stores.embedded import sealed_rows
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.rows_at_hand import RowsAtHand
from tests.support.tiers import in_tiers

ROWS = 1200
"""More than a commit may have to stay in memory as it was written."""
KEYS = [*range(-3, 200), *range(ROWS - 50, ROWS + 10)]
Step = Callable[[Connection, random.Random], object]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are decoded the first time they are asked for."""
    monkeypatch.setattr(sealed_rows, "_ASKED_MIN", 1)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"palimpsest:///{tmp_path / 'w'}"


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with gateway.connect(url, autocommit=True) as opened:
        make(opened)
        yield opened


def make(connection: Connection) -> None:
    """A table whose rows are sealed."""
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, n INTEGER)")
    connection.execute(f"INSERT INTO t SELECT i, 'v' || i, 0 FROM range({ROWS}) AS r(i)")
    connection.execute("CALL system.flush()")


def at_hand(connection: Connection) -> RowsAtHand:
    journal = connection.session.journal
    assert isinstance(journal, Journal)
    return journal.in_memory


def is_known(connection: Connection, key: int) -> bool:
    """True if a row is found without the store."""
    transaction = connection.session.new_transaction()
    table = transaction.catalog.get(TableName("main", "t"))
    assert isinstance(table, Table)
    try:
        return at_hand(connection).seen_by(transaction, table, (key,)) is not None
    finally:
        transaction.rollback()


def by_key(connection: Connection, key: object, columns: str = "*") -> list[Any]:
    return connection.execute(f"SELECT {columns} FROM t WHERE k = ?", (key,)).fetchall()


def by_scan(connection: Connection, key: object) -> list[Any]:
    return connection.execute("SELECT * FROM t WHERE k + 0 = ?", (key,)).fetchall()


def key(dice: random.Random) -> int:
    return dice.choice(KEYS)


def put(connection: Connection, dice: random.Random) -> object:
    sql = "INSERT INTO t VALUES (?, 'put', 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1"
    return connection.execute(sql, (key(dice),))


def change(connection: Connection, dice: random.Random) -> object:
    sql = "UPDATE t SET n = ?, v = 'x' WHERE k = ?"
    return connection.execute(sql, (dice.randrange(99), key(dice)))


def change_many(connection: Connection, dice: random.Random) -> object:
    return connection.execute("UPDATE t SET n = n + 1 WHERE k % 7 = ?", (dice.randrange(7),))


def move(connection: Connection, dice: random.Random) -> object:
    return connection.execute("UPDATE t SET k = k + 10000 WHERE k = ?", (key(dice),))


def remove(connection: Connection, dice: random.Random) -> object:
    return connection.execute("DELETE FROM t WHERE k = ?", (key(dice),))


def remove_many(connection: Connection, dice: random.Random) -> object:
    low = key(dice)
    return connection.execute("DELETE FROM t WHERE k BETWEEN ? AND ?", (low, low + 5))


def flush(connection: Connection, dice: random.Random) -> object:
    return connection.execute("CALL system.flush()")


def compact(connection: Connection, dice: random.Random) -> object:
    return connection.execute("CALL system.compact('t')")


def define(connection: Connection, dice: random.Random) -> object:
    return connection.execute("CREATE OR REPLACE TABLE other (i INTEGER)")


def rolled_back(connection: Connection, dice: random.Random) -> object:
    connection.execute("BEGIN")
    try:
        remove_many(connection, dice)
        change(connection, dice)
        for one in dice.sample(KEYS, 6):
            assert by_key(connection, one) == by_scan(connection, one)
    finally:
        connection.execute("ROLLBACK")
    return None


STEPS: list[Step] = [put, change, change_many, move, remove, remove_many, flush, compact, define]


@pytest.mark.long
@pytest.mark.parametrize("seed", in_tiers(range(3), {0}))
def test_what_is_read_by_key_is_what_a_scan_finds(
    connection: Connection, url: str, seed: int
) -> None:
    dice = random.Random(seed)
    hits = 0
    with gateway.connect(url, autocommit=True) as reader:
        for _ in range(45):
            dice.choice([*STEPS, rolled_back, put, change])(connection, dice)
            if dice.random() < 0.2:
                # Its transaction goes on seeing what it saw.
                reader.execute("COMMIT" if reader.session.in_transaction else "BEGIN")
            for one in dice.sample(KEYS, 4):
                expected = by_scan(connection, one)
                assert by_key(connection, one) == expected
                assert by_key(connection, one, "n, v") == [(n, v) for _, v, n in expected]
                assert by_key(reader, one) == by_scan(reader, one)
            hits += len(at_hand(connection).sealed)
    assert hits


def test_a_look_up_that_was_asked_before_needs_no_store(connection: Connection) -> None:
    assert by_key(connection, 5) == [(5, "v5", 0)]
    assert is_known(connection, 5)
    assert by_key(connection, ROWS + 5) == []
    assert is_known(connection, ROWS + 5)
    connection.execute("UPDATE t SET n = 1 WHERE k = 7")
    assert is_known(connection, 6)
    connection.execute("CALL system.flush()")
    assert is_known(connection, 6)


def test_what_a_head_held_before_the_start_is_asked_of_the_store(url: str) -> None:
    with gateway.connect(url, autocommit=True) as first:
        make(first)
        first.execute("UPDATE t SET n = 9 WHERE k = 7")
    with gateway.connect(url, autocommit=True) as again:
        assert by_key(again, 7) == [(7, "v7", 9)]
        assert not is_known(again, 6)
        again.execute("CALL system.flush()")
        again.execute("UPDATE t SET n = 1 WHERE k = 8")
        assert by_key(again, 7) == [(7, "v7", 9)]
        assert is_known(again, 7)


def test_erased_rows_are_shown_to_nobody(connection: Connection) -> None:
    assert by_key(connection, 5)
    connection.execute("ERASE FROM t WHERE k = 5")
    assert by_key(connection, 5) == []
    connection.execute("CALL system.purge()")
    assert by_key(connection, 5) == []
    assert by_key(connection, 6) == [(6, "v6", 0)]


def test_a_removed_file_is_missed_though_its_rows_are_in_memory(
    connection: Connection, tmp_path: Path
) -> None:
    assert by_key(connection, 5) == by_key(connection, 5)
    for file in (tmp_path / "w").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(gateway.Error) as caught:
        by_key(connection, 5)
    assert caught.value.code == "PAL-503"


def test_a_role_sees_what_its_policy_leaves(connection: Connection) -> None:
    connection.execute("CREATE ROLE ann; GRANT SELECT ON t TO ann")
    connection.execute("ALTER TABLE t SET ROW POLICY (k < 6)")
    assert [by_key(connection, one) for one in (5, 6)] == [[(5, "v5", 0)], [(6, "v6", 0)]]
    connection.execute("SET ROLE ann")
    assert [by_key(connection, one) for one in (5, 6)] == [[(5, "v5", 0)], []]
