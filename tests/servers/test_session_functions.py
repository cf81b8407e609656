"""Functions on the session and its catalog that a statement without tables calls, as PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import Connection

ROLE = "reader_of_secured"
SETUP = (
    f"CREATE ROLE {ROLE}",
    "CREATE TABLE secured (id INTEGER PRIMARY KEY, v INTEGER)",
    f"GRANT SELECT ON secured TO {ROLE}",
    "ALTER TABLE secured ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY few ON secured USING (v > 1)",
    "COMMENT ON TABLE secured IS 'the first of both'",
    "CREATE TABLE commented (id INTEGER PRIMARY KEY)",
    "COMMENT ON TABLE commented IS 'the second of both'",
    "CREATE SCHEMA hidden",
    f"GRANT CREATE ON SCHEMA hidden TO {ROLE}",
)
CLEANUP = (
    "RESET ROLE",
    "DROP TABLE secured",
    "DROP TABLE commented",
    "DROP SCHEMA hidden",
    f"DROP ROLE {ROLE}",
)
SETTINGS = (
    "SELECT current_setting('no_such')",
    "SELECT current_setting('no.such')",
    "SELECT current_setting('no_such', false)",
    "SELECT current_setting('no.such', true), current_setting('no_such', true)",
    "SELECT current_setting('app.given'), current_setting('App.Given', false)",
    "SELECT current_setting(NULL), current_setting('no_such', NULL)",
)
OF_ITS_ROWS = (
    "SELECT current_setting(name) FROM pg_settings WHERE name = 'server_encoding'",
    "SELECT bool_and(rolname = pg_get_userbyid(oid)) FROM pg_roles",
    "SELECT bool_and(nspname = oid::regnamespace::text) FROM pg_namespace WHERE nspname !~ '^pg_'",
    f"SELECT has_schema_privilege('{ROLE}', oid, 'CREATE') FROM pg_namespace WHERE oid > 9999",
    "SELECT obj_description(objoid, 'pg_class') FROM pg_description WHERE description ~ 'of both$'",
)
"""Calls on each row of the relation in which the function looks."""
ACTIVE = (
    "SELECT row_security_active('secured')",
    "SELECT row_security_active('secured'::regclass), row_security_active('public.secured')",
    "SELECT relname, row_security_active(oid) FROM pg_class WHERE relname = 'secured'",
    "SELECT row_security_active('no_table')",
)


def _answer(connection: Connection, sql: str) -> object:
    """The rows of a statement, or the SQLSTATE of its error."""
    try:
        return connection.execute(sql).fetchall()
    except psycopg.Error as error:
        return error.sqlstate


@pytest.fixture(scope="module")
def both(gateway: Connection, postgres: Connection) -> Iterator[tuple[Connection, Connection]]:
    with ExitStack() as ends:
        for connection in (gateway, postgres):
            for sql in SETUP:
                connection.execute(sql)
            for sql in reversed(CLEANUP):
                ends.callback(connection.execute, sql)
        yield gateway, postgres


@pytest.mark.parametrize("sql", SETTINGS)
def test_unknown_settings_are_errors(both: tuple[Connection, Connection], sql: str) -> None:
    gateway, postgres = both
    for connection in both:
        connection.execute("SELECT set_config('app.given', 'x', false)")
    assert _answer(gateway, sql) == _answer(postgres, sql)


@pytest.mark.parametrize("sql", OF_ITS_ROWS)
def test_functions_look_for_the_row_they_are_given(
    both: tuple[Connection, Connection], sql: str
) -> None:
    gateway, postgres = both
    for connection in both:
        connection.execute("RESET ROLE")
    assert _answer(gateway, sql) == _answer(postgres, sql)


def test_a_transaction_says_whether_it_only_reads(both: tuple[Connection, Connection]) -> None:
    asked = "SELECT current_setting(name) FROM pg_settings WHERE name = 'transaction_read_only'"
    for begin in ("BEGIN READ ONLY", "BEGIN"):
        for connection in both:
            connection.execute(begin)
        ours, real = (_answer(c, asked) for c in both)
        assert ours == real
        for connection in both:
            connection.execute("COMMIT")


def test_a_parameter_names_a_setting(gateway: Connection) -> None:
    row = gateway.execute("SELECT current_setting(%s, true)", ("no.such",), prepare=True)
    assert row.fetchall() == [(None,)]
    with pytest.raises(psycopg.errors.UndefinedObject):
        gateway.execute("SELECT current_setting(%s)", ("no.such",), prepare=True)


@pytest.mark.parametrize("sql", ACTIVE)
@pytest.mark.parametrize("role", [ROLE, "NONE"])
def test_row_security_is_active_for_whom_policies_bind(
    both: tuple[Connection, Connection], role: str, sql: str
) -> None:
    gateway, postgres = both
    for connection in both:
        connection.execute(f"SET ROLE {role}")
    assert _answer(gateway, sql) == _answer(postgres, sql)
