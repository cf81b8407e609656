"""A role that holds on to what it was allowed: prepared statements, cursors, catalogs, plans."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.servers.conftest import Server

_SETUP = (
    "CREATE SCHEMA vault",
    "CREATE TABLE vault.zebra_codes (id INTEGER PRIMARY KEY, stripe TEXT CHECK (stripe <> ''))",
    "CREATE INDEX zebra_index ON vault.zebra_codes (stripe)",
    "COMMENT ON TABLE vault.zebra_codes IS 'of a zebra'",
    "CREATE VIEW zebra_view AS SELECT stripe FROM vault.zebra_codes",
    "CREATE SEQUENCE zebra_numbers",
    "INSERT INTO vault.zebra_codes VALUES (1, 'black')",
    "CREATE TABLE wages (id INTEGER PRIMARY KEY, area TEXT, pay INTEGER)",
    "INSERT INTO wages VALUES (1, 'north', 4711), (2, 'south', 4712)",
    "CREATE ROLE eve",
    "GRANT SELECT, UPDATE ON wages TO eve",
)
_CATALOGS = (
    *(f"SELECT * FROM pg_catalog.pg_{name}" for name in (
        "class", "attribute", "constraint", "index", "indexes", "tables", "views", "sequences",
        "description", "namespace", "attrdef", "policies", "matviews", "stat_activity",
    )),
    *(f"SELECT * FROM information_schema.{name}" for name in (
        "tables", "columns", "views", "table_constraints", "key_column_usage", "schemata",
    )),
    *(f"SELECT * FROM system.{name}" for name in (
        "tables", "columns", "sessions", "privileges", "access_policies", "tags",
    )),
    "SHOW TABLES",
    "SELECT * FROM zebra_cods",
    "SELECT * FROM vault.zebra_codes",
    "SELECT * FROM vault.zebra_code",
    "SELECT stripes FROM zebra_view",
    "EXPLAIN SELECT * FROM zebra_view",
    "COPY zebra_view TO STDOUT",
    "SELECT 'vault.zebra_codes'::regclass",
    "SELECT nextval('zebra_number')",
    "CALL system.flush('vault.zebra_codes')",
    "DROP TABLE vault.zebra_codes",
    "GRANT SELECT ON zebra_view TO eve",
)  # fmt: skip


@pytest.fixture
def root(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for sql in _SETUP:
            connection.execute(sql)
        yield connection
        connection.execute("DROP TABLE wages")
        connection.execute("DROP VIEW zebra_view")
        connection.execute("DROP SEQUENCE zebra_numbers")
        connection.execute("DROP TABLE vault.zebra_codes")
        connection.execute("DROP SCHEMA vault")
        connection.execute("DROP ROLE eve")


@pytest.fixture
def eve(root: psycopg.Connection, server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SET ROLE eve")
        yield connection


def _told(connection: psycopg.Connection, sql: str) -> str:
    """Everything that a statement tells: its rows, or its error with all parts."""
    try:
        with connection.cursor() as cursor:
            if sql.startswith("COPY"):
                with cursor.copy(sql) as copy:
                    return str(list(copy))
            return str(cursor.execute(sql).fetchall())
    except psycopg.Error as error:
        diag = error.diag
        parts = (diag.message_primary, diag.message_detail, diag.message_hint, diag.context)
        return str(parts).replace(sql, "")


@pytest.mark.long
def test_nothing_tells_of_what_a_role_has_no_privilege_on(
    root: psycopg.Connection, eve: psycopg.Connection
) -> None:
    """Catalogs, hints and errors name it only where the statement itself does."""
    assert "zebra_codes" in _told(root, "SELECT * FROM pg_catalog.pg_class")
    told = {}
    for sql in _CATALOGS:
        found = _told(eve, sql)
        for named in ("zebra_codes", "zebra_code", "zebra_cods", "zebra_view", "zebra_number"):
            if named in sql:
                found = found.replace(named, "")
        if "zebra" in found or "stripe" in found or "black" in found:
            told[sql] = found
    assert told == {}
    with pytest.raises(psycopg.errors.UndefinedTable):
        eve.execute("SELECT * FROM vault.zebra_codes")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        eve.execute("DELETE FROM wages")


def test_what_was_prepared_goes_by_the_grants_and_policies_of_now(
    root: psycopg.Connection, eve: psycopg.Connection
) -> None:
    """By the protocol and by PREPARE: a plan that is kept shows no more than a new one."""
    point = "SELECT pay FROM wages WHERE id = %s"
    eve.execute("PREPARE all_of_it AS SELECT area, pay FROM wages ORDER BY id")

    def seen() -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
        return (
            eve.execute(point, (2,), prepare=True).fetchall(),
            eve.execute("EXECUTE all_of_it").fetchall(),
        )

    whole = ([(4712,)], [("north", 4711), ("south", 4712)])
    assert [seen(), seen(), seen()] == [whole] * 3
    root.execute("ALTER TABLE wages SET ROW POLICY (area = 'north')")
    assert seen() == ([], [("north", 4711)])
    root.execute("ALTER TABLE wages ALTER COLUMN pay SET MASKING POLICY (0)")
    root.execute("ALTER TABLE wages DROP ROW POLICY")
    assert seen() == ([(0,)], [("north", 0), ("south", 0)])
    root.execute("ALTER TABLE wages ALTER COLUMN pay DROP MASKING POLICY")
    assert seen() == whole
    root.execute("REVOKE SELECT ON wages FROM eve")
    root.execute("GRANT SELECT (id) ON wages TO eve")
    for sql in (point, "SELECT pay FROM wages WHERE id = %s FOR UPDATE"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            eve.execute(sql, (2,), prepare=True)
    for sql in ("EXECUTE all_of_it", "EXPLAIN SELECT pay FROM wages", "TABLE wages"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            eve.execute(sql)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), eve.cursor() as cursor:
        cursor.execute("COPY wages TO STDOUT")
    root.execute("REVOKE ALL ON wages FROM eve")
    for sql in ("EXECUTE all_of_it", "SELECT id FROM wages"):
        with pytest.raises(psycopg.errors.UndefinedTable):
            eve.execute(sql)


def test_plans_and_cursors_show_no_hidden_value(
    root: psycopg.Connection, eve: psycopg.Connection
) -> None:
    root.execute("ALTER TABLE wages SET ROW POLICY (area = 'north')")
    root.execute("ALTER TABLE wages ALTER COLUMN pay SET MASKING POLICY (0)")
    for sql in ("EXPLAIN SELECT * FROM wages", "EXPLAIN ANALYZE SELECT * FROM wages WHERE pay > 1"):
        told = _told(eve, sql)
        assert "4711" not in told
        assert "4712" not in told
    with eve.transaction():
        eve.execute("DECLARE held CURSOR WITH HOLD FOR SELECT id, pay FROM wages")
        assert eve.execute("FETCH ALL FROM held").fetchall() == [(1, 0)]
    for sql in ("SELECT 1 / (pay - 4711) FROM wages", "SELECT pay::DATE FROM wages"):
        assert "4711" not in _told(eve, sql)
    changed = eve.execute("UPDATE wages SET area = area RETURNING pay").fetchall()
    assert changed == [(0,)]
