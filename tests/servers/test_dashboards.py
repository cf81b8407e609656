"""What dashboards ask of ``information_schema`` with PostgreSQL's own functions, as it answers."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.servers.conftest import Server
from tests.support.postgres import running

_WORDS = "string_to_array(current_setting('search_path'), ',')"
PATH = (
    f"SELECT CASE WHEN trim(word[n]) = '\"$user\"' THEN user ELSE trim(word[n]) END"
    f" FROM generate_series(array_lower({_WORDS}, 1), array_upper({_WORDS}, 1)) AS n, {_WORDS} word"
)
"""The schemas of the path, as rows."""
QUESTIONS = (
    (
        f"SELECT quote_ident(table_name) FROM information_schema.tables"
        f" WHERE quote_ident(table_schema) IN ({PATH}) AND table_name LIKE 'dash%' ORDER BY 1"
    ),
    (
        f"SELECT CASE WHEN quote_ident(t.table_schema) IN ({PATH}) THEN quote_ident(t.table_name)"
        " ELSE quote_ident(t.table_schema) || '.' || quote_ident(t.table_name) END AS found,"
        " t.table_type FROM information_schema.tables t WHERE table_name LIKE '%dash%' ORDER BY 1"
    ),
    (
        "SELECT quote_ident(column_name) AS name, data_type, is_nullable"
        " FROM information_schema.columns"
        " WHERE quote_ident(table_name) = (parse_ident('main.dash'))[2]"
        " AND quote_ident(table_schema) = (parse_ident('main.dash'))[1]"
    ),
    (
        "SELECT quote_ident(schema_name) FROM information_schema.schemata"
        " WHERE schema_name IN ('main', 'dash_other') ORDER BY 1"
    ),
    "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
)
MADE = (
    "CREATE SCHEMA dash_other",
    "CREATE TABLE dash (id INTEGER PRIMARY KEY, at TIMESTAMP, amount DECIMAL(10, 2), name TEXT)",
    'CREATE TABLE "Dash of" (id BIGINT NOT NULL)',
    "CREATE TABLE dash_other.dash_far (id INTEGER)",
    "CREATE VIEW dash_seen AS SELECT id FROM dash",
)


@pytest.fixture(scope="module")
def plain() -> Iterator[psycopg.Connection]:
    """PostgreSQL with the same tables."""
    with running() as cluster:
        with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as connection:
            for sql in ("CREATE SCHEMA main", "SET search_path = main", *MADE):
                connection.execute(sql)
            yield connection


@pytest.fixture(scope="module")
def ours(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for sql in MADE:
            connection.execute(sql)
        yield connection
        connection.execute('DROP VIEW dash_seen; DROP TABLE dash, "Dash of", dash_other.dash_far')
        connection.execute("DROP SCHEMA dash_other")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_postgresqls(
    plain: psycopg.Connection, ours: psycopg.Connection, question: str
) -> None:
    expected = plain.execute(question).fetchall()
    assert ours.execute(question).fetchall() == expected
    assert expected or "timescaledb" in question


def test_whole_numbers_are_divided_as_such(ours: psycopg.Connection) -> None:
    row = ours.execute("SELECT current_setting('server_version_num')::int / 100").fetchone()
    assert row is not None
    assert row == (1500,)
    assert isinstance(row[0], int)
