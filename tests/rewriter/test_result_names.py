"""Result columns without an alias are called what DuckDB calls them, subqueries included."""

from pathlib import Path

import duckdb
import pytest
import sqlglot

import gateway
from rewriter.reading.keywords import KEYWORDS
from rewriter.reading.result_names import result_name

SETUP = (
    "CREATE SCHEMA s",
    'CREATE TABLE s.t ("Mixed" INTEGER, "two words" INTEGER, b INTEGER, x VARCHAR)',
    "INSERT INTO s.t VALUES (1, 2, 3, 'it''s')",
    'CREATE TABLE s.words (Name INTEGER, "order" INTEGER, value INTEGER)',
)
PROJECTIONS = [
    '(SELECT q."Mixed" FROM s.t AS q, s.t AS r)',
    '(SELECT "two words"+b FROM s.t)',
    '(SELECT max(x."Mixed") FROM s.t x JOIN s.t y ON x.b=y.b)',
    "(SELECT max(b) FROM s.t LEFT JOIN s.t AS z USING (b))",
    "EXISTS(SELECT 1 FROM s.t WHERE \"Mixed\"=1 AND x = 'it''s' AND b < 4)",
    "NOT EXISTS (SELECT 1 FROM s.t q WHERE q.b = t.b)",
    "b IN (SELECT b FROM s.t)",
    "b NOT IN (SELECT b FROM s.t)",
    "b = ANY (SELECT b FROM s.t)",
    "(SELECT count(*) FROM s.t)",
    "coalesce((SELECT max(b) FROM s.t), 0) + 1",
    "(SELECT b FROM s.t ORDER BY b DESC LIMIT 1 OFFSET 0)",
    "(SELECT b::BIGINT FROM s.t WHERE b IS NULL OR x IS NOT NULL)",
    "(SELECT b FROM s.t WHERE b BETWEEN 1 AND 3 AND b IN (3, 4) AND x LIKE '%t%')",
    "(SELECT CASE WHEN b > 1 THEN 2 ELSE 3 END FROM s.t)",
    "(SELECT -b FROM s.t)",
    "(SELECT b FROM s.t WHERE b < 0 UNION ALL SELECT 1)",
    '(SELECT q.Name + q."order" FROM s.words AS q, s.words AS value WHERE value.value = 1)',
    "(SELECT sum(b) FILTER (WHERE b > 1) FROM s.t GROUP BY x HAVING count(*) > 0)",
]


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Plain DuckDB and the gateway, with the same table."""
    root: Path = tmp_path_factory.mktemp("names")
    plain = duckdb.connect()
    ours = gateway.connect(f"palimpsest:///{root}", autocommit=True).cursor()
    for statement in SETUP:
        plain.execute(statement)
        ours.execute(statement)
    return [plain, ours]


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_name_is_that_of_the_store(connections: list[object], projection: str) -> None:
    names = []
    for connection in connections:
        connection.execute(f"SELECT {projection} FROM s.t")  # type: ignore[attr-defined]
        names.append(connection.description[0][0])  # type: ignore[attr-defined]
    assert names[1] == names[0]


def test_keywords_are_the_stores() -> None:
    known = duckdb.connect().execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    assert {name for (name,) in known} == KEYWORDS


KNOWN = [
    "a%2", "a // 2", "a/2 + 1", "a||s", "sum(case when a<5 then b end)", "round(avg(b),2)",
    "abs(a)", "SUM(abs(a))", "upper(s)", "length(s)", "sum(length(s))", "a in (1,2)",
    "a NOT IN (1, 2)", "-1", "a between 1 and 2", "a is null", "a is not null",
    "not (a = 1 and b = 2 or a<>3)", "- sum(a)",
    "coalesce(sum(a),0)", "count(distinct a)", "sum(a) filter (where b > 1 and s='x')", "count(*)",
    "s like 'a%'", "s NOT LIKE 'it''s%'", "a*1.50", "sum(d*(1-d))", "t.a % 2", "((a+1))", "a - -1",
    "100.00 * sum(case when s like 'P%' then d else 0 end)/sum(d)", 'sum("A")', "b = 'x'", "a*1e3",
    "trim(s)", "nullif(a, 0)", "Year(dt)", "hash(a)", "s::DECIMAL(5, 1)", "trim(both 'x' from s)",
    "greatest(a, 2)", "LEFT(s, 2)", "replace(s, 'a', 'b')", "month(dt) + 1", "strftime(dt, '%Y')",
]  # fmt: skip
UNKNOWN = [
    "mod(a, 2)", "len(s)", "ifnull(a, 0)", "power(a, 2)", "a^2", "case a when 1 then 2 end", "true",
    "a::text", "dt + interval '1' month",
    "a in (select 1)", "a::hugeint[]",
]  # fmt: skip
OURS = [
    "date_trunc('month', dt)", "extract(year from dt)", "if(a > 1, 2, 3)", "substr(s, 1, 2)",
    "date_diff('day', dt, dt)", "sum(if(a > 1, a, 0))", "CAST(a AS double)",
]  # fmt: skip
"""What the gateway sends in other words than the client's: the store names columns after those."""


@pytest.mark.parametrize("projection", KNOWN)
def test_names_of_what_is_split_are_those_of_the_store(projection: str) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (a INTEGER, b BIGINT, d DECIMAL(10, 2), s VARCHAR, dt DATE)")
    described = con.execute(f"DESCRIBE SELECT {projection} FROM t GROUP BY ALL").fetchall()
    assert result_name(sqlglot.parse_one(projection, dialect="duckdb")) == described[0][0]


@pytest.mark.parametrize("projection", OURS)
def test_names_of_what_is_sent_in_other_words(projection: str) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (a INTEGER, s VARCHAR, dt DATE)")
    parsed = sqlglot.parse_one(projection, dialect="duckdb")
    sent = parsed.sql(dialect="duckdb")
    described = con.execute(f"DESCRIBE SELECT {sent} FROM t GROUP BY ALL").fetchall()
    assert result_name(parsed) == described[0][0]


@pytest.mark.parametrize("projection", UNKNOWN)
def test_names_that_may_be_others_are_not_known(projection: str) -> None:
    assert result_name(sqlglot.parse_one(projection, dialect="duckdb")) is None
