"""What is set for a role or a database at the server: no answer depends on it, limits hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.postgres import catalog as rows_of
from journal.stores.postgres.journal import DatabaseJournal
from tests.support.postgres import Cluster

SETTINGS = (
    "client_encoding = 'LATIN1'",
    "\"DateStyle\" = 'SQL, DMY'",
    "\"IntervalStyle\" = 'sql_standard'",
    "extra_float_digits = -5",
    "standard_conforming_strings = off",
    "bytea_output = 'escape'",
    "array_nulls = off",
    "search_path = 'nowhere'",
    "default_transaction_isolation = 'serializable'",
    "transform_null_equals = on",
    "client_min_messages = 'debug5'",
)
FILL = r"""INSERT INTO t VALUES (DATE '2021-03-04', TIMESTAMP '2021-03-04 05:06:07.123456',
 INTERVAL '1 day 2 hours', 0.1, 'a\b\\c' || chr(8364), '\x00\xFFab'::BLOB, [1, NULL, 2],
 ['a\b', 'x,y', NULL, 'NULL', ''])"""
ASK = (
    "SELECT * FROM t",
    "SELECT d::VARCHAR, ts::VARCHAR, i::VARCHAR, f::VARCHAR, b::VARCHAR, l::VARCHAR FROM t",
    "SELECT CAST(x AS DATE), f + 0.2, s = NULL FROM t, (VALUES ('01/02/2021')) AS v(x)",
)


@pytest.fixture
def admin(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that does not come through the gateway."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


def _answers(url: str) -> list[object]:
    with gateway.connect(url, autocommit=True) as con:
        con.execute(
            "CREATE TABLE t (d DATE PRIMARY KEY, ts TIMESTAMP, i INTERVAL, f DOUBLE, s VARCHAR,"
            " b BLOB, l INTEGER[], m VARCHAR[])"
        )
        con.execute(FILL)
        con.execute("UPDATE t SET f = f")
        found: list[object] = [con.execute(sql).fetchall() for sql in ASK]
        con.execute("DROP TABLE t")
        return found


def test_no_setting_changes_an_answer(
    url: str, admin: psycopg.Connection[Any], database: str
) -> None:
    expected = _answers(url)
    for setting in SETTINGS:
        admin.execute(f"ALTER DATABASE {database} SET {setting}")
        assert _answers(url) == expected, setting
        admin.execute(f"ALTER DATABASE {database} RESET ALL")


def _code(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return str(raised.value.code)


def test_limits_of_the_server_hold(
    url: str, admin: psycopg.Connection[Any], cluster: Cluster, database: str
) -> None:
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
    admin.execute(f"ALTER DATABASE {database} SET lock_timeout = '100ms'")
    admin.execute(f"ALTER DATABASE {database} SET statement_timeout = '2s'")
    with gateway.connect(url, autocommit=True) as con:
        assert _code(con, "SELECT pg_sleep(60)") == "PAL-407"
        with psycopg.connect(cluster.conninfo(database)) as other:
            other.execute(rows_of.TAKE_LOCK)
            assert _code(con, "INSERT INTO t VALUES (2)") == "PAL-703"
            other.rollback()
            other.execute("LOCK TABLE _palimpsest.t1_head_1 IN ACCESS EXCLUSIVE MODE")
            assert _code(con, "SELECT * FROM t") == "PAL-703"
        con.execute("INSERT INTO t VALUES (2)")
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_a_schema_that_is_there_needs_no_right_to_make_schemas(
    connect: Callable[..., Connection],
    admin: psycopg.Connection[Any],
    cluster: Cluster,
    database: str,
) -> None:
    connect().execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    role = f"maker_{database}"
    admin.execute(f"CREATE ROLE {role} LOGIN")
    admin.execute(f"CREATE SCHEMA hr AUTHORIZATION {role}")
    admin.execute(f"GRANT USAGE, CREATE ON SCHEMA _palimpsest TO {role}")
    admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA _palimpsest TO {role}")
    admin.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA _palimpsest TO {role}")
    connect().execute("CREATE SCHEMA hr")
    url = f"palimpsest+postgresql://{role}@127.0.0.1:{cluster.port}/{database}"
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE hr.u (a INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO hr.u VALUES (1)")
        con.execute("OPTIMIZE hr.u")
        assert con.execute("SELECT * FROM hr.u").fetchall() == [(1,)]
        assert _code(con, "CREATE SCHEMA other") == "PAL-523"


def test_a_url_reaches_the_client_library_as_it_is_written(cluster: Cluster, database: str) -> None:
    cluster.require_ownership()
    socket = f"host={cluster.folder}/data&port={cluster.port}&user=tester"
    asked = "options=-c%20statement_timeout%3D2s%20-c%20lock_timeout%3D1s"
    with gateway.connect(
        f"palimpsest+postgresql:///{database}?{socket}&{asked}", autocommit=True
    ) as con:
        assert _code(con, "SELECT pg_sleep(60)") == "PAL-407"


def test_the_server_compiles_only_what_a_url_asks_it_to(cluster: Cluster, database: str) -> None:
    url = cluster.url(database)
    joint = "&" if "?" in url else "?"
    for asked, wanted in (("", "off"), (f"{joint}options=-c%20jit%3Don", "on")):
        with gateway.connect(url + asked) as con:
            journal = con.session.journal
            assert isinstance(journal, DatabaseJournal)
            with journal.store.lent() as session:
                assert session.text("SHOW jit") == [(wanted,)]
