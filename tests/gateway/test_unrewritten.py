"""Nothing reaches the store that was not rewritten: odd places for tables, calls that reach out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

PLACES = [
    "SELECT (SELECT count(*) FROM {t})",
    "SELECT coalesce((SELECT max(k) FROM {t}), 0)",
    "SELECT 1 ORDER BY (SELECT count(*) FROM {t})",
    "SELECT 1 LIMIT (SELECT count(*) FROM {t})",
    "SELECT CASE WHEN EXISTS (FROM {t}) THEN 1 END",
    "SELECT list_transform([(SELECT count(*) FROM {t})], x -> x + 1)",
    "SELECT sum(1) OVER (ORDER BY (SELECT count(*) FROM {t}))",
    "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM {t}))",
    "SELECT * FROM (VALUES ((SELECT count(*) FROM {t}))) AS v(n)",
    "SELECT * FROM generate_series(1, (SELECT count(*) FROM {t}))",
    "SELECT * FROM (SELECT 1 AS a) AS q JOIN {t} AS u ON u.k = q.a",
    "SELECT * FROM (SELECT 1 AS a) AS q, LATERAL (SELECT q.a FROM {t})",
    "WITH c AS (SELECT * FROM {t}) SELECT * FROM c",
    "SELECT [x FOR x IN [(SELECT count(*) FROM {t})]]",
    "SELECT {{'a': (SELECT count(*) FROM {t})}}",
    "SELECT 1 GROUP BY 1 HAVING EXISTS (SELECT 1 FROM {t})",
    "SELECT 1 QUALIFY row_number() OVER () <= (SELECT count(*) FROM {t})",
    "INSERT INTO t SELECT k + 100 FROM {t}",
    "UPDATE t SET k = k WHERE k IN (SELECT k FROM {t})",
    "DELETE FROM t WHERE k IN (SELECT k + 50 FROM {t})",
]
REACHING = [
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('t.csv')",
    "SELECT * FROM query_table(lower('T'))",
    "SELECT * FROM histogram(lower('T'), k)",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_logs()",
    "SELECT * FROM pragma_storage_info('t')",
    "SELECT has_table_privilege('t', 'select')",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_terminate_backend(1)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT dblink_exec('dbname=x', 'DROP TABLE t')",
    "SELECT reflect('java.lang.System', 'exit', 0)",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_blob('/etc/hostname')",
    "SELECT * FROM TABLE(query('SELECT 1'))",
    "SELECT * FROM ROWS FROM (query('SELECT 1'))",
    "SELECT * FROM t, LATERAL query('SELECT 1')",
    "SELECT getenv('HOME')",
    "SELECT 'HOME'.getenv()",
    "SELECT main.getenv('HOME')",
    "SELECT \"getenv\"('HOME')",
    "SELECT current_setting('s3_secret_access_key')",
    "SELECT nextval('s')",
    "SELECT k FROM t ORDER BY getenv('HOME')",
    "SELECT * FROM t TIMESTAMP AS OF CAST(getenv('HOME') AS TIMESTAMP)",
    "INSERT INTO t SELECT length(getenv('HOME'))",
    "UPDATE t SET k = length(getenv('HOME'))",
    "DELETE FROM t WHERE k = length(getenv('HOME'))",
    "INSERT INTO t VALUES (length(getenv('HOME')))",
    "INSERT INTO t VALUES (9) RETURNING getenv('HOME')",
    "CREATE VIEW w AS SELECT getenv('HOME') AS h",
    "CREATE TABLE w AS SELECT getenv('HOME') AS h",
    "CREATE TABLE w (k INTEGER DEFAULT length(getenv('HOME')))",
    "CREATE TABLE w (k INTEGER CHECK (k > length(getenv('HOME'))))",
    "SELECT * INTO w FROM t",
    "SELECT * FROM (SELECT * FROM t FOR UPDATE) AS q",
    "(SELECT * FROM t) FOR UPDATE",
    "PRAGMA database_list",
    "ATTACH 'x.db'",
    "LOAD httpfs",
    "INSTALL httpfs",
    "PREPARE p AS SELECT getenv('HOME')",
    "SET VARIABLE x = getenv('HOME')",
]
UNREAD = [
    "TRUNCATE t PARTITION (k = 1)",
    "TRUNCATE TABLE IF EXISTS t",
    "SELECT * FROM (WITH d AS (DELETE FROM t RETURNING k) SELECT k FROM d)",
]


TABLES = ("CREATE TABLE t (k INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(prepared_warehouse(tmp_path / "w", TABLES), autocommit=True) as made:
        yield made


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A connection for tests whose statements change nothing."""
    place = tmp_path_factory.mktemp("unchanged") / "w"
    with gateway.connect(prepared_warehouse(place, TABLES), autocommit=True) as made:
        yield made


@pytest.mark.parametrize("sql", PLACES)
def test_a_table_is_found_wherever_it_stands(con: Connection, sql: str) -> None:
    con.execute(sql.format(t="t")).close()
    with pytest.raises(gateway.Error) as caught:
        con.execute(sql.format(t="pragma_database_list"))
    assert caught.value.sqlstate == "42P01"


@pytest.mark.parametrize("sql", REACHING)
def test_what_reaches_out_is_refused(unchanged: Connection, sql: str) -> None:
    before = unchanged.execute("SELECT k FROM t ORDER BY k").fetchall()
    with pytest.raises(gateway.Error) as caught:
        unchanged.execute(sql).fetchall()
    assert caught.value.sqlstate[:2] in {"0A", "42"}
    assert unchanged.execute("SELECT k FROM t ORDER BY k").fetchall() == before


@pytest.mark.parametrize(
    "action",
    [
        "ALTER a TYPE VARCHAR USING getenv('HOME')",
        "ALTER a TYPE VARCHAR USING getvariable('v')",
        "ADD COLUMN s.y VARCHAR DEFAULT getenv('HOME')",
        "ADD COLUMN s.y INTEGER DEFAULT getvariable('v')",
        "ADD COLUMN s.y INTEGER DEFAULT a",
        "ADD COLUMN s.y INTEGER DEFAULT (SELECT 1)",
        "ADD COLUMN s.y INTEGER DEFAULT nextval('q')",
    ],
)
def test_an_altered_column_or_field_reaches_nowhere(con: Connection, action: str) -> None:
    con.execute("CREATE TABLE u (a INTEGER, s STRUCT(x INTEGER))")
    con.execute("INSERT INTO u VALUES (1, {'x': 2})")
    con.execute("CREATE SEQUENCE q")
    con.execute("SET VARIABLE v = 5")
    with pytest.raises(gateway.Error) as caught:
        con.execute(f"ALTER TABLE u {action}")
    assert caught.value.sqlstate in {"0A000", "42P16", "42611"}
    assert con.execute("SELECT * FROM u").fetchall() == [(1, {"x": 2})]


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ('CREATE TABLE u (a "EN""UM")', "42601"),
        ("SET VARIABLE v = unnest([1, 2])", "22023"),
    ],
)
def test_no_raw_exception_gets_out(unchanged: Connection, sql: str, state: str) -> None:
    with pytest.raises(gateway.Error) as caught:
        unchanged.execute(sql)
    assert caught.value.sqlstate == state


@pytest.mark.parametrize("sql", UNREAD)
def test_a_clause_that_no_rule_reads_is_refused_at_its_place(
    unchanged: Connection, sql: str
) -> None:
    with pytest.raises(gateway.Error) as caught:
        unchanged.execute(sql)
    assert caught.value.sqlstate == "0A000"
    assert "(line 1, column " in str(caught.value)
    assert unchanged.execute("SELECT k FROM t ORDER BY k").fetchall() == [(1,), (2,)]


@pytest.mark.first(12)
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET k = o0 + 1",
        "UPDATE t SET k = 5 WHERE n0 = 1",
        "DELETE FROM t WHERE o0 = 1",
        "DELETE FROM t WHERE ov IS NULL",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = o0)",
        "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND e THEN DELETE",
        "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET k = o0",
        "INSERT INTO t VALUES (1) ON CONFLICT (k) DO UPDATE SET k = o0",
        "INSERT INTO u VALUES (1, c0)",
        "SELECT w, sum(k) FROM u WHERE g0 = 1 GROUP BY w",
        "SELECT w, sum(k) FROM u WHERE _palimpsest_g0 = 1 GROUP BY w",
        "DELETE FROM t WHERE _palimpsest_o0 = 1",
    ],
)
@pytest.mark.parametrize("changed", [False, True])
def test_names_of_the_rewrite_are_no_columns(con: Connection, sql: str, changed: bool) -> None:
    con.execute("CREATE TABLE u (k INTEGER PRIMARY KEY, w INTEGER)")
    con.execute("INSERT INTO u VALUES (1, 2), (2, 2)")
    if changed:
        con.execute("CALL system.flush()")
        con.execute("UPDATE u SET w = 3 WHERE k = 2")
    with pytest.raises(gateway.ProgrammingError) as caught:
        con.execute(sql).fetchall()
    assert caught.value.sqlstate == "42703"
    assert con.execute("SELECT k FROM t ORDER BY k").fetchall() == [(1,), (2,)]
