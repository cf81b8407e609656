"""Deep nesting is an error with a code: it neither ends the process nor keeps it busy."""

from __future__ import annotations

import pytest

import gateway

DEEP = 20_000
SHAPES = {
    "parentheses": "SELECT " + "(" * DEEP + "1" + ")" * DEEP,
    "not": "SELECT " + "NOT " * DEEP + "true",
    "minus": "SELECT " + "- " * DEEP + "1",
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * DEEP + "t" + ")" * DEEP,
    "case": "SELECT " + "CASE WHEN true THEN " * DEEP + "1" + " END" * DEEP,
    "with": "WITH a AS (" * DEEP + "SELECT 1" + ") SELECT * FROM a" * DEEP,
    "exists": "SELECT " + "EXISTS (SELECT " * DEEP + "1" + ")" * DEEP,
    "lists": "SELECT " + "[" * DEEP + "1" + "]" * DEEP,
    "structs": "SELECT " + "{'a':" * DEEP + "1" + "}" * DEEP,
    "functions": "SELECT " + "abs(" * DEEP + "1" + ")" * DEEP,
    "joins": "SELECT * FROM t" + " JOIN t" * DEEP,
    "few joins": "SELECT * FROM t" + " LEFT JOIN t" * 40,
    "subscripts": "SELECT a" + "[1]" * DEEP,
    "casts": "SELECT 1" + "::int" * 3_000,
    "types": "CREATE TABLE x (a " + "STRUCT(a " * DEEP + "INT" + ")" * DEEP + ")",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shape", SHAPES)
def test_deep_nesting_is_refused(shape: str) -> None:
    with gateway.connect("palimpsest://") as connection:
        cursor = connection.cursor()
        with pytest.raises(gateway.OperationalError) as caught:
            cursor.execute(SHAPES[shape])
        assert (caught.value.code, caught.value.sqlstate) == ("PAL-103", "54001")
        assert caught.value.advice
        connection.rollback()
        assert cursor.execute("SELECT 42").fetchone() == (42,)


def test_wide_statements_are_not_deep() -> None:
    with gateway.connect("palimpsest://") as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        cursor.execute("INSERT INTO t VALUES (1)")
        joins = "".join(f" JOIN t AS t{n} ON t{n}.a = t.a" for n in range(30))
        assert cursor.execute(f"SELECT count(*) FROM t{joins}").fetchone() == (1,)
        values = ", ".join(str(n) for n in range(5_000))
        assert cursor.execute(f"SELECT a FROM t WHERE a IN ({values})").fetchall() == [(1,)]
        assert cursor.execute("SELECT true" + " AND 1 = 1" * 500).fetchone() == (True,)
        assert len(cursor.execute("SELECT 1" + " UNION ALL SELECT 1" * 300).fetchall()) == 301


@pytest.mark.timeout(60)
def test_what_may_be_nested_takes_no_time() -> None:
    with gateway.connect("palimpsest://", dialect="postgres") as connection:
        depth = 60
        nested = "CASE WHEN true THEN " * depth + "1" + " ELSE 2 END" * depth
        assert connection.execute(f"SELECT {nested}").fetchall() == [(1,)]
