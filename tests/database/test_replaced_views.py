"""A view of others that has the name of an adopted table: refused, replaced, given back."""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.procedures.adopting import adopt, eject
from tests.database.test_adopt import CLASSIC

DEFINITION = (
    "SELECT pg_get_viewdef('hr.depts'::regclass), reloptions, obj_description(oid),"
    " pg_get_userbyid(relowner), relacl::text FROM pg_class WHERE oid = 'hr.depts'::regclass"
)


@pytest.fixture
def classic(admin: Any) -> None:
    """A classic journal whose key is SERIAL, and a view of its current rows that tools read."""
    admin.execute(
        "CREATE SCHEMA hr; CREATE TABLE hr.depts_journal (deptno SERIAL, name VARCHAR(40),"
        " version_number BIGINT, subsequent_version_number BIGINT,"
        " PRIMARY KEY (deptno, version_number));"
        " INSERT INTO hr.depts_journal VALUES (1, 'Sales', 1), (1, 'Service', 2), (2, 'Ops', 1);"
        " CREATE VIEW hr.depts WITH (security_barrier=true) AS SELECT DISTINCT ON (deptno) deptno,"
        " upper(name) AS department, name = '?%s' AS odd FROM hr.depts_journal"
        " ORDER BY deptno, version_number DESC;"
        " COMMENT ON VIEW hr.depts IS 'what the reports read';"
        " GRANT SELECT ON hr.depts TO PUBLIC;"
        " CREATE FUNCTION hr.nothing() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN RETURN NULL; END';"
        " CREATE TRIGGER of_depts INSTEAD OF DELETE ON hr.depts FOR EACH ROW"
        " EXECUTE FUNCTION hr.nothing()"
    )


def _read(con: Any, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


@pytest.mark.parametrize("run", [False, True])
def test_a_view_of_others_is_named_and_stays(
    con: Connection, admin: Any, classic: None, run: bool
) -> None:
    before = _read(admin, DEFINITION)
    with pytest.raises(gateway.Error, match=r"has a view hr\.depts") as raised, mapping():
        adopt(con.session, "hr.depts", (), CLASSIC, run=run)
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-205", "42P07")
    assert "--replace-view" in (raised.value.advice or "")
    assert _read(admin, DEFINITION) == before
    assert con.execute("SHOW TABLES").fetchall() == []


def test_a_replaced_view_comes_back(con: Connection, admin: Any, classic: None) -> None:
    before, rows = _read(admin, DEFINITION), _read(admin, "SELECT * FROM hr.depts")
    admin.execute("CREATE VIEW hr.reader AS SELECT deptno FROM hr.depts")
    for run in (False, True):
        steps = adopt(con.session, "hr.depts", (), CLASSIC, run=run, replace_view=True)
        assert any("replaces the view hr.depts" in step for step in steps)
    assert _read(admin, "SELECT * FROM hr.depts ORDER BY 1") == [(1, "Service"), (2, "Ops")]
    assert _read(
        admin, "SELECT relacl::text ~ '=r/' FROM pg_class WHERE oid = 'hr.depts'::regclass"
    ) == [(True,)]
    con.execute("UPDATE hr.depts SET name = 'Law' WHERE deptno = 2")
    con.execute("INSERT INTO hr.depts (deptno, name) VALUES (9, 'New')")
    con.execute("ALTER TABLE hr.depts ADD CONSTRAINT one_of_a_name UNIQUE (name)")
    assert _read(admin, "SELECT * FROM hr.reader ORDER BY 1") == [(1,), (2,), (9,)]
    for run in (False, True):
        steps = eject(con.session, "hr.depts", run=run)
        assert "becomes the view again" in steps[0]
        assert any('not kept: constraint "one_of_a_name"' in step for step in steps)
    assert _read(admin, DEFINITION) == before
    changed = [rows[0], (2, "LAW", False), (9, "NEW", False)]
    assert _read(admin, "SELECT * FROM hr.depts") == changed
    assert _read(admin, "SELECT * FROM hr.reader ORDER BY 1") == [(1,), (2,), (9,)]
    triggers = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'hr.depts'::regclass"
    assert _read(admin, triggers) == [("of_depts",)]


def test_a_view_that_others_need_as_it_is_stays(con: Connection, admin: Any, classic: None) -> None:
    admin.execute("CREATE VIEW hr.reader AS SELECT department FROM hr.depts")
    with pytest.raises(gateway.Error, match=r"the view hr\.reader cannot follow"), mapping():
        adopt(con.session, "hr.depts", (), CLASSIC, run=True, replace_view=True)
    admin.execute("DROP VIEW hr.reader; CREATE MATERIALIZED VIEW hr.kept AS TABLE hr.depts")
    for run in (False, True):
        with pytest.raises(gateway.Error, match=r"view hr\.kept reads hr\.depts"), mapping():
            adopt(con.session, "hr.depts", (), CLASSIC, run=run, replace_view=True)
    assert _read(admin, "SELECT department FROM hr.depts") == [("SERVICE",), ("OPS",)]


@pytest.mark.parametrize("run", [False, True])
def test_names_that_are_taken_are_said_beforehand(con: Connection, admin: Any, run: bool) -> None:
    admin.execute(
        "CREATE TABLE t (k int PRIMARY KEY); CREATE VIEW t_journal AS SELECT 1 AS one;"
        " CREATE TABLE u_journal (k int, version_number bigint, subsequent_version_number bigint);"
        " CREATE TABLE u (k int)"
    )
    for name, said in (("t", "a view .*t_journal"), ("u", "a table .*u,")):
        with pytest.raises(gateway.Error, match=said), mapping():
            adopt(con.session, name, ("k",), CLASSIC, run=run, replace_view=True)


def test_no_statement_replaces_a_view_of_others(con: Connection, admin: Any) -> None:
    admin.execute("CREATE VIEW theirs AS SELECT 1 AS k; CREATE VIEW x_journal AS SELECT 1 AS k")
    for sql in (
        "CREATE TABLE theirs (k INTEGER PRIMARY KEY)",
        "CREATE TABLE x (k INTEGER PRIMARY KEY)",
        "CREATE VIEW theirs AS SELECT 2 AS k",
    ):
        with pytest.raises(gateway.Error, match=r"PAL-205.*that is not the gateway's"):
            con.execute(sql)
    assert _read(admin, "SELECT * FROM theirs") == [(1,)]
