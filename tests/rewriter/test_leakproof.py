"""Which conditions rows are asked before a row policy: those that can fail on no row."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from journal.model.schema import Column, Table, TableName
from rewriter.reading.policies.leakproof import narrowed_rows

_TABLE = Table(
    1,
    TableName("main", "t"),
    (
        Column("k", "k", "BIGINT"),
        Column("name", "name", "VARCHAR"),
        Column("d", "d", "DATE"),
        Column("price", "price", "DECIMAL(9,2)"),
        Column("german", "german", "VARCHAR", collation="de"),
        Column("pay", "pay", "INTEGER"),
    ),
    ("k",),
)


def _asked(where: str, source: str = "t") -> str:
    """What rows are asked before the policy, pay being masked."""
    query = sqlglot.parse_one(f"SELECT * FROM {source} WHERE {where}", dialect="duckdb")
    node = next(n for n in query.find_all(exp.Table) if n.name == "t")
    rows = sqlglot.parse_one("SELECT 1")
    assert isinstance(rows, exp.Query)
    found = narrowed_rows(rows, node, _TABLE, {"pay"})
    where_of = found.args.get("where")
    return "" if where_of is None else where_of.this.sql("duckdb", identify=False).replace('"', "")


@pytest.mark.parametrize(
    "where",
    [
        "k = 5",
        "k >= -5",
        "k BETWEEN 1 AND 9",
        "k IN (1, 2)",
        "name = 'x'",
        "name < 'x' AND k = 1",
        "d = CAST('2024-02-28' AS DATE)",
        "d > '2024-01-01'",
    ],
)
def test_plain_comparisons_are_asked_before(where: str) -> None:
    assert _asked(where) == where


@pytest.mark.parametrize(
    "where",
    [
        "name = 7",
        "k = '7'",
        "k = 5.5",
        "k = 99999999999999999999",
        "k = ?",
        "price = 1",
        "german = 'x'",
        "pay = 0",
        "k = 1 OR name = 'x'",
        "NOT k = 1",
        "k + 1 = 2",
        "CAST(name AS INTEGER) = 7",
        "k = pay",
        "k IN (SELECT 1)",
        "d = '2024-02-30'",
        "d = 'tomorrow'",
        "length(name) = 1",
        "u.k = 1",
    ],
)
def test_conditions_that_may_leak_stay_above_the_policy(where: str) -> None:
    assert _asked(where) == ""


def test_names_mean_the_table_where_they_can() -> None:
    assert _asked("a.k = 1 AND b.k = 2 AND k = 3", "t AS a JOIN u AS b ON a.k = b.k") == "k = 1"
    assert _asked("x = 1", "t AS a (x, y)") == ""
