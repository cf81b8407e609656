"""Roles, grants and their enforcement on every store; changes of them are in the audit log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.requests import audit_check, audit_entries
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store with a table, a view, and two roles."""
    con = store.connect(user="root")
    for sql in (
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, pay INTEGER)",
        "CREATE TABLE secret (k INTEGER PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20)",
        "CREATE VIEW names AS SELECT k, v FROM t",
        "CREATE ROLE ann",
        "CREATE ROLE bob",
    ):
        con.execute(sql)
    return con


def _state(con: Connection, sql: str) -> str:
    try:
        con.execute(sql)
    except gateway.Error as error:
        return error.sqlstate
    return ""


def test_privileges_are_enforced(con: Connection) -> None:
    con.execute("GRANT SELECT (k, v), UPDATE (v) ON t TO ann")
    con.execute("GRANT SELECT ON names TO bob")
    con.execute("SET ROLE ann")
    assert con.execute("SELECT k, v FROM t ORDER BY k").fetchall() == [(1, "a"), (2, "b")]
    assert con.execute("UPDATE t SET v = 'c' WHERE k = 1").rowcount == 1
    assert _state(con, "SELECT pay FROM t") == "42501"
    assert _state(con, "UPDATE t SET pay = 0") == "42501"
    assert _state(con, "DELETE FROM t") == "42501"
    assert _state(con, "SELECT * FROM t_journal") == "42501"
    assert _state(con, "SELECT * FROM table_history('t')") == "42501"
    assert _state(con, "SELECT * FROM secret") == "42P01"
    assert _state(con, "DROP TABLE secret") == "42P01"
    shown = con.execute("SELECT name FROM system.tables").fetchall()
    assert shown == [("t",)]
    con.execute("SET ROLE bob")
    assert con.execute("SELECT v FROM names ORDER BY k").fetchall() == [("c",), ("b",)]
    assert _state(con, "SELECT * FROM t") == "42P01"
    con.execute("RESET ROLE")
    con.execute("REVOKE SELECT ON names FROM bob")
    con.execute("SET ROLE bob")
    assert _state(con, "SELECT v FROM names") == "42P01"


OUTSIDE = (
    "SELECT query_to_xml('SELECT 1', true, false, '')",
    "SELECT k FROM t WHERE reflect('java.lang.System', 'getenv') IS NOT NULL",
    "SELECT pg_ls_dir('.')",
    "CREATE TEMP TABLE mine (k INTEGER DEFAULT lo_import('/etc/passwd'))",
    "SET spark_master = 'spark://elsewhere:7077'",
)


@pytest.mark.also_on("hive")
def test_roles_call_no_functions_of_the_store(con: Connection) -> None:
    con.execute("GRANT SELECT ON t TO ann")
    con.execute("SET ROLE ann")
    assert con.execute("SELECT upper(v), round(pay, 1), list_sort([2, 1]) FROM t").fetchall()
    assert {sql: _state(con, sql) for sql in OUTSIDE} == dict.fromkeys(OUTSIDE, "42501")


@pytest.mark.also_on("hive")
def test_changes_are_kept_and_audited(con: Connection, store: Store) -> None:
    con.execute("GRANT SELECT, INSERT ON t TO ann WITH GRANT OPTION")
    con.execute("ALTER ROLE ann LOGIN PASSWORD 'secret'")
    con.execute("GRANT bob TO ann")
    session = con.client_session
    entries = session.perform(audit_entries)
    assert [(e.actor, e.action, e.object) for e in entries][2:] == [
        ("root", "access.change", f"table {store.home}.t"),
        ("root", "role.alter", "ann"),
        ("root", "role.alter", "ann"),
    ]
    assert json.loads(entries[2].detail)["granted"] == [
        "INSERT to ann with grant option",
        "SELECT to ann with grant option",
    ]
    assert "secret" not in "".join(e.detail for e in entries)
    assert session.perform(audit_check, None).problems == ()
    con.close()
    with store.connect() as again:
        again.execute("SET ROLE ann")
        assert again.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
        again.execute("GRANT SELECT ON t TO bob")


@pytest.mark.also_on("hive")
def test_they_go_with_their_transaction(con: Connection) -> None:
    con.execute("BEGIN")
    con.execute("GRANT SELECT ON t TO ann")
    con.execute("SET LOCAL ROLE ann")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
    con.execute("ROLLBACK")
    con.execute("SET ROLE ann")
    assert _state(con, "SELECT * FROM t") == "42P01"
    con.execute("RESET ROLE")
    assert [e.action for e in con.client_session.perform(audit_entries)] == ["role.create"] * 2


@pytest.mark.also_on("hive")
def test_who_makes_a_table_owns_it(con: Connection, store: Store) -> None:
    con.execute(f"GRANT CREATE ON SCHEMA {store.home} TO ann")
    con.execute("SET ROLE ann")
    con.execute("CREATE TABLE mine (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO mine VALUES (1)")
    con.execute("GRANT SELECT ON mine TO bob")
    con.execute("RESET ROLE")
    assert _state(con, "DROP ROLE ann") == "2BP01"
    con.execute("SET ROLE bob")
    assert con.execute("SELECT k FROM mine").fetchall() == [(1,)]
    assert _state(con, "DROP TABLE mine") == "42501"
    con.execute("SET ROLE ann")
    con.execute("DROP TABLE mine")
    con.execute("CREATE TABLE mine (k INTEGER PRIMARY KEY)")
    con.execute("SET ROLE bob")
    assert _state(con, "SELECT k FROM mine") == "42P01"


@pytest.mark.also_on("hive")
def test_a_revoked_grant_ends_at_once_elsewhere(con: Connection, store: Store) -> None:
    con.execute("GRANT SELECT ON t TO ann")
    with store.connect_watchful() as other:
        other.execute("SET ROLE ann")
        assert other.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
        con.execute("REVOKE SELECT ON t FROM ann")
        assert _state(other, "SELECT count(*) FROM t") == "42P01"


@pytest.mark.also_on("hive")
def test_files_are_of_whoever_runs_the_gateway(con: Connection, tmp_path: Path) -> None:
    con.execute("GRANT SELECT, INSERT ON t TO ann")
    given, written = tmp_path / "given.csv", tmp_path / "written.csv"
    given.write_text("3,c,30\n")
    con.execute("SET ROLE ann")
    assert _state(con, f"COPY t FROM '{given}'") == "42501"
    assert _state(con, f"COPY t TO '{written}'") == "42501"
    assert _state(con, f"COPY (SELECT 1) TO '{written}'") == "42501"
    assert not written.exists()
    con.execute("RESET ROLE")
    assert con.execute(f"COPY t FROM '{given}'").rowcount == 1
    con.execute(f"COPY t TO '{written}'")
    assert len(written.read_text().splitlines()) == 3


@pytest.mark.also_on("hive")
def test_default_privileges_and_drop_owned(con: Connection) -> None:
    for sql in (
        "GRANT CREATE ON SYSTEM TO ann",
        "ALTER DEFAULT PRIVILEGES FOR ROLE ann GRANT SELECT ON TABLES TO bob",
        "SET ROLE ann",
        "CREATE SCHEMA hers",
        "CREATE TABLE hers.x (k INTEGER PRIMARY KEY)",
        "GRANT USAGE ON SCHEMA hers TO bob",
        "SET ROLE bob",
        "SELECT * FROM hers.x",
        "RESET ROLE",
        "DROP OWNED BY ann",
        "DROP ROLE ann",
    ):
        con.execute(sql)
    assert _state(con, "SELECT * FROM hers.x") in {"42P01", "3F000"}
    actions = [e.object for e in con.client_session.perform(audit_entries)]
    assert "new tables made by ann" in actions


def test_a_schema_is_made_for_its_owner(con: Connection) -> None:
    con.execute("CREATE SCHEMA hers AUTHORIZATION ann")
    con.execute("CREATE SCHEMA AUTHORIZATION bob")
    con.execute("CREATE SCHEMA IF NOT EXISTS hers AUTHORIZATION bob")
    assert _state(con, "CREATE SCHEMA nobodys AUTHORIZATION nobody") == "42704"
    con.execute("GRANT CREATE ON SYSTEM TO bob")
    con.execute("SET ROLE ann")
    con.execute("CREATE TABLE hers.t (k INTEGER PRIMARY KEY)")
    assert _state(con, "CREATE TABLE bob.t (k INTEGER PRIMARY KEY)") == "42501"
    assert _state(con, "CREATE SCHEMA mine AUTHORIZATION ann") == "42501"
    con.execute("SET ROLE bob")
    con.execute("CREATE TABLE bob.t (k INTEGER PRIMARY KEY)")
    con.execute("CREATE SCHEMA his AUTHORIZATION CURRENT_USER")
    con.execute("CREATE TABLE his.t (k INTEGER PRIMARY KEY)")
    assert _state(con, "CREATE SCHEMA hers_too AUTHORIZATION ann") == "42501"
