"""COMMENT ON all that a catalog holds: where it is shown, and when it goes."""

from __future__ import annotations

import pytest

import gateway
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(600)
MADE = (
    "CREATE SCHEMA hr",
    "CREATE SEQUENCE hr.ids",
    "CREATE TYPE mood AS ENUM ('ok', 'sad')",
    "CREATE MACRO plus(a INTEGER, b INTEGER := 1) AS a + b",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)",
    "CREATE VIEW v AS SELECT a AS c, b FROM t",
)
SAID = {
    "SCHEMA hr": "SELECT comment FROM duckdb_schemas() WHERE schema_name = 'hr'",
    "SEQUENCE hr.ids": "SELECT comment FROM system.sequences WHERE sequence = 'ids'",
    "TYPE mood": "SELECT comment FROM system.types WHERE name = 'mood'",
    "FUNCTION plus(INTEGER, INTEGER)": "SELECT comment FROM system.macros WHERE name = 'plus'",
    "COLUMN v.c": "SELECT comment FROM system.columns WHERE \"table\" = 'v' AND name = 'c'",
    "VIEW v": "SELECT comment FROM system.tables WHERE name = 'v'",
}


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="it has no enums")
def test_comments_are_shown_change_and_go(store: Store) -> None:
    con = store.connect()
    for sql in MADE:
        con.execute(sql)
    for what, query in SAID.items():
        con.execute(f"COMMENT ON {what} IS 'first'")
        con.execute(f"COMMENT ON {what} IS 'what it''s for'")
        assert rows(con, query) == [("what it's for",)], what
    con.close()
    again = store.connect()
    for what, query in SAID.items():
        assert rows(again, query) == [("what it's for",)], what
        again.execute(f"COMMENT ON {what} IS NULL")
        assert rows(again, query) == [(None,)], what
    again.execute("COMMENT ON SCHEMA hr IS 'gone with it'")
    again.execute("DROP SCHEMA hr CASCADE")
    again.execute("CREATE SCHEMA hr")
    assert rows(again, SAID["SCHEMA hr"]) == [(None,)]


@pytest.mark.also_on("hive")
def test_what_is_not_there_has_no_comment(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE VIEW v AS SELECT 1 AS a")
    for what, state in (
        *(("SCHEMA nope", "3F000"), ("SEQUENCE nope", "42P01"), ("TYPE nope", "42704")),
        *(("MACRO nope", "42883"), ("COLUMN v.nope", "42703"), ("DATABASE nope", "3F000")),
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(f"COMMENT ON {what} IS 'x'")
        assert raised.value.sqlstate == state, what


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ACCESS_CONTROL)
def test_roles_and_the_database_have_comments(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE ROLE ann")
    of_role = "SELECT comment FROM system.roles WHERE name = 'ann'"
    of_all = "SELECT comment FROM duckdb_databases() WHERE type = 'palimpsest'"
    database = con.execute(of_all.replace("comment", "database_name")).fetchall()[0][0]
    con.execute("COMMENT ON ROLE ann IS 'she'")
    con.execute(f"COMMENT ON DATABASE {database} IS 'ours'")
    con.execute("ALTER ROLE ann LOGIN")
    con.close()
    again = store.connect()
    assert (rows(again, of_role), rows(again, of_all)) == ([("she",)], [("ours",)])
    again.execute("COMMENT ON ROLE ann IS NULL")
    again.execute(f"COMMENT ON DATABASE {database} IS NULL")
    assert (rows(again, of_role), rows(again, of_all)) == ([(None,)], [(None,)])
    again.execute("SET ROLE ann")
    for what in ("ROLE ann", f"DATABASE {database}"):
        with pytest.raises(gateway.Error) as raised:
            again.execute(f"COMMENT ON {what} IS 'x'")
        assert raised.value.sqlstate == "42501", what
