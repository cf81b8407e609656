"""What Apache Hive is told: clauses it lacks written out, and nothing it could answer otherwise."""

from __future__ import annotations

import base64
import re

import pytest
import sqlglot

from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn
from journal.model.schema import Column, Table, TableName
from journal.model.segment import Fields
from journal.stores.hive import layout
from journal.stores.hive.dialect.apache_nested import as_shown, check_nested
from journal.stores.hive.dialect.text import rendered
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.rows import HeldRelation

FIELDS: Fields = (("k", "INTEGER"), ("at", "TIMESTAMP"))
TABLE = Table(1, TableName("main", "t"), (Column("k", "k", "INTEGER"),), ("k",))


def told(sql: str) -> str:
    return rendered(sqlglot.parse_one(sql, read="duckdb"), engine=HiveEngine.APACHE)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            "SELECT t.a FROM t ANTI JOIN u ON t.a = u.a WHERE t.a > 1",
            (
                "SELECT `t`.`a` FROM `t` LEFT JOIN (SELECT `r`.*, 1 AS `palimpsest_matched_0` FROM"
                " (SELECT * FROM `u`) AS r) AS `u` ON `t`.`a` = `u`.`a`"
                " WHERE `t`.`a` > 1 AND COALESCE(`u`.`palimpsest_matched_0`, 0) = 0"
            ),
        ),
        (
            "SELECT q.x FROM (SELECT a, b FROM t UNION ALL SELECT 1, 2) AS q(x, y)",
            (
                "SELECT `q`.`x` FROM (SELECT `a` AS `x`, `b` AS `y` FROM `t` UNION ALL SELECT 1, 2)"
                " AS `q`"
            ),
        ),
        ("SELECT count_if(a > 1) FROM t", "SELECT COUNT(CASE WHEN `a` > 1 THEN 1 END) FROM `t`"),
        (
            "SELECT count(*) FILTER (WHERE a > 1) FROM t",
            "SELECT COUNT(CASE WHEN `a` > 1 THEN 1 END) FROM `t`",
        ),
        ("SELECT CAST('2024-01-02' AS DATE)", "SELECT CAST('2024-01-02' AS DATE)"),
        (
            "SELECT CAST(a AS DECIMAL(9, 2)) FROM t",
            (
                "SELECT CASE WHEN NOT WIDTH_BUCKET(1, 1, 2, CASE WHEN `a` IS NULL OR COALESCE(NOT"
                " CAST(`a` AS DECIMAL(9, 2)) IS NULL, FALSE) THEN 1 ELSE 0 END) IS NULL"
                " THEN CAST(`a` AS DECIMAL(9, 2)) END FROM `t`"
            ),
        ),
        ("SELECT TIMESTAMP '2024-01-02 10:30'", "SELECT CAST('2024-01-02 10:30:00' AS TIMESTAMP)"),
        (
            "SELECT t.a FROM t SEMI JOIN u ON t.a = u.a",
            "SELECT `t`.`a` FROM `t` LEFT SEMI JOIN `u` ON `t`.`a` = `u`.`a`",
        ),
        (
            "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b > 1)",
            (
                "SELECT `t`.* FROM `t` LEFT JOIN (SELECT DISTINCT `u`.`a` AS `k0`, 1 AS `mark` FROM"
                " `u` WHERE `u`.`b` > 1) AS palimpsest_exists_0 ON"
                " palimpsest_exists_0.`k0` = `t`.`a` WHERE"
                " (COALESCE(palimpsest_exists_0.`mark`, 0) = 1)"
            ),
        ),
    ],
    ids=[
        *("anti join", "names", "count_if", "filter", "sure cast", "checked cast", "minutes"),
        *("semi join", "exists"),
    ],
)
def test_what_is_written_out(asked: str, expected: str) -> None:
    assert told(asked) == expected


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT a + 1 FROM t",
        "SELECT a / b FROM t",
        "SELECT regexp_extract(a, 'x') FROM t",
        "SELECT a FROM t WHERE b LIKE 'x\\%'",
        "SELECT [a] FROM t",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a > t.a)",
        "SELECT a FROM t WHERE EXISTS (SELECT max(u.a) FROM u WHERE u.a = t.a HAVING max(u.a) > 1)",
        "SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)",
        "SELECT EXISTS (SELECT 1 FROM u WHERE u.a = t.a) FROM t",
        "SELECT a FROM t WHERE regexp_matches(a, 'x$')",
        "SELECT CAST('1.5' AS INTEGER) FROM t",
        "SELECT a FROM t WHERE 1 = '1d'",
        "SELECT a FROM t WHERE (a, b) IN (SELECT a, b FROM u)",
        "SELECT a FROM t WHERE a IN (SELECT u.a FROM u WHERE u.b = t.b)",
        "SELECT a FROM t TABLESAMPLE (1 ROWS)",
        "WITH RECURSIVE q AS (SELECT 1 UNION ALL SELECT 2) SELECT * FROM q",
        "SELECT * FROM (SELECT * FROM t) AS q(x)",
    ],
)
def test_what_could_be_answered_otherwise_is_refused(asked: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        told(asked)
    assert raised.value.code is Code.NOT_SUPPORTED


def test_a_query_that_asks_of_its_own_rows_alone_is_asked() -> None:
    rows = "(SELECT k, d FROM s.t1 WHERE segment IN ('a') AND d > k) AS u"
    told(f"SELECT k FROM (SELECT k FROM t) AS t WHERE k NOT IN (SELECT k FROM {rows} WHERE d = 7)")
    with pytest.raises(PalimpsestError):
        told(
            f"SELECT k FROM (SELECT k, n FROM t) AS t WHERE k IN (SELECT k FROM {rows} WHERE n = 7)"
        )


def test_a_refusal_tells_no_texts() -> None:
    with pytest.raises(PalimpsestError) as raised:
        told("SELECT a FROM t WHERE levenshtein(a, 'secret') = 1")
    assert "secret" not in str(raised.value)


def test_versions_of_the_gateway_are_cast_as_they_are() -> None:
    assert told("SELECT CAST(make_timestamptz(5) AS TIMESTAMPTZ)").endswith("AS TIMESTAMP)")


def test_rows_of_the_gateway_are_one_literal() -> None:
    held = HeldRelation((ResultColumn("k", "INTEGER"),), [["1"], [None]])
    text = rendered(held.query(), engine=HiveEngine.APACHE)
    assert "EXPLODE(SPLIT('.MQ==;-', ';'))" in text
    assert "CAST(CASE WHEN SPLIT(`r`, ',')[0] = '-' THEN NULL ELSE" in text


def test_journals_are_external_tables_with_typed_partitions() -> None:
    made = layout.create_journal(layout.Names("default"), TABLE, FIELDS)
    text = rendered(made, engine=HiveEngine.APACHE)
    assert text.startswith("CREATE EXTERNAL TABLE IF NOT EXISTS `default_palimpsest`.`j_t")
    assert "`at` TIMESTAMP" in text
    assert text.endswith(
        "PARTITIONED BY (`palimpsest_segment` STRING) STORED AS PARQUET"
        " TBLPROPERTIES ('external.table.purge'='true')"
    )


def test_nested_values_are_texts_in_journals_and_values_in_views() -> None:
    columns = (Column("k", "k", "INTEGER"), Column("l", "c2", "DECIMAL(4, 2)[]"))
    table = Table(1, TableName("main", "t"), columns, ("k",))
    check_nested(table)
    fields = (("k", "INTEGER"), ("c2", "DECIMAL(4, 2)[]"))
    made = layout.create_journal(layout.Names("default"), table, fields)
    assert "`c2` STRING" in rendered(made, engine=HiveEngine.APACHE)
    rows = sqlglot.parse_one("SELECT k, c2 AS l FROM j", read="duckdb")
    shown = rendered(as_shown(rows, table, HiveEngine.APACHE), engine=HiveEngine.APACHE)
    assert "JSON_READ(`q`.`l`, 'array<decimal(4,2)>') AS `l`" in shown
    assert as_shown(rows, table, HiveEngine.SPARK) is rows


def test_numbers_with_a_point_are_texts_in_nested_values() -> None:
    kinds = (ResultColumn("k", "INTEGER"), ResultColumn("l", "STRUCT(a DOUBLE, b INTEGER)"))
    held = HeldRelation(kinds, [("1", '{"a":Infinity,"b":7}'), ("2", None)])
    text = rendered(held.query(), engine=HiveEngine.APACHE)
    (lines,) = re.findall(r"SPLIT\('([^']*)', ';'\)", text)
    sent = [part.lstrip(".") for part in lines.split(";")[0].split(",.")]
    assert [base64.b64decode(part).decode() for part in sent] == [
        "1",
        '{"a":"Infinity","b":7}',
    ]
    assert lines.endswith(",-")


@pytest.mark.parametrize("kind", ["BLOB[]", "STRUCT(A INTEGER)", "MAP(DOUBLE, INTEGER)"])
def test_members_that_would_not_come_back_are_refused(kind: str) -> None:
    columns = (Column("k", "k", "INTEGER"), Column("v", "v", kind))
    with pytest.raises(PalimpsestError, match="takes no") as raised:
        check_nested(Table(1, TableName("main", "t"), columns, ("k",)))
    assert raised.value.code is Code.NOT_SUPPORTED


def test_an_engine_is_known_by_the_name_it_gives() -> None:
    assert HiveEngine.of_name("Apache Hive") is HiveEngine.APACHE
    assert HiveEngine.of_name("Spark SQL") is HiveEngine.SPARK
    assert HiveEngine.of_name("") is HiveEngine.SPARK
