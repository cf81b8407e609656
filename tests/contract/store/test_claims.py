"""SELECT .. FOR UPDATE on every store: what two transactions read, the second cannot act upon."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

import gateway
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store with doctors on call, and one with none."""
    con = store.connect()
    con.execute("CREATE TABLE doctors (name VARCHAR PRIMARY KEY, on_call BOOLEAN)")
    con.execute("CREATE TABLE shifts (id INTEGER, name VARCHAR)")
    con.execute("INSERT INTO doctors VALUES ('a', TRUE), ('b', TRUE), ('c', FALSE)")
    return con


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return str(raised.value.sqlstate)


@pytest.mark.also_on("hive")
def test_write_skew_is_closed(store: Store, con: Connection) -> None:
    other = store.connect()
    for claim, end in (("", "ok"), ("FOR UPDATE", "40001"), ("FOR SHARE", "40001")):
        query = f"SELECT name FROM doctors WHERE on_call {claim}"
        for who in (con, other):
            who.execute("BEGIN")
            assert sorted(rows(who, query)) == [("a",), ("b",)]
        con.execute("UPDATE doctors SET on_call = FALSE WHERE name = 'a'")
        other.execute("UPDATE doctors SET on_call = FALSE WHERE name = 'b'")
        con.execute("COMMIT")
        if end == "ok":
            other.execute("COMMIT")
        else:
            assert _state(other, "COMMIT") == end
        con.execute("UPDATE doctors SET on_call = TRUE WHERE name < 'c'")


@pytest.mark.also_on("hive")
def test_a_claimed_row_serializes_writers_of_other_rows(store: Store, con: Connection) -> None:
    other = store.connect()
    for who, number in ((con, 1), (other, 2)):
        who.execute("BEGIN")
        wait = "" if who is con else "NOWAIT"
        who.execute(f"SELECT * FROM doctors WHERE name = 'a' FOR NO KEY UPDATE {wait}").fetchall()
        who.execute(f"INSERT INTO shifts VALUES ({number}, 'a')")
    con.execute("COMMIT")
    assert _state(other, "COMMIT") == "40001"
    assert rows(con, "SELECT id FROM shifts") == [(1,)]


@pytest.mark.also_on("hive")
def test_claims_of_different_rows_and_tables(store: Store, con: Connection) -> None:
    other = store.connect()
    con.execute("INSERT INTO shifts VALUES (1, 'a'), (2, 'a'), (3, 'b')")
    joined = "SELECT id FROM doctors AS d JOIN shifts AS s ON d.name = s.name WHERE d.name"
    con.execute("BEGIN")
    assert sorted(rows(con, f"{joined} = 'a' FOR UPDATE OF d")) == [(1,), (2,)]
    other.execute("BEGIN")
    assert rows(other, f"{joined} = 'b' FOR UPDATE") == [(3,)]
    other.execute("UPDATE shifts SET id = 7 WHERE id = 1")
    other.execute("COMMIT")
    con.execute("COMMIT")
    assert sorted(rows(con, "SELECT id FROM shifts")) == [(2,), (3,), (7,)]
    assert sorted(rows(con, "SELECT name FROM doctors")) == [("a",), ("b",), ("c",)]


@pytest.mark.also_on("hive")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT who FROM s.called WHERE who = 'b'",
        "SELECT name FROM everybody WHERE name = 'b'",
        "SELECT who FROM s.called ORDER BY who DESC LIMIT 1",
        "SELECT x.who FROM s.called AS x JOIN shifts ON x.who <> shifts.name WHERE x.who = 'b'",
    ],
)
def test_rows_of_a_simple_view_are_claimed(store: Store, con: Connection, query: str) -> None:
    other = store.connect()
    con.execute("INSERT INTO shifts VALUES (1, 'a')")
    con.execute("CREATE SCHEMA s")
    home = con.session.settings.schema
    con.execute(
        f"CREATE VIEW s.called (who, length) AS SELECT name, length(name) FROM {home}.doctors AS d"
        f" WHERE d.on_call AND name IN (SELECT name FROM {home}.doctors)"
    )
    con.execute("CREATE VIEW everybody AS SELECT * FROM doctors")
    for changed, end in (("b", "40001"), ("c", "ok")):
        con.execute("BEGIN")
        assert rows(con, f"{query} FOR UPDATE") == [("b",)]
        other.execute(f"UPDATE doctors SET on_call = TRUE WHERE name = '{changed}'")
        if end == "ok":
            con.execute("COMMIT")
        else:
            assert _state(con, "COMMIT") == end


@pytest.mark.also_on("hive")
def test_alone_it_only_reads(con: Connection) -> None:
    before = rows(con, "SELECT count(*) FROM doctors_journal")
    assert len(rows(con, "SELECT * FROM doctors FOR UPDATE")) == 3
    assert rows(con, "SELECT count(*) FROM doctors_journal") == before
    con.execute("BEGIN")
    assert len(rows(con, "SELECT * FROM doctors FOR UPDATE")) == 3
    con.execute("ROLLBACK")
    assert rows(con, "SELECT count(*) FROM doctors_journal") == before


REFUSED = (
    "SELECT * FROM doctors AS d JOIN doctors AS e ON d.name <> e.name FOR UPDATE OF d SKIP LOCKED",
    "SELECT * FROM everybody FOR SHARE SKIP LOCKED",
    "SELECT id FROM shifts LIMIT 1 FOR UPDATE SKIP LOCKED",
    "SELECT count(*) FROM doctors FOR UPDATE",
    "SELECT DISTINCT name FROM doctors FOR UPDATE",
    "SELECT * FROM doctors d LEFT JOIN shifts s ON d.name = s.name FOR UPDATE",
    "SELECT * FROM (SELECT * FROM doctors) q FOR UPDATE",
    "WITH q AS (SELECT * FROM doctors) SELECT * FROM q FOR UPDATE",
    "SELECT * FROM counted FOR UPDATE",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
)


@pytest.mark.also_on("hive")
def test_claims_that_cannot_be_made_are_refused(con: Connection) -> None:
    con.execute("CREATE VIEW everybody AS SELECT * FROM doctors")
    con.execute("CREATE VIEW counted AS SELECT on_call, count(*) AS n FROM doctors GROUP BY ALL")
    assert {sql: _state(con, sql) for sql in REFUSED} == dict.fromkeys(REFUSED, "0A000")


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.parametrize(
    "text", ["name = ? FOR UPDATE", "d.name = ? FOR NO KEY UPDATE OF d NOWAIT"]
)
def test_rows_at_hand_are_claimed_by_their_keys(store: Store, con: Connection, text: str) -> None:
    other = store.connect()
    query = f"SELECT d.on_call FROM doctors AS d WHERE {text}"
    for name in "abc":
        # What one row's change has written stays in memory.
        con.execute("UPDATE doctors SET on_call = FALSE WHERE name = ?", (name,))
    for name, found, end in (
        ("a", [(False,)], "40001"),
        ("z", [], "ok"),
        ("b", [(False,)], "40001"),
    ):
        for who in (con, other):
            who.execute("BEGIN")
            assert who.execute(query, (name,)).fetchall() == found
        con.execute("COMMIT")
        if end == "ok":
            other.execute("COMMIT")
        else:
            assert _state(other, "COMMIT") == end
    con.execute("BEGIN")
    con.execute("UPDATE doctors SET on_call = TRUE WHERE name = 'c'")
    assert (
        con.execute(query, ("c",)).fetchall() == con.execute(query, ("c",)).fetchall() == [(True,)]
    )
    con.execute("DELETE FROM doctors WHERE name = 'c'")
    assert con.execute(query, ("c",)).fetchall() == []
    con.execute("COMMIT")
    assert sorted(rows(con, "SELECT * FROM doctors")) == [("a", False), ("b", False)]


@pytest.mark.drifts(toy="SQLAlchemy has no dialect for its URL")
@pytest.mark.also_on("hive")
def test_with_for_update_of_sqlalchemy_claims_rows(store: Store, con: Connection) -> None:
    engine = sa.create_engine(store.url)
    doctors = sa.table("doctors", sa.column("name"), sa.column("on_call"))
    query = sa.select(doctors.c.name).where(doctors.c.on_call)
    with engine.connect() as connection:
        connection.execute(query.with_for_update(of=doctors)).fetchall()
        con.execute("UPDATE doctors SET on_call = FALSE WHERE name = 'a'")
        with pytest.raises(sa.exc.OperationalError) as raised:
            connection.commit()
    assert getattr(raised.value.orig, "sqlstate", "") == "40001"
    engine.dispose()
