"""What tells rows, columns and tables apart is found out before a table is adopted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.model.errors import PalimpsestError
from journal.stores.postgres.adopt import adoption

pytestmark = pytest.mark.stores

CLASSIC = ("_journal", "version_number", "subsequent_version_number")
NO_KEYS = (
    ("PAL-301", "(a int, b text)", "(1, 'x'), (1, 'y')"),
    ("PAL-302", "(a int, b text)", "(NULL, 'x'), (1, 'y')"),
    ("PAL-301", "(a int, b text, PRIMARY KEY (a, b))", "(1, 'x'), (1, 'y')"),
)


def _refused(con: Connection, name: str, key: tuple[str, ...] = ()) -> set[str]:
    """The codes with which an adoption and its dry run are refused."""
    codes = set()
    for run in (False, True):
        with pytest.raises(PalimpsestError) as raised:
            adopt(con.session, name, key, CLASSIC, run=run)
        codes.add(raised.value.code.value.code)
    assert con.execute("SHOW TABLES").fetchall() == []
    return codes


@pytest.mark.parametrize(("code", "columns", "rows"), NO_KEYS)
def test_columns_that_are_no_key_are_refused(
    con: Connection, admin: psycopg.Connection[Any], code: str, columns: str, rows: str
) -> None:
    admin.execute(f"CREATE TABLE t {columns}")
    admin.execute(f"INSERT INTO t VALUES {rows}")
    assert _refused(con, "t", ("a",)) == {code}
    assert len(admin.execute("SELECT * FROM t").fetchall()) == 2


def test_rows_that_come_before_the_table_is_taken_are_looked_at(
    con: Connection, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.execute("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x')")
    decided = adoption._decided

    def late(*args: Any, **named: Any) -> adoption.PostgresAdoptionPlan:
        plan = decided(*args, **named)
        admin.execute("INSERT INTO t VALUES (1, 'y')")
        return plan

    monkeypatch.setattr(adoption, "_decided", late)
    with pytest.raises(PalimpsestError, match="cannot tell the rows apart"):
        adopt(con.session, "t", ("a",), CLASSIC, run=True)
    assert len(admin.execute("SELECT * FROM t").fetchall()) == 2


def test_a_journal_with_two_rows_of_one_version_is_refused(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute(
        "CREATE TABLE t_journal (k int, v text, version_number bigint,"
        " subsequent_version_number bigint);"
        " INSERT INTO t_journal VALUES (1, 'x', 1, NULL), (1, 'y', 1, NULL), (2, 'z', 1, NULL)"
    )
    assert _refused(con, "t", ("k",)) == {"PAL-301"}
    admin.execute("UPDATE t_journal SET version_number = NULL WHERE v = 'y'")
    assert _refused(con, "t", ("k",)) == {"PAL-302"}


def test_names_that_are_one_to_the_gateway_are_refused(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    admin.execute('CREATE TABLE t ("Id" int PRIMARY KEY, id int)')
    assert _refused(con, "t") == {"PAL-206"}
    admin.execute("CREATE TABLE u (id int PRIMARY KEY, Version_Number int)")
    assert _refused(con, "u") == {"PAL-526"}
    adopt(con.session, "u", (), ("_journal", "began", "ended"), run=True)
    con.execute("INSERT INTO u VALUES (1, 2)")
    assert admin.execute("SELECT * FROM u").fetchall() == [(1, 2)]


def test_tables_that_only_case_tells_apart(con: Connection, admin: psycopg.Connection[Any]) -> None:
    admin.execute('CREATE TABLE "Foo" (id int PRIMARY KEY); CREATE TABLE foo (id int PRIMARY KEY)')
    assert _refused(con, "FOO") == {"PAL-209"}
    admin.execute("INSERT INTO foo VALUES (1)")
    adopt(con.session, "foo", (), CLASSIC, run=True)
    assert con.execute("SELECT * FROM foo").fetchall() == [(1,)]
    assert admin.execute('SELECT * FROM "Foo"').fetchall() == []


def test_names_with_dots_spaces_and_signs(
    connect: Callable[..., Connection], admin: psycopg.Connection[Any]
) -> None:
    con = connect()
    table = '"my.schema"."t.1 %s?"'
    admin.execute('CREATE SCHEMA "my.schema"')
    admin.execute(f'CREATE TABLE {table} ("a?b" int PRIMARY KEY, "c d%s" text, "e.f" int)')
    admin.execute(f"INSERT INTO {table} VALUES (1, 'x', 2)".encode())
    adopt(con.session, table, (), CLASSIC, run=False)
    adopt(con.session, table, (), CLASSIC, run=True)
    con.execute(f"INSERT INTO {table} VALUES (?, '%s', 3)", [2])
    con.execute(f'UPDATE {table} SET "c d%s" = ? WHERE "a?b" = ?', ["?", 1])
    rows = [(1, "?", 2), (2, "%s", 3)]
    assert con.execute(f'SELECT * FROM {table} ORDER BY "a?b"').fetchall() == rows
    eject(con.session, table, run=True)
    assert admin.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall() == rows
