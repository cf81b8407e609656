"""Expressions of DuckDB's dialect that PostgreSQL reads otherwise, or has no word for.

Each of `tests/fixtures/duckdb_words.txt` gives on a PostgreSQL store what it gives in plain DuckDB,
with values of the same types, or fails on both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection

WORDS = Path(__file__).parent.parent / "fixtures" / "duckdb_words.txt"
SETUP = (
    """CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b BIGINT, c DOUBLE, d DECIMAL(10, 2),
    s VARCHAR, dt DATE, ts TIMESTAMP, f BOOLEAN)""",
    """INSERT INTO t VALUES
    (1, 10, 100, 1.5, 12.34, 'apple', '2024-01-15', '2024-01-15 10:20:30', true),
    (2, 20, 200, 2.5, 99.99, 'banana', '2024-02-29', '2024-02-29 23:59:59.123456', false),
    (3, NULL, 300, NULL, NULL, 'cherry', NULL, NULL, NULL),
    (4, 10, 400, -3.25, 0.01, 'date', '2023-12-31', '2023-12-31 00:00:00', true),
    (5, 30, NULL, 0.0, -5.50, NULL, '2024-03-10', '2024-03-10 12:00:00', false)""",
)
_QUERY = re.compile(r"(SELECT|FROM|DESCRIBE)\b", re.I)
_FAILED = "failed"


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(part) for part in value]
    return f"{value:.12g}" if isinstance(value, float) else value


def _outcome(execute: Callable[[str], Any], sql: str) -> object:
    """The rows of a query, sorted; that it failed, where it does."""
    try:
        rows = execute(sql).fetchall()
    except (gateway.Error, duckdb.Error):
        return _FAILED
    return sorted(repr([_shown(value) for value in row]) for row in rows)


def _run_on_both(
    plain: duckdb.DuckDBPyConnection, con: Connection, statements: Iterable[str]
) -> None:
    for sql in statements:
        plain.execute(sql)
        con.execute(sql)


@pytest.mark.parametrize("each", [8, pytest.param(1, marks=pytest.mark.long)])
def test_words_of_duckdb_mean_what_they_mean_there(con: Connection, each: int) -> None:
    with duckdb.connect() as plain:
        _run_on_both(plain, con, SETUP)
        different = []
        for line in WORDS.read_text("utf-8").splitlines()[::each]:
            sql = line if _QUERY.match(line) else f"SELECT {line}"
            wanted, got = _outcome(plain.execute, sql), _outcome(con.execute, sql)
            if wanted != got:
                different.append((sql, wanted, got))
    assert different == []


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT FROM t", "PAL-101"),
        ("PIVOT t ON 'x' USING sum(a)", "PAL-101"),
        ("SELECT 1::DECIMAL(40)", "PAL-216"),
        ("CREATE TABLE u (x DECIMAL(39))", "PAL-216"),
        ("SELECT '01/02/2024'::DATE", "PAL-317"),
        ("SELECT t FROM t", "PAL-110"),
        ("SELECT q FROM (SELECT a, id FROM t) AS q", "PAL-110"),
        ("WITH q AS (SELECT 1 AS a) SELECT q::VARCHAR FROM q", "PAL-110"),
        ("SELECT max(t) FROM t", "PAL-110"),
        ("SELECT q FROM unnest([1, 2]) AS q(v)", "PAL-110"),
        ("SELECT * EXCLUDE (t.id) FROM t JOIN (SELECT 1 AS id) AS o USING (id)", "PAL-110"),
        ("SELECT count(*) FROM t, t AS o USING SAMPLE 3 ROWS", "PAL-110"),
        ("SELECT (1, 2)", "PAL-110"),
        ("SELECT regexp_extract(s, '<.*?>a*') FROM t", "PAL-110"),
        ("SELECT TRY_CAST(s AS INTEGER[]) FROM t", "PAL-110"),
        ("SELECT x FROM unnest([[1], [2]]) AS u(x)", "PAL-110"),
        ("SELECT [[1], [2, 3]]", "PAL-110"),
        ("SELECT [[[]]]", "PAL-110"),
        ("SELECT [[[1]], []]", "PAL-110"),
        ("SELECT date_part(['year', 'month'], dt) FROM t", "PAL-110"),
        ("SELECT format('{:e}', c) FROM t", "PAL-110"),
        ("SELECT median(dt) FROM t", "PAL-110"),
        ("SELECT icu_sort_key(s, 'en') FROM t", "PAL-110"),
        ("CREATE TABLE u (s VARCHAR COLLATE NOCASE)", "PAL-110"),
        ("SELECT s COLLATE NOACCENT = 'e' FROM t", "PAL-110"),
        ("DELETE FROM t RETURNING * EXCLUDE (id, a, b, c, d, s, dt, ts, f)", "PAL-216"),
    ],
)
def test_what_duckdb_refuses_or_the_store_lacks_has_a_code(
    con: Connection, sql: str, code: str
) -> None:
    con.execute(SETUP[0])
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    assert f"[{code}]" in str(raised.value)


def test_a_byte_takes_no_more_than_a_byte_has(con: Connection) -> None:
    con.execute("CREATE TABLE t (b TINYINT)")
    for values in ("VALUES (300)", "SELECT 200"):
        with pytest.raises(gateway.Error, match="out of range"):
            con.execute(f"INSERT INTO t {values}")
    con.execute("INSERT INTO t VALUES (-128), (127)")
    assert con.execute("SELECT * FROM t ORDER BY b").fetchall() == [(-128,), (127,)]


def test_whole_numbers_stay_whole_through_tables_and_views(con: Connection) -> None:
    con.execute(SETUP[0])
    con.execute(SETUP[1])
    con.execute("CREATE TABLE sums AS SELECT sum(b) AS s FROM t")
    con.execute("CREATE VIEW v AS SELECT sum(b) // 2 AS half, c::VARCHAR AS c FROM t GROUP BY c")
    assert con.execute("SELECT s, s + 1 FROM sums").fetchall() == [(1000, 1001)]
    assert con.execute("DESCRIBE sums").fetchall()[0][:2] == ("s", "HUGEINT")
    assert con.execute("SELECT * FROM v WHERE c = '2.5'").fetchall() == [(100, "2.5")]
    arrow = con.execute("SELECT sum(b) AS s FROM t").fetch_arrow()
    assert arrow.to_pylist() == [{"s": 1000}]


def test_columns_of_exact_numbers_take_the_digits_that_a_double_has(con: Connection) -> None:
    statements = (
        "CREATE TABLE u (k INTEGER, c DOUBLE, r FLOAT, n DECIMAL(10, 2), h HUGEINT)",
        "INSERT INTO u VALUES (1, 1.005, 123456.785, 0, 0)",
        "INSERT INTO u SELECT 2, c, r, c, 12345678901234567.0::DOUBLE FROM u",
        "INSERT INTO u (n, k) SELECT r, 3 FROM u WHERE k = 1",
        "INSERT INTO u BY NAME SELECT c AS n, 4 AS k FROM u WHERE k = 1",
        "UPDATE u SET n = r, h = c WHERE k = 1",
        "INSERT INTO u (k, n) VALUES (5, 1.005::DOUBLE), (6, 123456.785::FLOAT)",
        """MERGE INTO u USING (VALUES (6, 1.005::DOUBLE), (7, 8.005::DOUBLE)) AS s(k, x)
        ON u.k = s.k WHEN MATCHED THEN UPDATE SET n = s.x
        WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.x)""",
        "UPDATE u SET h = 99 WHERE r = 123456.785 AND k = 2",
        "CREATE TABLE w (k INTEGER PRIMARY KEY, n DECIMAL(10, 2), r FLOAT)",
        "INSERT INTO w VALUES (1, 0.1, 0.1), (2, 0.3, 0.5)",
        "INSERT INTO w (k) VALUES (1) ON CONFLICT (k) DO UPDATE SET n = w.r + 1.005::DOUBLE",
        "DELETE FROM w WHERE r = 0.5",
    )
    with duckdb.connect() as plain:
        _run_on_both(plain, con, statements)
        for query in ("SELECT k, n, h FROM u ORDER BY k", "SELECT k, n FROM w"):
            assert con.execute(query).fetchall() == plain.execute(query).fetchall()


def test_columns_of_texts_take_the_texts_that_duckdb_writes(con: Connection) -> None:
    statements = (
        *SETUP,
        "CREATE TABLE u (k INTEGER, s VARCHAR, h BIGINT, ts TIMESTAMP)",
        "INSERT INTO u (k, s) VALUES (1, [1, 2]), (2, [[1]])",
        "INSERT INTO u (k, s) VALUES (3, 1.0::DOUBLE), (4, 1e20::DOUBLE)",
        "INSERT INTO u (k, s) SELECT id + 10, c FROM t",
        "INSERT INTO u (k, s) SELECT id + 20, f FROM t",
        "INSERT INTO u (k, h, ts) VALUES (30, '7.6', '2024-01-01 10:00:00.1234567')",
        "UPDATE u SET s = [k, 1], h = '9.5' WHERE k = 30",
        "UPDATE u SET s = INTERVAL 1 DAY WHERE k = 4",
    )
    with duckdb.connect() as plain:
        _run_on_both(plain, con, statements)
        query = "SELECT * FROM u ORDER BY k"
        assert con.execute(query).fetchall() == plain.execute(query).fetchall()


def test_conditions_and_values_of_definitions_mean_what_they_mean_in_duckdb(
    con: Connection,
) -> None:
    statements = (
        r"""CREATE TABLE u (k INTEGER, s VARCHAR CHECK (s LIKE 'a\%'),
        n DOUBLE CHECK (n::VARCHAR <> '1.0'), t VARCHAR AS (n || '-' || k),
        r VARCHAR DEFAULT format('{:.2f}', 1 / 3),
        w VARCHAR, CHECK (regexp_matches(w, '^\w+$')))""",
        r"INSERT INTO u (k, s) VALUES (1, 'a\b')",
        "INSERT INTO u (k, s) VALUES (2, 'a%b')",
        "INSERT INTO u (k, n) VALUES (3, 1)",
        "INSERT INTO u (k, n) VALUES (4, 2)",
        "INSERT INTO u (k, w) VALUES (5, 'ä')",
        "ALTER TABLE u ADD COLUMN z VARCHAR DEFAULT printf('%03d', 7)",
    )
    with duckdb.connect() as plain:
        for sql in statements:
            for execute in (plain.execute, con.execute):
                with suppress(gateway.Error, duckdb.Error):
                    execute(sql)
        query = "SELECT k, s, n, t, r, w, z FROM u ORDER BY k"
        found = con.execute(query).fetchall()
        assert found == plain.execute(query).fetchall()
        assert [row[0] for row in found] == [1, 4]


def test_a_summary_says_what_duckdb_says(con: Connection) -> None:
    queries = (
        "SUMMARIZE t",
        "SUMMARIZE SELECT a + 1, avg(b) OVER (), length(s), d * 2 FROM t",
        "SUMMARIZE SELECT [1] AS l, '{}'::JSON AS j, 'x'::BLOB AS b, TIME '10:00' AS tm, true AS f",
        "SUMMARIZE SELECT 1 AS a WHERE false",
        "SELECT * FROM (SUMMARIZE t) WHERE null_percentage > 0",
    )
    with duckdb.connect() as plain:
        _run_on_both(plain, con, SETUP)
        for query in queries:
            found, wanted = con.execute(query), plain.execute(query)
            assert [c[0] for c in found.description] == [c[0] for c in wanted.description]
            assert sorted(map(_rounded, found.fetchall())) == sorted(
                map(_rounded, wanted.fetchall())
            )


def _rounded(row: tuple[Any, ...]) -> str:
    """A row of a summary, its deviation without the last digits."""
    return repr([value if place != 6 else value and value[:12] for place, value in enumerate(row)])


def test_returning_gives_intervals_as_a_query_does(con: Connection) -> None:
    con.execute("CREATE TABLE spans (v INTERVAL, l INTERVAL[])")
    added = con.execute("INSERT INTO spans VALUES ('1 day 2 hours', ['2 months']) RETURNING *")
    assert added.fetchall() == [(timedelta(days=1, hours=2), [timedelta(days=60)])]
    assert (
        con.execute("SELECT * FROM spans").fetchall()
        == con.execute("DELETE FROM spans RETURNING *").fetchall()
    )


@pytest.mark.parametrize("text", ["02-03-1992", "1992-3-2", "1992/03/02", "infinity", "x"])
def test_texts_for_columns_of_days_are_read_as_duckdb_reads_them(
    con: Connection, text: str
) -> None:
    with duckdb.connect() as plain:
        found = []
        for execute in (plain.execute, con.execute):
            execute("CREATE TABLE days (d DATE)")
            outcome = _outcome(execute, f"INSERT INTO days VALUES ('{text}') RETURNING d::VARCHAR")
            found.append(outcome)
        assert found[0] == found[1]


def test_tables_made_of_decimals_have_their_digits(con: Connection) -> None:
    statements = (
        "CREATE TABLE u AS SELECT 1.5 AS a, 1.25 + 1 AS b, sum(1.5) AS c, 1.5, 7 AS d",
        "CREATE TABLE v AS SELECT 1.5 AS a UNION ALL SELECT 22.75",
        "CREATE TABLE w AS SELECT * FROM (VALUES (10.0000000005), (1000000)) AS v(a)",
        "CREATE VIEW x AS SELECT coalesce(a, 7) AS a, a AS A, MAX(b) FROM u GROUP BY ALL",
        "INSERT INTO u (a, b) VALUES (1.26, 2.345)",
    )
    asked = ("DESCRIBE u", "DESCRIBE v", "DESCRIBE w", "FROM u", "FROM v", "FROM w", "FROM x")
    with duckdb.connect() as plain:
        _run_on_both(plain, con, statements)
        for sql in asked:
            assert _outcome(con.execute, sql) == _outcome(plain.execute, sql)


def test_dates_of_a_file_are_read_in_the_form_that_is_given(
    con: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "days.csv"
    file.write_text(",05/06/2019\n,\n")
    with duckdb.connect() as plain:
        found = []
        for execute in (plain.execute, con.execute):
            execute("CREATE TABLE days (s VARCHAR, d DATE)")
            forms = "HEADER 0, DATEFORMAT '%d/%m/%Y', FORCE_NOT_NULL (s)"
            execute(f"COPY days FROM '{file}' ({forms})")
            found.append(_outcome(execute, "SELECT s, d::VARCHAR FROM days"))
        assert found[0] == found[1]
