"""Names as a user of psql writes them: the connected database, schema public, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

_VIEW = (
    "CREATE VIEW {0}.public.both AS SELECT {0}.public.emps.k, d.name FROM {0}.public.emps"
    " JOIN {0}.hr.depts AS d ON d.a = {0}.public.emps.dept"
)


@pytest.fixture
def depts(con: Connection) -> Connection:
    """A connection to a database with a table in a schema of its own."""
    con.execute("CREATE SCHEMA hr")
    con.execute("CREATE TABLE hr.depts (a INTEGER PRIMARY KEY, name TEXT)")
    con.execute("INSERT INTO hr.depts VALUES (1, 'Sales'), (2, 'Ops')")
    return con


def test_names_in_the_connected_database_are_taken(depts: Connection, database: str) -> None:
    for sql in (
        "INSERT INTO {0}.hr.depts VALUES (3, 'IT')",
        "UPDATE {0}.hr.depts SET name = 'Service' WHERE a = 2",
        "DELETE FROM {0}.hr.depts WHERE a = 1",
        "CREATE TABLE {0}.public.emps (k INTEGER PRIMARY KEY, dept INTEGER)",
        "INSERT INTO public.emps VALUES (1, 2), (2, 3)",
        "ALTER TABLE {0}.public.emps ADD COLUMN name TEXT",
        _VIEW,
        "COMMENT ON TABLE {0}.hr.depts IS 'departments'",
        "CREATE SCHEMA {0}.more",
        "DROP SCHEMA {0}.more",
    ):
        depts.execute(sql.format(database))
    found = depts.execute(f"SELECT * FROM {database}.public.both ORDER BY k").fetchall()
    assert found == [(1, "Service"), (2, "IT")]
    (named,) = depts.execute(
        "SELECT DISTINCT table_catalog, current_database() FROM information_schema.tables"
    ).fetchall()
    assert named == (database, database)
    for sql in ("DROP VIEW {0}.public.both", "TRUNCATE {0}.hr.depts", "DROP TABLE {0}.hr.depts"):
        depts.execute(sql.format(database))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM postgres.hr.depts",
        "INSERT INTO postgres.hr.depts VALUES (9, 'x')",
        "CREATE TABLE postgres.hr.other (a INTEGER)",
        "CREATE SCHEMA postgres.other",
        "DROP TABLE postgres.hr.depts",
    ],
)
def test_names_in_another_database_are_refused(depts: Connection, sql: str, database: str) -> None:
    with pytest.raises(gateway.Error, match="no database postgres") as raised:
        depts.execute(sql)
    assert raised.value.code == "PAL-201"
    assert database in str(raised.value)
    assert depts.execute("SELECT count(*) FROM hr.depts").fetchall() == [(2,)]


@pytest.mark.parametrize("place", ["pg_catalog.pg_type", "pg_class", "pg_catalog.pg_tables"])
def test_the_catalog_of_the_server_is_asked_past_the_gateway(con: Connection, place: str) -> None:
    with pytest.raises(gateway.Error, match="read information_schema or system") as raised:
        con.execute(f"SELECT * FROM {place}")
    assert raised.value.sqlstate == "42P01"


def test_public_is_the_schema_of_names_without_one(depts: Connection, database: str) -> None:
    depts.execute("CREATE TABLE plain (a INTEGER PRIMARY KEY)")
    depts.execute("INSERT INTO public.plain VALUES (1)")
    asked = "SELECT plain.a, public.plain.a, current_schema() FROM plain"
    assert depts.execute(asked).fetchall() == [(1, 1, "public")]
    depts.execute("SET search_path = hr, public")
    assert depts.execute("SELECT count(*) FROM depts").fetchall() == [(2,)]
    depts.execute("RESET search_path")
    depts.execute("USE hr")
    assert depts.execute("SELECT count(*), current_schema() FROM depts").fetchall() == [(2, "hr")]
    depts.execute(f"USE {database}")
    assert depts.execute("SELECT count(*) FROM plain").fetchall() == [(1,)]
    depts.execute("CREATE SCHEMA IF NOT EXISTS public")


def test_a_search_path_means_what_it_means_to_the_server(
    connect: Callable[..., Connection], cluster: Cluster
) -> None:
    con = connect(dialect="postgres")
    made = [
        *("CREATE SCHEMA a", "CREATE SCHEMA b", "CREATE TABLE a.t (x VARCHAR)"),
        *("CREATE TABLE b.t (x VARCHAR)", "CREATE TABLE b.u (x VARCHAR)"),
        *(f"INSERT INTO {place} VALUES ('{place}')" for place in ("a.t", "b.t", "b.u")),
    ]
    paths = ["a, b", "b, a", "nowhere, a, b", "b", '"$user", public, b', "'b', 'a'", "nowhere"]
    asked = ["SELECT x FROM t", "SELECT x FROM u", "SELECT current_schema()"]
    asked += ["CREATE TABLE new (y INTEGER)", "SELECT count(*) FROM a.new", "DROP TABLE new"]
    with psycopg.connect(cluster.conninfo(cluster.database()), autocommit=True) as plain:
        for sql in made:
            con.execute(sql)
            plain.execute(sql)
        for path in paths:
            con.execute(f"SET search_path TO {path}")
            plain.execute(f"SET search_path TO {path}")
            for sql in asked:
                assert _answer(con, sql) == _answer(plain, sql), (path, sql)


def test_main_is_the_default_schema_unless_one_is_called_so(con: Connection) -> None:
    for sql in (
        "CREATE TABLE main.t (a INTEGER)",
        "INSERT INTO main.t VALUES (1)",
        "CREATE TYPE main.mood AS ENUM ('ok')",
        "CREATE MACRO main.more(x) AS x + 1",
        "CREATE SCHEMA s",
        "USE s",
        "CREATE TABLE main.u AS SELECT 'ok'::main.mood AS m, main.more(a) AS n FROM main.t",
    ):
        con.execute(sql)
    assert con.execute("SELECT main.t.a, m, n FROM main.t, u").fetchall() == [(1, "ok", 2)]
    assert con.execute("SELECT a FROM public.t").fetchall() == [(1,)]
    con.execute("SET search_path = 'main'")
    assert con.execute("SELECT current_schema(), a FROM t").fetchall() == [("public", 1)]
    con.execute("CREATE TABLE s.t (b INTEGER)")
    con.execute("USE s")
    assert con.execute("SELECT * FROM t").fetchall() == []
    assert con.execute("SELECT n FROM u").fetchall() == [(2,)]


def _answer(connection: Any, sql: str) -> Any:
    try:
        found = connection.execute(sql)
    except (gateway.Error, psycopg.Error) as error:
        return error.sqlstate
    return found.fetchall() if found.description else "done"
