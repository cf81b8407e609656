"""Numbers in the postgres dialect: NUMERIC without digits, and divisions of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
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


@pytest.mark.parametrize(
    ("division", "value"),
    [
        *(("7 / 2", 3), ("-7 / 2", -3), ("7 / 2.0", 3.5), ("7::float8 / 2", 3.5)),
        *(("2 * 7 / 4", 3), ("8 / 2 * 4", 16), ("7 / 2 / 2", 1), ("i / 2", 3), ("n / 2", 3.5)),
        *(("sum(i) OVER () / 2", 3), ("sum(b) OVER () / 2", 3.5), ("count(*) OVER () / 2", 0)),
        *(
            ("extract(year FROM DATE '2024-01-01') / 5", Decimal("404.8")),
            ("i / NULLIF(0, 0)", None),
        ),
        *(("INTERVAL '1 day' / 2", timedelta(hours=12)), ("d / 2", timedelta(hours=1))),
    ],
)
def test_whole_numbers_divide_as_such(cursor: Cursor, division: str, value: object) -> None:
    cursor.execute("CREATE TABLE t (i INTEGER, b BIGINT, n NUMERIC(10, 2), d INTERVAL)")
    cursor.execute("INSERT INTO t VALUES (7, 7, 7, '2 hours')")
    cursor.execute(f"SELECT {division} FROM t")
    assert cursor.fetchall() == [(value,)]


def test_what_is_kept_divides_alike(cursor: Cursor) -> None:
    cursor.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, i INTEGER, CHECK (i / 2 < 5))")
    cursor.execute("INSERT INTO t VALUES (1, 9), (2, 7)")
    cursor.execute("CREATE VIEW v AS SELECT k, i / 2 AS half FROM t")
    for key in (1, 2):
        cursor.execute("UPDATE t SET i = i / 2 WHERE k = %s", (key,))
    cursor.execute("SELECT half, i FROM t JOIN v USING (k) ORDER BY k")
    assert cursor.fetchall() == [(2, 4), (1, 3)]


@pytest.mark.parametrize("division", ["1 / 0", "1.5 / 0", "7 / (2 - 2)"])
def test_a_division_by_zero_fails(cursor: Cursor, division: str) -> None:
    with pytest.raises(gateway.DataError) as raised:
        cursor.execute(f"SELECT {division}")
    assert raised.value.sqlstate == "22012"
