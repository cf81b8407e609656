"""Row policies that read other tables, on every store: membership decides who sees which rows."""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]

_SETUP = """
CREATE TABLE docs (id INTEGER PRIMARY KEY, owner VARCHAR, body VARCHAR);
CREATE TABLE members (usr VARCHAR, org VARCHAR, PRIMARY KEY (usr, org));
INSERT INTO docs VALUES (1, 'a', '1'), (2, 'b', 'x'), (3, 'a', '3'), (4, NULL, 'y');
INSERT INTO members VALUES ('ann', 'a'), ('bob', 'b'), ('bob', 'a');
CREATE VIEW shown AS SELECT id, body FROM docs;
CREATE ROLE ann;
CREATE ROLE bob;
CREATE ROLE eve;
GRANT SELECT, INSERT, UPDATE, DELETE, HISTORY ON docs TO ann, bob, eve;
GRANT SELECT ON members TO ann, bob;
GRANT SELECT ON shown TO eve;
ALTER TABLE docs SET ROW POLICY (owner IN (SELECT org FROM members WHERE usr = CURRENT_USER));
ALTER TABLE members SET ROW POLICY (usr = CURRENT_USER)
"""


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with documents, which ann and bob see as members of their owners."""
    con = store.connect(user="root")
    for sql in _SETUP.strip().split(";\n"):
        con.execute(sql)
    return con


def _rows(con: Connection, sql: str, given: Any = ()) -> list[tuple[Any, ...]]:
    return sorted(con.execute(sql, given).fetchall())


def _state(con: Connection, sql: str) -> str:
    try:
        con.execute(sql)
    except gateway.Error as error:
        return error.sqlstate
    return ""


def _become(con: Connection, role: str) -> None:
    con.execute("RESET ROLE")
    con.execute(f"SET ROLE {role}")


@pytest.mark.also_on("hive")
def test_members_see_and_write_what_is_theirs(con: Connection) -> None:
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT id FROM docs") == [(1,), (3,)]
    assert _rows(con, "SELECT count(*), max(id) FROM docs") == [(2, 3)]
    assert _rows(con, "SELECT id FROM docs WHERE id = 2") == []
    assert _rows(con, "SELECT d.id FROM docs d JOIN members m ON m.org = d.owner") == [(1,), (3,)]
    # Whatever a client asks of rows, it is not asked of hidden ones first.
    assert _rows(con, "SELECT id FROM docs WHERE CAST(body AS INTEGER) > 2") == [(3,)]
    assert _rows(con, "SELECT sum(10 / (id - 2)) FROM docs WHERE body <> 'x'") == [(0,)]
    assert con.execute("UPDATE docs SET body = body || '!'").rowcount == 2
    assert con.execute("DELETE FROM docs WHERE id IN (2, 3)").rowcount == 1
    assert con.execute("INSERT INTO docs VALUES (5, 'a', '5')").rowcount == 1
    for refused in (
        "INSERT INTO docs VALUES (6, 'b', '6')",
        "INSERT INTO docs VALUES (6, NULL, '6')",
        "INSERT INTO docs SELECT id + 10, 'b', body FROM docs",
        "UPDATE docs SET owner = 'b' WHERE id = 1",
        (
            "MERGE INTO docs USING (SELECT 1 AS k) s ON docs.id = s.k"
            " WHEN MATCHED THEN UPDATE SET owner = 'b'"
        ),
    ):
        assert _state(con, refused) == "42501", refused
    _become(con, "bob")
    assert _rows(con, "SELECT id, body FROM docs") == [(1, "1!"), (2, "x"), (5, "5")]
    con.execute("RESET ROLE")
    assert _rows(con, "SELECT id FROM docs") == [(1,), (2,), (4,), (5,)]


@pytest.mark.also_on("hive")
def test_the_past_is_seen_by_the_members_of_today(con: Connection) -> None:
    version = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
    con.execute("DELETE FROM members WHERE usr = 'bob' AND org = 'b'")
    con.execute("INSERT INTO members VALUES ('ann', 'b')")
    con.execute("DELETE FROM docs WHERE id = 2")
    past = f"SELECT id FROM docs FOR SYSTEM_VERSION AS OF {version}"
    con.execute("SET ROLE ann")
    assert _rows(con, past) == [(1,), (2,), (3,)]
    assert _rows(con, "SELECT DISTINCT id FROM docs FOR SYSTEM_TIME ALL") == [(1,), (2,), (3,)]
    assert _rows(con, "SELECT DISTINCT id FROM table_history('docs')") == [(1,), (2,), (3,)]
    con.execute(f"SET as_of = '{version}'")
    assert _rows(con, "SELECT id FROM docs") == [(1,), (2,), (3,)]
    con.execute("RESET as_of")
    _become(con, "bob")
    assert _rows(con, past) == [(1,), (3,)]


@pytest.mark.also_on("hive")
def test_membership_holds_at_once_for_plans_and_rows_in_memory(con: Connection) -> None:
    for org, seen in (("b", [(2,)]), ("z", [])):
        con.execute("RESET ROLE")
        con.execute("UPDATE members SET org = ? WHERE usr = 'ann'", (org,))
        con.execute("SET ROLE ann")
        for _ in range(3):
            assert _rows(con, "SELECT id FROM docs WHERE id = ?", (2,)) == seen
            assert _rows(con, "SELECT id FROM docs") == seen
            written = con.execute("UPDATE docs SET body = 'w' WHERE id = ?", (2,)).rowcount
            assert written == len(seen)


@pytest.mark.also_on("hive")
def test_the_rights_are_those_of_whoever_reads(con: Connection) -> None:
    con.execute("SET ROLE eve")
    for sql in ("SELECT * FROM docs", "INSERT INTO docs VALUES (9, 'a', 'x')", "DELETE FROM docs"):
        with pytest.raises(gateway.Error, match="its row policy reads what") as refused:
            con.execute(sql)
        assert "members" not in str(refused.value)
    # A view is read with its owner's rights, and under the policies of whoever asks.
    assert _rows(con, "SELECT id FROM shown") == []
    con.execute("RESET ROLE")
    con.execute("INSERT INTO members VALUES ('eve', 'b')")
    con.execute("SET ROLE eve")
    assert _rows(con, "SELECT id FROM shown") == [(2,)]
    con.execute("RESET ROLE")
    con.execute("GRANT SELECT (usr) ON members TO eve")
    assert _state_as(con, "eve", "SELECT * FROM docs") == "42501"
    con.execute("GRANT SELECT (org) ON members TO eve")
    assert _state_as(con, "eve", "SELECT * FROM docs") == ""


def _state_as(con: Connection, role: str, sql: str) -> str:
    con.execute(f"SET ROLE {role}")
    found = _state(con, sql)
    con.execute("RESET ROLE")
    return found


@pytest.mark.also_on("hive")
def test_a_policy_that_comes_back_to_its_table_is_refused_where_it_is_used(con: Connection) -> None:
    con.execute("ALTER TABLE members SET ROW POLICY (org IN (SELECT owner FROM docs WHERE id < 3))")
    assert len(_rows(con, "SELECT * FROM docs")) == 4
    con.execute("SET ROLE ann")
    for sql in ("SELECT * FROM docs", "SELECT * FROM members", "DELETE FROM docs"):
        assert _state(con, sql) == "42P17", sql
    con.execute("RESET ROLE")
    con.execute("ALTER TABLE members SET ROW POLICY (EXISTS (SELECT 1 FROM members m))")
    assert _state_as(con, "ann", "SELECT * FROM members") == "42P17"


@pytest.mark.also_on("hive")
def test_what_a_policy_reads_is_renamed_and_not_dropped(con: Connection, store: Store) -> None:
    con.execute("ALTER TABLE members RENAME TO people")
    con.execute("CREATE TABLE members (usr VARCHAR, org VARCHAR)")
    con.execute("INSERT INTO members VALUES ('ann', 'b')")
    con.execute("ALTER TABLE docs RENAME COLUMN owner TO of_org")
    con.execute("SET ROLE ann")
    assert _rows(con, "SELECT id, of_org FROM docs") == [(1, "a"), (3, "a")]
    con.execute("RESET ROLE")
    shown = con.execute("SELECT expression FROM system.access_policies WHERE table_name = 'docs'")
    assert shown.fetchall()[0][0].startswith(f"of_org IN (SELECT org FROM {store.home}.people")
    for sql in (
        *("DROP TABLE people", "DROP TABLE people CASCADE", "ALTER TABLE people DROP COLUMN org"),
        *("ALTER TABLE people RENAME COLUMN usr TO u", "ALTER TABLE docs DROP COLUMN of_org"),
    ):
        assert _state(con, sql) == "2BP01", sql
    con.execute("ALTER TABLE docs DROP ROW POLICY")
    con.execute("DROP TABLE people")


@pytest.mark.also_on("hive")
def test_who_writes_by_a_membership_that_ends_meanwhile_has_lost(
    con: Connection, store: Store
) -> None:
    with store.connect(user="root") as other:
        other.execute("SET ROLE ann")
        other.execute("BEGIN")
        other.execute("INSERT INTO docs VALUES (7, 'a', 'late')")
        con.execute("DELETE FROM members WHERE usr = 'ann'")
        with pytest.raises(gateway.Error) as refused:
            other.execute("COMMIT")
        assert refused.value.sqlstate == "40001"
        other.execute("BEGIN")
        assert _state(other, "INSERT INTO docs VALUES (7, 'a', 'late')") == "42501"
        other.execute("ROLLBACK")
    assert _rows(con, "SELECT id FROM docs WHERE id = 7") == []
