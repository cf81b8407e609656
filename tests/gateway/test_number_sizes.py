"""NUMERIC without digits in the postgres dialect, on a store whose numbers have a size."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

import gateway
from gateway.dbapi.cursor import Cursor


@pytest.fixture
def cursor() -> Iterator[Cursor]:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        yield con.cursor()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1.23456::numeric", "1.23456"),
        ("round(1.23456::numeric, 2)", "1.23"),
        ("'0.123456789012'::numeric", "0.123456789012"),
        ("'123456789012345678901234567890'::numeric", "123456789012345678901234567890"),
        ("CAST(-2.34567 AS decimal) * 2", "-4.69134"),
        ("1.239::numeric(5, 2)", "1.24"),
    ],
)
def test_a_cast_keeps_digits(cursor: Cursor, expression: str, value: str) -> None:
    cursor.execute(f"SELECT {expression}")
    assert cursor.fetchall() == [(Decimal(value),)]


def test_columns_defaults_views_and_domains_have_the_same_size(cursor: Cursor) -> None:
    cursor.execute("CREATE DOMAIN price AS numeric")
    cursor.execute(
        "CREATE TABLE t (a numeric DEFAULT '1.23456'::numeric, b price, c numeric(5, 1))"
    )
    cursor.execute("INSERT INTO t (b, c) VALUES (9.87654, 1.26)")
    cursor.execute("ALTER TABLE t ADD COLUMN d decimal DEFAULT 0.0001")
    cursor.execute("CREATE VIEW v AS SELECT (a + 0.00001)::numeric AS a, b, c, d FROM t")
    cursor.execute("SELECT * FROM v")
    found = [tuple(map(float, row)) for row in cursor.fetchall()]
    assert found == [(1.23457, 9.87654, 1.3, 0.0001)]


def test_the_duckdb_dialect_means_what_duckdb_does(cursor: Cursor) -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        rows = con.execute("SELECT 1.23456::NUMERIC, typeof(1::DECIMAL)").fetchall()
    assert rows == [(Decimal("1.235"), "DECIMAL(18,3)")]
