"""Indexes on every store: what unique ones hold apart, also between connections and after jobs."""

from __future__ import annotations

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import gateway
from gateway.dbapi.connection import Connection
from tests.support.index_migrations import check_migrations
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)
WRITES = 12
INDEXES = (
    "CREATE INDEX by_seat ON t (seat)",
    "CREATE UNIQUE INDEX one_mail ON t (lower(mail))",
    "CREATE UNIQUE INDEX one_seat ON t (seat) WHERE here",
    "CREATE UNIQUE INDEX pair ON t (k, seat)",
)


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store with an indexed table."""
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, mail VARCHAR, seat INTEGER, here BOOLEAN)")
    con.execute(
        "INSERT INTO t VALUES (1, 'Ada', 7, TRUE), (2, 'bob', 7, FALSE), (3, NULL, 8, TRUE)"
    )
    for sql in INDEXES:
        con.execute(sql)
    return con


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return str(raised.value.sqlstate)


def _check_held(con: Connection) -> None:
    """What the unique indexes refuse, and what they let pass."""
    for sql in (
        "INSERT INTO t VALUES (10, 'ADA', 1, TRUE)",
        "INSERT INTO t VALUES (10, 'x', 1, TRUE), (11, 'X', 2, TRUE)",
        "INSERT INTO t VALUES (10, 'x', 7, TRUE)",
        "UPDATE t SET here = TRUE WHERE k = 2",
        "UPDATE t SET mail = 'aDa' WHERE k = 3",
    ):
        assert _state(con, sql) == "23505", sql
    con.execute("INSERT INTO t VALUES (10, NULL, 7, FALSE), (11, 'x', 7, NULL)")
    assert con.execute("DELETE FROM t WHERE k > 9").rowcount == 2


@pytest.mark.also_on("hive")
def test_unique_indexes_hold_and_stay(store: Store, con: Connection) -> None:
    _check_held(con)
    _check_held(store.connect())
    names = rows(con, "SELECT name, is_unique FROM system.indexes ORDER BY name")
    assert names == [("by_seat", False), ("one_mail", True), ("one_seat", True), ("pair", True)]
    con.execute("DROP INDEX one_mail, by_seat")
    con.execute("INSERT INTO t VALUES (10, 'ADA', 1, TRUE)")
    assert _state(con, "CREATE UNIQUE INDEX again ON t (lower(mail))") == "23505"


@pytest.mark.also_on("hive")
def test_an_index_lets_one_row_have_no_value(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE n (k INTEGER PRIMARY KEY, a INTEGER, UNIQUE NULLS DISTINCT (k, a))")
    con.execute("CREATE UNIQUE INDEX one ON n ((a IS NULL), COALESCE(a, 0))")
    con.execute("INSERT INTO n VALUES (1, NULL), (2, 0)")
    for sql in (
        "INSERT INTO n VALUES (3, NULL)",
        "INSERT INTO n VALUES (3, 0)",
        "UPDATE n SET a = NULL WHERE k = 2",
    ):
        with pytest.raises(gateway.IntegrityError):
            con.execute(sql)
    con.execute("INSERT INTO n VALUES (3, NULL) ON CONFLICT DO NOTHING")
    assert con.execute("SELECT count(*) FROM n").fetchall() == [(2,)]


def test_what_a_conflict_is_about(con: Connection) -> None:
    upsert = (
        "INSERT INTO t VALUES (9, 'ADA', 70, TRUE) ON CONFLICT (lower(mail)) DO UPDATE SET seat = 9"
    )
    assert con.execute(upsert).rowcount == 1
    nothing = "INSERT INTO t VALUES (9, 'new', 9, TRUE) ON CONFLICT (seat) WHERE here DO NOTHING"
    assert con.execute(nothing).rowcount == 0
    assert (
        con.execute("INSERT INTO t VALUES (9, 'ADA', 1, TRUE) ON CONFLICT DO NOTHING").rowcount == 0
    )
    assert _state(con, nothing.replace(" WHERE here", "")) == "42P10"
    assert rows(con, "SELECT k, seat FROM t ORDER BY k") == [(1, 9), (2, 7), (3, 8)]


@pytest.mark.also_on("hive")
def test_the_first_to_commit_has_the_value(store: Store, con: Connection) -> None:
    other = store.connect()
    for mine, theirs in (
        (
            "INSERT INTO t VALUES (20, 'New', 1, FALSE)",
            "INSERT INTO t VALUES (21, 'NEW', 2, FALSE)",
        ),
        ("UPDATE t SET seat = 5 WHERE k = 3", "INSERT INTO t VALUES (22, 'd', 5, TRUE)"),
        ("CREATE UNIQUE INDEX late ON t (here, seat)", "INSERT INTO t VALUES (23, 'e', 50, NULL)"),
        (
            "CREATE INDEX late2 ON t (here)",
            "CREATE TABLE u (a INTEGER); CREATE INDEX late2 ON u (a)",
        ),
    ):
        for connection in (con, other):
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM t").fetchall()
        con.execute(mine)
        for sql in theirs.split(";"):
            other.execute(sql)
        con.execute("COMMIT")
        assert _state(other, "COMMIT") == "40001", theirs
    con.execute("DROP INDEX late")
    con.execute("DELETE FROM t WHERE k > 9")
    _check_held(con)


@pytest.mark.also_on("hive")
def test_jobs_change_nothing_of_them(store: Store, con: Connection) -> None:
    con.execute("UPDATE t SET seat = seat + 1")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET seat = seat - 1")
    _check_held(con)
    con.execute("OPTIMIZE t")
    _check_held(con)
    assert rows(con, "SELECT k FROM t WHERE seat = 7 ORDER BY k") == [(1,), (2,)]


@pytest.mark.long
@pytest.mark.needs(Capability.BACKUPS)
@pytest.mark.also_on("hive", "postgres")
def test_a_restore_must_keep_them(con: Connection) -> None:
    con.execute("CALL system.backup('t', name => 'good')").fetchall()
    con.execute("UPDATE t SET mail = 'carl', seat = 77 WHERE k = 1")
    con.execute("DELETE FROM t WHERE k = 3")
    con.execute("CALL system.restore('t', backup => 'good')").fetchall()
    _check_held(con)
    con.execute("DROP INDEX one_mail")
    con.execute("INSERT INTO t VALUES (4, 'ADA', 100, TRUE)")
    con.execute("CALL system.backup('t', name => 'bad')").fetchall()
    con.execute("DELETE FROM t WHERE k = 4")
    con.execute("CREATE UNIQUE INDEX one_mail ON t (lower(mail))")
    with pytest.raises(gateway.Error):
        con.execute("CALL system.restore('t', backup => 'bad')").fetchall()
    _check_held(con)


@pytest.mark.drifts(toy="SQLAlchemy has no dialect for its URL")
@pytest.mark.also_on("hive")
def test_migrations(store: Store) -> None:
    engine = sa.create_engine(store.url)
    check_migrations(engine)
    engine.dispose()


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_many_writers_leave_each_value_once(store: Store, con: Connection) -> None:
    def write(number: int) -> int:
        mine, rng, done = store.connect(), random.Random(number), 0
        for place in range(WRITES):
            key = 1000 * (number + 1) + place
            mail = rng.choice(("x", "X", "y", "Y", "z", "Z"))
            with contextlib.suppress(gateway.Error):
                if rng.random() < 0.3:
                    mine.execute("DELETE FROM t WHERE lower(mail) = lower(?)", (mail,))
                sql = "INSERT INTO t VALUES (?, ?, ?, TRUE)"
                done += mine.execute(sql, (key, mail, rng.randrange(20, 24))).rowcount
        return done

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, range(4))) >= 3
    for group in ("lower(mail)", "CASE WHEN here THEN seat END"):
        doubled = f"SELECT {group} FROM t GROUP BY 1 HAVING count(*) > 1 AND {group} IS NOT NULL"
        assert rows(con, doubled) == []
