"""Apache Hive answers a query as DuckDB does, or not at all: nothing is read in the gateway."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.hive.test_select import QUERIES, TABLES, _rows
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.timeout(1800)
MOMENTS = (
    "CREATE TABLE m (k INTEGER, ts TIMESTAMP, z TIMESTAMPTZ, day DATE, b BOOLEAN, s VARCHAR)",
    "INSERT INTO m VALUES (1, '2024-01-01 10:00', '2024-01-01 12:00+02', '2024-01-01', true, '1d')",
    "INSERT INTO m VALUES (2, '2024-01-01', '2024-06-01', '2024-02-29', false, '2024-01-01 10:00')",
    "INSERT INTO m VALUES (3, NULL, NULL, NULL, NULL, '12')",
    "INSERT INTO m VALUES (4, '1969-12-31 23:59:59.999999', NULL, '0001-01-01', true, 'x')",
)
FLAT = [sql for sql in TABLES if "nested" not in sql]
"""What is made of columns that journals of Apache Hive have."""
SAME = [
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM few f WHERE f.v = t.n) ORDER BY k",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM gaps f WHERE f.v = t.n) ORDER BY k",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM few f WHERE f.v = n OR f.v = k) ORDER BY k",
    "SELECT k FROM t WHERE k = 4 OR NOT EXISTS (SELECT 1 FROM few f WHERE f.v = t.n AND t.k > 1)",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM few f WHERE f.v = t.n AND f.v = 3)",
    "SELECT t.k FROM t ANTI JOIN (SELECT v FROM few WHERE v = 3) f ON f.v = t.n WHERE t.k > 1",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM none)",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM few WHERE v > 2)",
    "SELECT a.k, b.k FROM t a, t b WHERE a.n = b.n AND EXISTS (SELECT 1 FROM few WHERE v = b.n)",
    "SELECT g, count(*) FROM t WHERE EXISTS (SELECT 1 FROM few WHERE v = n) GROUP BY g",
    "SELECT coalesce(g, 'z'), count(*) FROM t GROUP BY 1",
    "SELECT sum(w), count(*) FROM (SELECT row_number() OVER () AS w FROM t) q",
    "SELECT CAST(k AS VARCHAR), CAST(d AS VARCHAR), g || 'x', trim(g) FROM t",
    "SELECT TRY_CAST(g AS DATE), TRY_CAST(g AS BOOLEAN), TRY_CAST(g AS DOUBLE) FROM t",
    "SELECT k FROM t WHERE n IS DISTINCT FROM 3",
    "SELECT t.k, f.v FROM t FULL JOIN gaps f ON f.v = t.n",
    "SELECT v FROM gaps EXCEPT SELECT v FROM few",
    "SELECT * FROM m",
    "SELECT k FROM m WHERE z = TIMESTAMPTZ '2024-01-01 10:00:00+00'",
    "SELECT max(z), min(ts) FROM m",
    "SELECT z, count(*) FROM m GROUP BY z",
    "SELECT CAST(ts AS VARCHAR), CAST(day AS VARCHAR), CAST(b AS VARCHAR) FROM m",
    "SELECT k FROM m WHERE ts = '2024-01-01 10:00:00' OR s = '1d' OR s = '2024-01-01 10:00'",
    "SELECT k FROM m WHERE day < ts OR ts < z",
    "SELECT k, k < n OR k > x, k NOT BETWEEN n AND x FROM t WHERE k < n OR k > x",
    "SELECT k FROM t WHERE NOT (k BETWEEN n AND x)",
    "SELECT k FROM t WHERE n BETWEEN 1 AND 3 OR k IN (4, n)",
    "SELECT TRY_CAST(s AS INTEGER), TRY_CAST(s AS DATE) FROM m WHERE k = 3 AND s IS NULL",
    "SELECT TIMESTAMP '2024-01-01 10:00', CAST('true' AS BOOLEAN), CAST(-1 AS BIGINT) FROM few",
    "SELECT coalesce(z, TIMESTAMPTZ '2024-01-01 00:00:00+02') FROM m",
    "SELECT k, q.n FROM t JOIN t q USING (k) WHERE k > 1 ORDER BY k",
    "SELECT v, k FROM t RIGHT JOIN (SELECT v, v AS k FROM gaps WHERE v > 1) q USING (k)",
    "SELECT k AS n, count(*) FROM t LEFT JOIN (SELECT v AS k FROM few) q USING (k) GROUP BY k",
    "SELECT * EXCLUDE (g, x) REPLACE (upper(g) AS n) FROM t",
    "SELECT k FROM t WHERE NOT (NOT g IS NOT NULL OR NOT (g NOT IN ('a', NULL)))",
]
"""Those that it answers, and must not begin to refuse."""
OTHERS = [
    *(sql for sql in QUERIES if "nested" not in sql),
    "SELECT CAST(x AS VARCHAR) FROM t",
    "SELECT g || x FROM t",
    "SELECT CAST(x AS INTEGER) FROM t",
    "SELECT CAST(n AS BOOLEAN) FROM t",
    "SELECT TRY_CAST(d AS INTEGER) FROM t",
    "SELECT k FROM t WHERE CAST(g AS INTEGER) IS NULL",
    "SELECT k FROM t WHERE CAST(x AS INTEGER) = 0",
    "SELECT CAST('1.5' AS INTEGER), TRY_CAST('1e3' AS INTEGER) FROM few",
    "SELECT CAST(3000000000 AS INTEGER) FROM few",
    "SELECT k FROM t WHERE d > '2'",
    "SELECT k FROM t WHERE (k, n) IN (SELECT 1, 3)",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.g = t.g AND u.k > t.k)",
    "SELECT k FROM t WHERE n IN (SELECT v FROM few WHERE v <> k)",
    "SELECT k + 1, d / 0 FROM t",
    "SELECT k FROM m WHERE k = '1d'",
    "SELECT k FROM m WHERE k IN ('1d', '2')",
    "SELECT k FROM m WHERE ts IN ('2024-01-01 10:00')",
    "SELECT k FROM m WHERE ts BETWEEN '2024-01-01 09:00' AND '2024-01-01 11:00'",
    "SELECT k FROM m WHERE z > '2024-01-01 10:00:00+02'",
    "SELECT k FROM m WHERE day = '2024-1-1'",
    "SELECT k FROM m WHERE b = 'true'",
    "SELECT TRY_CAST(s AS TIMESTAMP) FROM m",
    "SELECT CAST(q.i AS VARCHAR) FROM (SELECT z AS i FROM m) q",
    "SELECT s || z FROM m",
    "SELECT CAST(z AS DATE), CAST(ts AS TIMESTAMPTZ) FROM m",
    "SELECT ts FROM m UNION SELECT z FROM m",
    "SELECT t.* RENAME (k AS other) FROM t JOIN m USING (k)",
    "SELECT * FROM few FULL JOIN (SELECT k AS v FROM t) q USING (v)",
    "SELECT v FROM few FULL JOIN (SELECT k AS v FROM t) q USING (v)",
    "SELECT v FROM few JOIN gaps USING (v) JOIN (SELECT k AS v FROM t) q USING (v)",
    "SELECT CASE WHEN b THEN s::BLOB || 'z'::BLOB ELSE 'x'::BLOB END FROM m WHERE k < 3",
]


REFUSALS = ("PAL-110", "PAL-208", "PAL-310")
"""Not supported, not to be bound, or a value that Hive would read otherwise."""


@pytest.fixture(scope="module")
def both(
    apache: ThriftServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Connection, duckdb.DuckDBPyConnection]]:
    """The same tables in Apache Hive, through the gateway, and in DuckDB."""
    url = apache.new_store(tmp_path_factory.mktemp("select"), held_rows="0")
    with gateway.connect(url, autocommit=True) as hive, duckdb.connect() as plain:
        hive.execute("SET TIME ZONE 'UTC'")
        plain.execute("SET TimeZone = 'UTC'")
        for sql in (*FLAT, *MOMENTS):
            hive.execute(sql)
            plain.execute(sql)
        yield hive, plain


@pytest.mark.parametrize("sql", SAME)
def test_apache_hive_and_duckdb_return_the_same_rows(
    both: tuple[Connection, duckdb.DuckDBPyConnection], sql: str
) -> None:
    hive, plain = both
    found, expected = hive.execute(sql), plain.execute(sql)
    assert found.description is not None
    assert _names(found.description) == _names(expected.description)
    assert _rows(found.fetchall()) == _rows(expected.fetchall())


def _names(description: Sequence[Sequence[object]]) -> list[str]:
    return [str(column[0]).replace("AS TEXT", "AS VARCHAR") for column in description]


@pytest.mark.parametrize("sql", OTHERS)
def test_the_same_answer_or_none(
    both: tuple[Connection, duckdb.DuckDBPyConnection], sql: str
) -> None:
    found = _asked(both[0], sql)
    assert found in REFUSALS or found == _rows(both[1].execute(sql).fetchall())


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT k FROM t WHERE g > 3", "PAL-216"),
        ("SELECT t.k FROM t JOIN m ON g = ts", "PAL-110"),
        ("SELECT k FROM (SELECT k, s AS q, day AS d FROM m) x WHERE q < d", "PAL-110"),
    ],
)
def test_what_cannot_be_compared(
    both: tuple[Connection, duckdb.DuckDBPyConnection], sql: str, code: str
) -> None:
    with pytest.raises(duckdb.Error):
        both[1].execute(sql).fetchall()
    assert _asked(both[0], sql) == code


def _asked(hive: Connection, sql: str) -> object:
    """The rows of a query, or the code of its error."""
    try:
        return _rows(hive.execute(sql).fetchall())
    except gateway.Error as error:
        return error.code


def test_a_text_that_is_a_parameter(
    both: tuple[Connection, duckdb.DuckDBPyConnection],
) -> None:
    hive, _ = both
    asked = "SELECT k FROM m WHERE ts = ? ORDER BY k"
    assert hive.execute(asked, ["2024-01-01 10:00:00"]).fetchall() == [(1,)]
    with pytest.raises(gateway.Error):
        hive.execute(asked, ["2024-01-01 10:00"]).fetchall()
    assert hive.execute("SELECT k FROM m WHERE s = ?", ["1d"]).fetchall() == [(1,)]
