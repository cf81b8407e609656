"""What dumps and tools of PostgreSQL send about storage, owners and extensions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

OBJECTS = (
    "CREATE TABLE t (id SERIAL PRIMARY KEY, a INTEGER CONSTRAINT once UNIQUE, b TEXT)",
    "CREATE INDEX by_b ON t (b)",
    "CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES t (id))",
    "CREATE VIEW v AS SELECT a FROM t",
    "CREATE TYPE mood AS ENUM ('ok')",
    "CREATE SEQUENCE s",
    "CREATE ROLE boss SUPERUSER",
    "CREATE ROLE clerk",
)


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    url = prepared_warehouse(tmp_path / "w", OBJECTS, dialect="postgres")
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        yield con


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A connection for statements that are refused."""
    place = tmp_path_factory.mktemp("unchanged") / "w"
    url = prepared_warehouse(place, OBJECTS, dialect="postgres")
    with gateway.connect(url, dialect="postgres", autocommit=True) as con:
        yield con


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE ONLY t REPLICA IDENTITY FULL",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX once",
        "ALTER TABLE t CLUSTER ON by_b",
        "ALTER TABLE t CLUSTER ON t_pkey",
        "ALTER TABLE t SET WITHOUT CLUSTER, SET LOGGED",
        "ALTER TABLE ONLY t ALTER COLUMN b SET STORAGE EXTERNAL",
        "ALTER TABLE t ALTER b SET STATISTICS -1, ALTER b SET COMPRESSION lz4",
        "ALTER TABLE t DISABLE TRIGGER USER",
        "ALTER TABLE t ENABLE TRIGGER ALL",
        "ALTER TABLE t SET (fillfactor = 70)",
        "CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog",
        'CREATE EXTENSION IF NOT EXISTS "uuid-ossp"',
        "CREATE EXTENSION IF NOT EXISTS pgcrypto SCHEMA public",
        "DROP EXTENSION IF EXISTS citext CASCADE",
        "COMMENT ON EXTENSION plpgsql IS 'PL/pgSQL procedural language'",
        "ALTER TYPE mood OWNER TO boss",
        "ALTER TABLE s OWNER TO boss",
        "ALTER TABLE v OWNER TO boss",
        "SET SESSION AUTHORIZATION DEFAULT",
    ],
)
def test_statements_of_dumps_are_accepted(con: Connection, sql: str) -> None:
    before = con.execute("SELECT max(version) FROM system.transactions").fetchall()
    con.execute(sql)
    quiet = ("REPLICA", "CLUSTER", "STORAGE", "STATISTICS", "TRIGGER", "EXTENSION", "AUTHORIZATION")
    if any(word in sql for word in quiet):
        assert con.execute("SELECT max(version) FROM system.transactions").fetchall() == before


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("ALTER TABLE t DISABLE TRIGGER ALL", "0A000"),
        ("ALTER TABLE child DISABLE TRIGGER ALL", "0A000"),
        ("ALTER TABLE t DISABLE TRIGGER mine", "42704"),
        ("ALTER TABLE t CLUSTER ON nowhere", "42704"),
        ("ALTER TABLE t ALTER COLUMN nowhere SET STORAGE PLAIN", "42703"),
        ("ALTER TABLE nowhere REPLICA IDENTITY FULL", "42P01"),
        ("ALTER TABLE t REPLICA IDENTITY MOST", "42601"),
        ("CREATE POLICY p ON t FOR DELETE WITH CHECK (true)", "42601"),
        ("CREATE POLICY p ON t FOR TRUNCATE USING (true)", "42601"),
        ("CREATE POLICY p ON t TO nobody USING (true)", "42704"),
        ("DROP POLICY p ON t", "42704"),
        ("ALTER POLICY p ON nowhere USING (true)", "42P01"),
        ("CREATE EXTENSION postgis", "0A000"),
        ("ALTER TYPE mood OWNER TO clerk", "0A000"),
        ("ALTER TYPE mood OWNER TO nobody", "42704"),
        ("ALTER TYPE nowhere OWNER TO boss", "42704"),
    ],
)
def test_statements_of_dumps_that_are_refused_say_why(
    unchanged: Connection, sql: str, sqlstate: str
) -> None:
    with pytest.raises(gateway.Error) as caught:
        unchanged.execute(sql)
    assert caught.value.sqlstate == sqlstate


def test_storage_stands_beside_what_changes_a_table(con: Connection) -> None:
    con.execute("ALTER TABLE t ALTER b SET STORAGE PLAIN, ADD COLUMN c INTEGER, CLUSTER ON by_b")
    assert con.execute("SELECT c FROM t").fetchall() == []
