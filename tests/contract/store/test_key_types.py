"""A key column gets the type of another whole number: before, after and between jobs.

``twin`` has the wider type from the beginning, and gets the same statements.
"""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)

BEFORE = (
    "INSERT INTO {} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, 1, 'd')",
    "UPDATE {} SET v = 'e' WHERE k = 3",
    "DELETE FROM {} WHERE k = 4",
)
BETWEEN = (
    "UPDATE {} SET v = 'f' WHERE k = 1",
    "INSERT INTO {} VALUES (5000000000, 1, 'g'), (4, 1, 'h')",
    "DELETE FROM {} WHERE k = 2",
    "INSERT INTO {} VALUES (3, 1, 'i') ON CONFLICT (k, l) DO UPDATE SET v = excluded.v",
)
AFTER = (
    "UPDATE {} SET v = 'j' WHERE k IN (3, 5000000000)",
    "DELETE FROM {} WHERE k = 1",
    "UPDATE {} SET k = 5000000001 WHERE k = 4",
)


def _both(con: Connection, *statements: str) -> None:
    for sql in statements:
        for name in ("t", "twin"):
            con.execute(sql.format(name))


def _rows(con: Connection, of: str) -> list[tuple[Any, ...]]:
    return con.execute(of + " ORDER BY k, l, v").fetchall()


def _check_same(con: Connection) -> None:
    found = _rows(con, "SELECT * FROM t")
    assert found == _rows(con, "SELECT * FROM twin")
    for k in (1, 3, 5000000000):
        read = f"SELECT * FROM t WHERE k = {k} AND l = 1"
        assert _rows(con, read) == [row for row in found if row[0] == k]


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_rows_are_those_of_a_table_that_always_had_the_type(store: Store) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INT, l SMALLINT, v VARCHAR, PRIMARY KEY (k, l))")
        con.execute("CREATE TABLE twin (k BIGINT, l INT, v VARCHAR, PRIMARY KEY (k, l))")
        _both(con, *BEFORE, "OPTIMIZE {}")
        con.execute("ALTER TABLE t ALTER COLUMN k TYPE BIGINT")
        _check_same(con)
        _both(con, *BETWEEN)
        _check_same(con)
        con.execute("ALTER TABLE t ALTER COLUMN l TYPE INT")
        _both(con, *AFTER)
        _check_same(con)
    with store.connect() as con:
        _check_same(con)
        _both(con, "OPTIMIZE {}")
        _check_same(con)
        versions = "SELECT * FROM {} FOR SYSTEM_TIME ALL"
        assert _rows(con, versions.format("t")) == _rows(con, versions.format("twin"))
        assert con.session.executor.upkeep.verify().is_clean
        with pytest.raises(gateway.DataError) as refused:
            con.execute("ALTER TABLE t ALTER COLUMN k TYPE INT")
        assert refused.value.code == "PAL-311"
        _both(con, "DELETE FROM {} WHERE k > 4")
        # They ended, and a row is told to have ended by its key.
        with pytest.raises(gateway.DataError, match="perhaps one that ended"):
            con.execute("ALTER TABLE t ALTER COLUMN k TYPE INT")
        con.execute("ALTER TABLE t ALTER COLUMN l TYPE SMALLINT")
        _both(con, "UPDATE {} SET v = 'k' WHERE l = 1", "OPTIMIZE {}")
        _check_same(con)


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.needs(Capability.ERASURE)
def test_what_was_erased_stays_out_under_another_type(store: Store) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'somebody'), (2, 'b'), (3, 'nobody')")
        con.execute("ERASE FROM t WHERE k = 1")
        con.execute("ALTER TABLE t ALTER COLUMN k TYPE BIGINT")
        con.execute("ERASE FROM t WHERE k = 3")
        for k in (1, 3):
            with pytest.raises(gateway.Error, match="PAL-306"):
                con.execute(f"INSERT INTO t VALUES ({k}, 'again')")
        con.execute("CALL system.purge()")
        assert con.execute("SELECT * FROM t").fetchall() == [(2, "b")]
        assert store.holders("somebody") == [] == store.holders("nobody")
        with pytest.raises(gateway.Error, match="PAL-306"):
            con.execute("INSERT INTO t VALUES (1, 'again')")


@pytest.mark.needs(Capability.FOREIGN_KEYS)
def test_references_hold_while_one_side_has_the_wider_type(store: Store) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
        con.execute(
            "CREATE TABLE c (k INT PRIMARY KEY,"
            " t INT REFERENCES t (k) ON DELETE CASCADE ON UPDATE CASCADE)"
        )
        con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        con.execute("INSERT INTO c VALUES (1, 1), (2, 2)")
        con.execute("ALTER TABLE t ALTER COLUMN k TYPE BIGINT")
        con.execute("INSERT INTO c VALUES (3, 1)")
        with pytest.raises(gateway.DataError):
            con.execute("UPDATE t SET k = 5000000000 WHERE k = 2")
        con.execute("ALTER TABLE c ALTER COLUMN t TYPE BIGINT")
        con.execute("UPDATE t SET k = 5000000000 WHERE k = 2")
        con.execute("DELETE FROM t WHERE k = 1")
        assert con.execute("SELECT * FROM c").fetchall() == [(2, 5000000000)]
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO c VALUES (4, 77)")


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.drifts(toy="it takes a shorter length over longer texts")
def test_keys_that_are_texts_become_longer_and_shorter(store: Store) -> None:
    with store.connect(dialect="postgres") as con:
        con.execute("CREATE TABLE t (k VARCHAR(3) PRIMARY KEY, v INTEGER)")
        con.execute("INSERT INTO t VALUES ('a', 1), ('abc', 2), ('b', 3)")
        con.commit()
        con.execute("OPTIMIZE t")
        con.execute("ALTER TABLE t ALTER COLUMN k TYPE varchar(5) USING k::varchar(5)")
        con.execute("INSERT INTO t VALUES ('abcde', 4)")
        con.execute("UPDATE t SET v = 5 WHERE k = 'abc'")
        con.execute("DELETE FROM t WHERE k = 'a'")
        with pytest.raises(gateway.DataError, match="PAL-315"):
            con.execute("INSERT INTO t VALUES ('abcdef', 6)")
        con.commit()
        with pytest.raises(gateway.Error):
            con.execute("ALTER TABLE t ALTER COLUMN k TYPE varchar(3)")
        con.rollback()
        con.execute("ALTER TABLE t ALTER COLUMN k TYPE text")
        con.execute("INSERT INTO t VALUES ('abcdef', 6)")
        con.commit()
        con.execute("OPTIMIZE t")
        rows = [("abc", 5), ("abcde", 4), ("abcdef", 6), ("b", 3)]
        assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == rows
        assert con.execute("SELECT v FROM t WHERE k = 'abc'").fetchall() == [(5,)]


@pytest.mark.needs(Capability.FOREIGN_KEYS)
@pytest.mark.also_on("postgres")
def test_texts_that_refer_to_keys_become_longer_with_them(store: Store) -> None:
    with store.connect(dialect="postgres") as con:
        con.execute("CREATE TABLE p (k VARCHAR(3) PRIMARY KEY)")
        con.execute("CREATE TABLE c (id INTEGER PRIMARY KEY, p VARCHAR(3) REFERENCES p)")
        con.execute("INSERT INTO p VALUES ('a')")
        con.execute("INSERT INTO c VALUES (1, 'a')")
        for table, column in (("p", "k"), ("c", "p")):
            con.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE varchar(6)")
        con.execute("INSERT INTO p VALUES ('abcdef')")
        con.execute("INSERT INTO c VALUES (2, 'abcdef')")
        with pytest.raises(gateway.IntegrityError, match="PAL-307"):
            con.execute("INSERT INTO c VALUES (3, 'b')")
