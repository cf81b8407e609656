"""Values as bytes, in text and in binary: those that PostgreSQL itself sends."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Decimal

import pytest
from psycopg import Connection

EXPRESSIONS = (
    "1::smallint", "(-2147483648)::integer", "9223372036854775807::bigint", "true", "false",
    "0.1::real", "1e20::double precision", "'-Infinity'::double precision",
    "'NaN'::double precision", "1e-7::double precision", "-0.0::double precision",
    "123.45::numeric(10,2)", "0::numeric(5,0)", "-0.00001::numeric(12,10)",
    "99999999999999999999.5::numeric(38,4)", "10000::numeric(8,0)", "-99999999.9999::numeric(12,4)",
    "0.0001::numeric(18,17)", "999999999999999999::numeric(18,0)", "0.10::numeric(6,2)",
    "(-20000.0002)::numeric(18,4)", "0.5::numeric(4,4)",
    "'text with ''quotes'''::text", "''::text", "'grün'::varchar", "'\\x00ff'::bytea",
    "'infinity'::date", "'-infinity'::date", "'infinity'::timestamp", "'-infinity'::timestamp",
    "'infinity'::timestamptz", "'-infinity'::timestamptz",
    "DATE '2020-02-29'", "DATE '1900-01-01'", "TIME '23:59:59.999999'", "TIME '12:00:00'",
    "TIME '24:00'",
    "TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '1969-12-31 23:59:59.5'",
    "TIMESTAMPTZ '2020-07-01 12:00:00+02'", "INTERVAL '1 year 2 months 3 days 04:05:06.5'",
    "INTERVAL '-1 day'", "INTERVAL '0 seconds'", "INTERVAL '-01:02:03'",
    "'00000000-0000-0000-0000-0000000000ff'::uuid", "ARRAY[1, NULL, 3]::integer[]",
    "ARRAY['a', 'b c', '', NULL, 'NULL', 'x\"y', 'a,b']::text[]", "ARRAY[true, false]::boolean[]",
    "ARRAY[ARRAY[1, 2], ARRAY[3, 4]]", "ARRAY[ARRAY['a,b'], ARRAY[NULL]]",
    "ARRAY[1.5, 2]::double precision[]",
    "ARRAY[INTERVAL '13 months', NULL, INTERVAL '-3 days 04:05:06.7']",
    "INTERVAL '-400 days'", "INTERVAL '1 year -1 month 2 days -00:00:00.000001'",
    "age(TIMESTAMP '2024-03-01', TIMESTAMP '2023-01-15')",
    "TIMESTAMPTZ '12024-01-01 00:00:00+00'", "TIMESTAMPTZ '1850-01-01 00:00:00+00'",
    "TIMETZ '23:30:00.5+05:30'", "TIMETZ '12:00:00-00:30'", "TIMETZ '00:00:00+00'",
    "DATE '0001-12-31 BC'", "'0044-03-15 10:00:00.5 BC'::timestamp",
    "'0044-03-15 10:00:00.5 BC'::timestamptz",
    "ARRAY['00000000-0000-0000-0000-0000000000ff'::uuid, NULL]",
    "ARRAY[ARRAY['00000000-0000-0000-0000-0000000000ff'::uuid]]", "ARRAY[]::uuid[]",
    "NULL::integer", "NULL::text", "ARRAY[DATE '2020-01-01']::date[]",
    "ARRAY['infinity'::date, NULL, '2020-01-01', '-infinity']",
    "ARRAY['0044-03-15 BC'::date, NULL, '12024-01-01', 'infinity']",
    "ARRAY['0044-03-15 10:00:00.5 BC'::timestamp, '12024-01-01 00:00:00']",
    "ARRAY[TIMESTAMPTZ '12024-01-01 00:00:00+00']",
    "ARRAY['-infinity'::timestamp, '2020-01-01 00:00:01']", "ARRAY['infinity'::timestamptz, NULL]",
)  # fmt: skip


ANY_NUMBERS = (
    "1.5::numeric", "(-120)::numeric", "ARRAY[1.5::numeric, NULL, 7.5]",
    "(1.25::numeric + 1)::text", "ARRAY[2.25::numeric, 3]::text",
    "(SELECT max(n)::text FROM (SELECT * FROM (VALUES (0.5::numeric)) AS v(n)) AS w(n))",
)  # fmt: skip
"""Numbers without digits that are declared."""
LARGE_NUMBERS = (
    "1e20::numeric", "'NaN'::numeric", "0.000000000001::numeric",
    "12345678901234567890123456789.123456789012::numeric", "1e-1000::numeric",
)  # fmt: skip
"""Those that PostgreSQL stores alone keep."""

ROWS = (
    "ROW(1, NULL::text, ''::text, 'a\"b'::text, 'a\\b'::text, true, DATE '2024-01-01')", "ROW(1)",
    "(1.5::numeric(3,1), ROW('a b'::text, 2::bigint), ARRAY[1, 2])",
)  # fmt: skip
"""Rows as values; over a database they are texts."""
BITS = ("B'101'", "'101'::bit(3)", "B'101'::bit(9)", "B'1011'::bit(2)")


NOT_OVER_POSTGRES = frozenset({"TIME '24:00'", *BITS})
"""What stands otherwise over a database: its driver has no such time, and it has no bits."""


def sent(connection: Connection, expression: str, *, binary: bool) -> tuple[int, int, bytes | None]:
    """The number of a value's type, its modifier, and its bytes."""
    with connection.cursor(binary=binary) as cursor:
        cursor.execute(f"SELECT {expression} AS v")
        result = cursor.pgresult
        assert result is not None
        return result.ftype(0), result.fmod(0), result.get_value(0, 0)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_sums_are_numbers(gateway: Connection, binary: bool) -> None:
    sums = "SELECT sum(x::integer), sum(-x) FROM generate_series(0, 4) AS r(x)"
    with gateway.cursor(binary=binary) as cursor:
        assert cursor.execute(sums).fetchone() == (10, -10)
        for sql in ("DROP TABLE IF EXISTS sums", "CREATE TABLE sums (a INTEGER PRIMARY KEY)"):
            cursor.execute(sql)
        cursor.execute("INSERT INTO sums VALUES (1), (-3)")
        assert cursor.execute("SELECT sum(a), min(a) FROM sums").fetchone() == (-2, -3)
        assert cursor.execute("SELECT (SELECT sum(a) FROM sums)").fetchone() == (-2,)
        grouped = "SELECT sum(DISTINCT a), sum(a) FILTER (WHERE a > 0), count(*) FROM sums"
        found = cursor.execute(grouped).fetchone()
        assert found is not None
        assert [type(v) for v in found] == [int, int, int]


def test_lists_of_moments_are_parameters(gateway: Connection) -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 3)]
    with gateway.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS days")
        cursor.execute("CREATE TABLE days (d DATE PRIMARY KEY, p TIMESTAMP)")
        cursor.execute("INSERT INTO days VALUES ('2020-01-01', '2020-01-01'), ('2020-01-02', NULL)")
        query = "SELECT d FROM days WHERE d = ANY(%s)"
        assert cursor.execute(query, (days,)).fetchall() == [(days[0],)]
        query = "SELECT d <> ALL(%s), p = ANY(%s) FROM days ORDER BY d"
        moments = [dt.datetime(2020, 1, 1)]  # noqa: DTZ001 - of no zone
        assert cursor.execute(query, (days, moments)).fetchall() == [(False, True), (True, None)]


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("expression", EXPRESSIONS + BITS)
def test_bytes_are_postgresqls(
    store: str, gateway: Connection, postgres: Connection, expression: str, binary: bool
) -> None:
    if store == "postgres" and expression in NOT_OVER_POSTGRES:
        pytest.skip("a database as the store sends it otherwise")
    found, wanted = (sent(c, expression, binary=binary) for c in (gateway, postgres))
    assert found[2] == wanted[2]
    assert {found[0], wanted[0]} in ({found[0]}, {25, 1043})


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("expression", ROWS)
def test_rows_are_values(
    store: str, gateway: Connection, postgres: Connection, expression: str, binary: bool
) -> None:
    if store == "postgres" and binary:
        pytest.skip("a database's rows are texts")
    found, wanted = (sent(c, expression, binary=binary) for c in (gateway, postgres))
    assert found[2] == wanted[2]


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("expression", ANY_NUMBERS)
def test_numbers_without_digits_are_postgresqls(
    gateway: Connection, postgres: Connection, expression: str, binary: bool
) -> None:
    assert sent(gateway, expression, binary=binary) == sent(postgres, expression, binary=binary)


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("expression", LARGE_NUMBERS)
def test_large_numbers_without_digits_are_numbers(
    gateway: Connection, postgres: Connection, expression: str, binary: bool
) -> None:
    assert sent(gateway, expression, binary=binary) == sent(postgres, expression, binary=binary)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize(
    "value",
    [
        *(1.0, 1e20, True, 7, Decimal("1.50"), dt.date(2024, 2, 29), dt.time(10, 20)),
        *(dt.timedelta(days=1, hours=26), uuid.UUID(int=255), b"\x01\xff", [1, 2], ["a b", None]),
        dt.datetime(2024, 2, 29, 10, 20, 30, 500000, dt.UTC),
    ],
    ids=repr,
)
def test_values_become_texts_as_postgresql_writes_them(
    gateway: Connection, postgres: Connection, value: object, binary: bool
) -> None:
    sign = "%b" if binary else "%t"
    found = []
    for con in (gateway, postgres):
        con.execute("DROP TABLE IF EXISTS kept")
        con.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, t TEXT, v VARCHAR(40), f FLOAT)")
        con.execute(f"INSERT INTO kept VALUES (1, {sign}, {sign})", (value, value))
        con.execute(f"UPDATE kept SET t = {sign} WHERE v = {sign}::text", (value, value))
        query = f"SELECT t, v, {sign}::text, length({sign}::text) FROM kept"
        found.append(con.execute(query, (value, value)).fetchall())
    assert found[0] == found[1]


@pytest.mark.parametrize("store", ["folder"], indirect=True)
def test_bits_are_parameters(gateway: Connection) -> None:
    gateway.execute("DROP TABLE IF EXISTS flags")
    gateway.execute("CREATE TABLE flags (id INTEGER PRIMARY KEY, b BIT(3))")
    gateway.execute("INSERT INTO flags VALUES (1, %s)", ("101",))
    sent = [b"2", struct.pack("!i", 3) + bytes([0b01000000])]
    command = b"INSERT INTO flags VALUES ($1::integer, $2)"
    done = gateway.pgconn.exec_params(command, sent, param_types=[23, 1560], param_formats=[0, 1])
    assert done.error_message == b""
    found = gateway.execute("SELECT b FROM flags WHERE b <> %s ORDER BY id", ("111",)).fetchall()
    assert found == [("101",), ("010",)]
