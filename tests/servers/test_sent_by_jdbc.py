"""What drivers of JDBC send that others do not, beside PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import Connection

INT4, TEXT, VARCHAR, VOID = 23, 25, 1043, 2278
CALLS: tuple[tuple[str, tuple[bytes | None, ...], tuple[int, ...]], ...] = (
    ("select * from upper($1,$2) as result", (None, b"abc"), (VOID, VARCHAR)),
    ("select * from upper( $2 , $1 ) as result", (None, b"abc"), (VOID, TEXT)),
    ("select upper($1,$2) || $2", (None, b"abc"), (VOID, TEXT)),
    ("select * from pi($1) as result", (None,), (VOID,)),
    ("select * from substr($1,$2,$3) as result", (b"ab", None, b"2"), (TEXT, VOID, INT4)),
    ("select * from jdbc_sum($1,$2,$3) as result", (None, b"2", b"3"), (VOID, INT4, INT4)),
)
"""``{? = call upper(?)}`` and its like."""
TABLES = (
    "CREATE TABLE jdbc_made AS SELECT x FROM generate_series(1, 3) AS g(x)",
    "CREATE TEMP TABLE jdbc_own AS SELECT 1 AS x",
    "CREATE TEMP TABLE jdbc_none AS SELECT 1 AS x WHERE false",
    "CREATE TABLE jdbc_plain (x integer)",
    "DROP TABLE jdbc_made, jdbc_own, jdbc_none, jdbc_plain",
)


def test_arguments_of_the_type_void_are_left_out(gateway: Connection, postgres: Connection) -> None:
    for con in (gateway, postgres):
        con.execute(
            "CREATE FUNCTION jdbc_sum(a integer, b integer) RETURNS integer"
            " LANGUAGE sql AS 'SELECT a + b'"
        )
    for query, values, oids in CALLS:
        found, wanted = (_called(con, query.encode(), values, oids) for con in (gateway, postgres))
        assert found == wanted, query
    for con in (gateway, postgres):
        con.execute("DROP FUNCTION jdbc_sum(integer, integer)")


def _called(
    con: Connection, query: bytes, values: tuple[bytes | None, ...], oids: tuple[int, ...]
) -> list[object]:
    con.pgconn.prepare(b"jdbc", query, oids)
    told = con.pgconn.describe_prepared(b"jdbc")
    assert not told.error_message, told.error_message
    answer = con.pgconn.exec_prepared(b"jdbc", values)
    con.execute("DEALLOCATE jdbc")
    types = [told.param_type(place) for place in range(told.nparams)]
    return [types, told.ftype(0), answer.get_value(0, 0), answer.error_message]


def test_the_tag_of_a_table_made_of_a_query_counts_its_rows(
    gateway: Connection, postgres: Connection
) -> None:
    for statement in TABLES:
        found, wanted = (con.execute(statement).statusmessage for con in (gateway, postgres))
        assert found == wanted, statement


@pytest.mark.parametrize("path", ["jdbc_one,public,jdbc_two", 'public, "jdbc_two"', "jdbc_two"])
def test_the_schemas_given_at_the_connection_are_searched_in_order(
    gateway: Connection, postgres: Connection, path: str
) -> None:
    """``currentSchema=jdbc_one,public`` in a URL."""
    found = []
    for con in (gateway, postgres):
        con.execute("CREATE SCHEMA jdbc_one")
        con.execute("CREATE SCHEMA jdbc_two")
        con.execute("CREATE TABLE jdbc_two.there AS SELECT 2 AS n")
        options = "-c search_path=" + path.replace(" ", "\\ ")
        with psycopg.connect(con.info.dsn, autocommit=True, options=options) as other:
            schemas = other.execute("SELECT current_schema(), current_schemas(false)").fetchall()
            found.append((schemas, other.execute("SELECT n FROM there").fetchall()))
            other.execute("CREATE TABLE made_first (a integer)")
        made = con.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'made_first'")
        found[-1] = (*found[-1], made.fetchall())
        con.execute("DROP TABLE IF EXISTS made_first")
        con.execute("DROP SCHEMA jdbc_one, jdbc_two CASCADE")
    assert found[0] == found[1]
