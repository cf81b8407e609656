"""What dashboards ask of ``information_schema`` with PostgreSQL's own functions, as it answers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
import sqlalchemy as sa

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
        " WHERE quote_ident(table_name) = (parse_ident('public.dash'))[2]"
        " AND quote_ident(table_schema) = (parse_ident('public.dash'))[1]"
    ),
    (
        "SELECT quote_ident(schema_name) FROM information_schema.schemata"
        " WHERE schema_name IN ('public', 'dash_other') ORDER BY 1"
    ),
    "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
    (
        "SELECT n.nspname AS n, count(*) FROM pg_class c JOIN pg_namespace n ON c.relnamespace ="
        " n.oid WHERE c.relname LIKE 'dash_%' GROUP BY n ORDER BY n"
    ),
    (
        "SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name NOT IN"
        " ('information_schema', 'pg_catalog', 'pg_toast', 'public', 'system') ORDER BY schema_name"
    ),
    (
        "SELECT quote_ident(table_name) AS found FROM information_schema.tables"
        " WHERE quote_ident(table_schema) = 'dash_other' ORDER BY 1"
    ),
    (
        "SELECT quote_ident(column_name) AS name, data_type AS kind FROM information_schema.columns"
        " WHERE CASE WHEN array_length(parse_ident('dash'), 1) = 2"
        " THEN quote_ident(table_schema) = (parse_ident('dash'))[1]"
        " AND quote_ident(table_name) = (parse_ident('dash'))[2]"
        f" ELSE quote_ident(table_name) = 'dash' AND quote_ident(table_schema) IN ({PATH}) END"
    ),
)
_SPAN = "'2026-01-05T00:00:00Z' AND '2026-01-06T00:00:00.123456789Z'"
_FROM = "TO_TIMESTAMP('2026-01-05 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')"
_DOUBLE, _NUMERIC = 701, 1700
CHARTS = (
    # What the macros of Grafana's data source for PostgreSQL become.
    'SELECT at AS "time", name AS metric, amount FROM dash WHERE at BETWEEN {span} ORDER BY 1, 2',
    'SELECT extract(epoch from at) AS "time", amount FROM dash WHERE at BETWEEN {span} ORDER BY 1',
    (
        'SELECT floor(extract(epoch from at)/300)*300 AS "time", avg(amount) AS amount FROM dash'
        " WHERE at BETWEEN {span} GROUP BY 1 ORDER BY 1"
    ),
    (
        'SELECT floor(extract(epoch from at)/0.5)*0.5 AS "time", name AS metric, count(*) FROM dash'
        " GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    (
        'SELECT floor((tick)/60)*60 AS "time", sum(amount) FROM dash'
        " WHERE tick >= 1767571200 AND tick <= 1767657600 GROUP BY 1 ORDER BY 1"
    ),
    "SELECT at, sum(amount) OVER (PARTITION BY name ORDER BY at) FROM dash ORDER BY at, name",
    "SELECT DISTINCT name FROM dash WHERE name ILIKE '%A%' ORDER BY name",
    # What Superset's charts ask of a table, of a query, and of the largest series.
    *(
        f"SELECT DATE_TRUNC('{grain}', at) AS at, sum(amount) AS \"SUM(amount)\" FROM public.dash"
        " WHERE at >= {start} GROUP BY DATE_TRUNC('" + grain + "', at)"
        ' ORDER BY "SUM(amount)" DESC, 1 LIMIT 1000'
        for grain in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    ),
    (
        "SELECT DATE_TRUNC('day', (timestamp 'epoch' + tick * interval '1 second')) AS at,"
        " COUNT(*) AS count FROM public.dash GROUP BY 1 ORDER BY 1"
    ),
    (
        'SELECT name AS name, COUNT(DISTINCT id) AS "COUNT_DISTINCT(id)",'
        ' AVG(amount) AS "AVG(amount)"'
        " FROM (SELECT * FROM public.dash WHERE amount > 1\n) AS virtual_table"
        " WHERE name IN ('a', 'b') AND at < TO_DATE('2026-01-07', 'YYYY-MM-DD')"
        ' GROUP BY name HAVING (COUNT(*) > 0) ORDER BY "AVG(amount)" DESC LIMIT 50'
    ),
    (
        "SELECT DATE_TRUNC('day', at) AS at, name AS name, sum(amount) AS \"SUM(amount)\""
        " FROM public.dash JOIN (SELECT name AS name__, sum(amount) AS mme_inner__ FROM public.dash"
        " WHERE at >= {start}"
        " GROUP BY name ORDER BY mme_inner__ DESC LIMIT 1) AS series_limit ON name = name__"
        " WHERE at >= {start} GROUP BY DATE_TRUNC('day', at), name ORDER BY 1, 2 LIMIT 1000"
    ),
    (
        "SELECT CASE WHEN amount IS NULL THEN '<NULL>' WHEN amount >= 2 THEN 'large'"
        " ELSE 'small' END AS size, COUNT(*) AS count FROM public.dash"
        " GROUP BY 1 ORDER BY 2 DESC, 1"
    ),
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) AS median FROM public.dash",
    "SELECT * FROM public.dash ORDER BY id LIMIT 101",
    'SELECT MIN(at) AS "MIN(at)", MAX(at) AS "MAX(at)" FROM public.dash',
    (
        "SELECT COUNT(*) AS rows FROM (SELECT name AS name FROM public.dash GROUP BY name LIMIT 9)"
        " AS r"
    ),
    # Outputs that are called as a table is, which dbt groups by.
    "SELECT d.name AS d, count(*) FROM dash AS d GROUP BY d ORDER BY d",
    "SELECT upper(d.name) AS d, sum(tick) FROM dash AS d GROUP BY d, d.id ORDER BY d, 2",
    "SELECT d.id AS d, d.name AS id FROM dash AS d GROUP BY d, id ORDER BY id, d",
)
"""Statements with what fills them in by ``format``."""
MADE = (
    "CREATE SCHEMA dash_other",
    (
        "CREATE TABLE dash (id INTEGER PRIMARY KEY, at TIMESTAMP, amount DECIMAL(10, 2), name TEXT,"
        " tick BIGINT)"
    ),
    (
        "INSERT INTO dash VALUES (1, '2026-01-05 00:00:01', 1.5, 'a', 1767571201),"
        " (2, '2026-01-05 00:04:59.25', 2.5, 'b', 1767571499),"
        " (3, '2026-01-05 12:30:00', NULL, 'a', 1767616200),"
        " (4, '2026-01-06 08:00:00', 4, 'Ab', 1767686400), (5, NULL, 1, NULL, NULL)"
    ),
    'CREATE TABLE "Dash of" (id BIGINT NOT NULL)',
    "CREATE TABLE dash_other.dash_far (id INTEGER)",
    "CREATE VIEW dash_seen AS SELECT id FROM dash",
)


@pytest.fixture(scope="module")
def plain() -> Iterator[psycopg.Connection]:
    """PostgreSQL with the same tables."""
    with running() as cluster:
        with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as connection:
            for sql in MADE:
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


def _shape(columns: list[psycopg.Column]) -> list[tuple[str, int]]:
    """Names and types; means and seconds are doubles here and NUMERIC there, of the same value."""
    return [(c.name, _NUMERIC if c.type_code == _DOUBLE else c.type_code) for c in columns]


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_has_postgresqls_values_and_types(
    plain: psycopg.Connection, ours: psycopg.Connection, chart: str
) -> None:
    sql = chart.format(span=_SPAN, start=_FROM)
    wanted, found = plain.execute(sql), ours.execute(sql)
    assert found.fetchall() == wanted.fetchall()
    assert wanted.description is not None
    assert found.description is not None
    assert _shape(found.description) == _shape(wanted.description)


def test_supersets_statements_about_sessions(ours: psycopg.Connection, server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as other:
        other.execute('set search_path = "dash_other"')
        assert other.execute("SELECT count(*) FROM dash_far").fetchone() == (0,)
        row = other.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        databases = ours.execute("SELECT datname FROM pg_database WHERE datistemplate = false;")
        assert databases.fetchall() == [("palimpsest",)]
        (first,) = ours.execute("EXPLAIN SELECT * FROM dash").fetchone() or ("",)
        assert re.search(r"cost=([\d\.]+)\.\.([\d\.]+)", first), first
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='%s'"
        assert ours.execute(ended % row[0]).fetchall() == [(True,)]
        with pytest.raises(psycopg.OperationalError):
            other.execute("SELECT 1")
    with psycopg.connect(server.dsn, autocommit=True) as other:
        (number,) = other.execute("SELECT pg_backend_pid()").fetchone() or ()
        with ThreadPoolExecutor() as pool:
            running = pool.submit(other.execute, "SELECT pg_sleep(30)")
            told = "SELECT state FROM pg_stat_activity WHERE pid = %s"
            while ours.execute(told, (number,)).fetchone() != ("active",):
                time.sleep(0.01)
            ours.execute(ended % number).fetchall()
            with pytest.raises(psycopg.errors.AdminShutdown) as raised:
                running.result()
        assert raised.value.diag.severity_nonlocalized == "FATAL"
    assert ours.execute("SELECT pg_terminate_backend(0), pg_cancel_backend(NULL)").fetchall() == [
        (False, None)
    ]
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="as columns of a SELECT only"):
        ours.execute("SELECT 1 FROM pg_stat_activity WHERE pg_terminate_backend(pid)")


def test_a_session_is_stopped_by_its_own_column_alone(
    ours: psycopg.Connection, server: Server
) -> None:
    """A star before the call must not let another column say who is stopped."""
    with psycopg.connect(server.dsn, autocommit=True) as other:
        pid = other.execute("SELECT pg_backend_pid()").fetchone()
        assert pid is not None
        for stars in ("*, 1", "a.*, 1"):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"before any \*"):
                ours.execute(f"SELECT {stars}, pg_terminate_backend(0) FROM pg_stat_activity a")
        assert other.execute("SELECT 1").fetchone() == (1,)
        row = ours.execute(
            f"SELECT pg_terminate_backend(pid), * FROM pg_stat_activity WHERE pid = {pid[0]}"
        ).fetchone()
        assert row is not None
        assert row[0] is True
        with pytest.raises(psycopg.OperationalError):
            other.execute("SELECT 1")


@pytest.mark.parametrize("schema", ["public", "dash_other", None])
def test_superset_lists_what_postgresql_lists(
    plain: psycopg.Connection, ours: psycopg.Connection, schema: str | None
) -> None:
    found, wanted = _listed(ours, schema), _listed(plain, schema)
    assert found == wanted


def _listed(connection: psycopg.Connection, schema: str | None) -> dict[str, object]:
    """What the calls of SQLAlchemy's inspector give that Superset makes for its lists."""
    engine = sa.create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=sa.pool.StaticPool
    )
    inspector = sa.inspect(engine)
    tables = sorted(name for name in inspector.get_table_names(schema) if "ash" in name)
    shown: dict[str, object] = {
        "tables": tables,
        "foreign": inspector.get_foreign_table_names(schema),
        "views": [name for name in inspector.get_view_names(schema) if "ash" in name],
    }
    for table in tables:
        shown[table] = (
            [
                (c["name"], str(c["type"]), c["nullable"])
                for c in inspector.get_columns(table, schema)
            ],
            inspector.get_pk_constraint(table, schema)["constrained_columns"],
            inspector.get_table_comment(table, schema),
            inspector.get_indexes(table, schema),
        )
    return shown


def test_whole_numbers_are_divided_as_such(ours: psycopg.Connection) -> None:
    row = ours.execute("SELECT current_setting('server_version_num')::int / 100").fetchone()
    assert row is not None
    assert row == (1500,)
    assert isinstance(row[0], int)
