"""Parameters that are results: of the type that the client gave, as PostgreSQL has them."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import Connection, pq
from psycopg.types.json import Json, Jsonb
from psycopg.types.numeric import Int4, Int8, Oid

WEST = dt.time(10, 20, 30, tzinfo=dt.timezone(-dt.timedelta(hours=2)))
VALUES: tuple[Any, ...] = (
    *(5, 70_000, 2**40, 2**70, 1.5, Decimal("1.25"), True, "x", None, b"\x01"),
    *(dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.time(1, 2, 3)),  # noqa: DTZ001
    *(dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), dt.timedelta(1, 2)),
    *(uuid.UUID(int=5), [1, 2], ["a"]),
)
QUERIES = (
    "SELECT %s",
    "SELECT %s AS a, 1 AS b",
    "SELECT a FROM (SELECT %s AS a) t",
    "SELECT * FROM (VALUES (%s)) v(x)",
    "SELECT coalesce(%s, NULL)",
    "SELECT %s UNION ALL SELECT NULL",
    "SELECT (SELECT %s)",
)
TYPED: tuple[tuple[str, Sequence[Any]], ...] = (
    *((f"SELECT {sql}", (kind("5"),)) for kind in (Decimal, float, Int8) for sql in (
        "%s + 1", "1 - %s", "greatest(%s, 2)", "coalesce(%s, 2)", "abs(%s)", "-%s * 2")),
    ("SELECT date '2024-01-02' + %s", (Int4(3),)),
    ("SELECT %s, 1", (Decimal("NaN"),)),
    ("SELECT %s, %s, %s", (Jsonb({"a": 1}), Json([1]), [Decimal("1.5"), Decimal("2.5")])),
    ("SELECT %s::jsonb, '{\"a\": 1}'::json, json_build_array(1)", ("{}",)),
    ("SELECT %s, 5::oid, '7'::oid", (Oid(4_000_000_000),)),
    ("SELECT %s, '10:20:30-02'::timetz = %s", (WEST, WEST)),
    ("SELECT %s::text[]", (["\x1c", "a\x85", "\u2003b", "", "{\v"],)),
    ("SELECT octet_length(%s), bit_length('a'), cardinality(%s)", ("abc", [1, 2])),
    ("SELECT generate_series(%s::int, 3)", (1,)),
    ("SELECT '{1,2}'::int[], '{a}'::text[], ARRAY[1]", ()),
)  # fmt: skip
"""What is computed of parameters, or has a type that a store lacks."""
SPELLINGS = (
    "SELECT %s::int AS i, current_setting('application_name', true) IS NULL",
    "SELECT %s::bigint, current_database() IS NOT NULL",
)


@pytest.mark.parametrize("binary", [False, True])
def test_they_are_of_the_type_given(
    gateway: Connection, postgres: Connection, binary: bool
) -> None:
    for query in QUERIES:
        for value in VALUES:
            found, wanted = (
                con.execute(query, (value,), binary=binary) for con in (gateway, postgres)
            )
            assert found.fetchall() == wanted.fetchall(), (query, value)
            assert _described(found) == _described(wanted), (query, value)


# Source: date_recv and timestamp_recv: days and microseconds from 2000, the ends are infinite.
ENDS = (2**63 - 1, -(2**63))
BYTES: tuple[tuple[str, int, bytes], ...] = (
    *(("date", 1082, struct.pack("!i", n)) for n in (2**31 - 1, -(2**31), 8_388_607, -983_041)),
    *(("timestamp", 1114, struct.pack("!q", n)) for n in (*ENDS, 2**58, -(2**56), 5)),
    *(("timestamptz", 1184, struct.pack("!q", n)) for n in (*ENDS, 5)),
    *(("text", 25, data) for data in (b"a\0b", b"\xff", b"\xc3\xa9")),
    *(("timetz", 1266, struct.pack("!qi", 36_000_000_000, zone)) for zone in (7200, -19_800)),
)  # fmt: skip
NESTED = ("{{1,2},{3,4}}", "{{{1}},{{NULL}}}", "{1,NULL}", "{}")


@pytest.mark.parametrize("form", [0, 1])
def test_parameters_in_binary_are_read_to_their_ends(
    gateway: Connection, postgres: Connection, form: int
) -> None:
    for kind, oid, data in BYTES:
        sql = f"SELECT $1::{kind}".encode()
        found, wanted = (
            con.pgconn.exec_params(sql, [data], [oid], [1], form) for con in (gateway, postgres)
        )
        assert found.get_value(0, 0) == wanted.get_value(0, 0), (kind, data)
        code = pq.DiagnosticField.SQLSTATE
        assert found.error_field(code) == wanted.error_field(code), (kind, data)


@pytest.mark.parametrize("form", [0, 1])
def test_arrays_have_their_dimensions(gateway: Connection, postgres: Connection, form: int) -> None:
    for text in NESTED:
        for sql, oid in ((b"SELECT $1::int[]", 1007), (b"SELECT $1", 1007), (b"SELECT $1", 1009)):
            found, wanted = (
                con.pgconn.exec_params(sql, [text.encode()], [oid], [0], form)
                for con in (gateway, postgres)
            )
            assert found.get_value(0, 0) == wanted.get_value(0, 0), (text, sql, oid)
    query = "SELECT ARRAY[[1,2],[3,4]]::int[], ARRAY[['a'],['b c']]::text[], '{{1.5}}'::numeric[]"
    found, wanted = (con.execute(query, binary=bool(form)) for con in (gateway, postgres))
    assert found.fetchall() == wanted.fetchall()


def test_a_column_of_one_dimension_takes_no_others(gateway: Connection, store: str) -> None:
    """On a store whose lists have one; those of PostgreSQL have any."""
    gateway.execute("CREATE TEMP TABLE flat (id INTEGER, a TEXT[])")
    values = [["foo", "bar"], ["baz", "qux"]]
    for sql, parameters in (
        ("INSERT INTO flat VALUES (1, %s)", (values,)),
        ("INSERT INTO flat VALUES (1, %s::text[])", (values,)),
        ("INSERT INTO flat VALUES (1, '{{foo,bar},{baz,qux}}')", None),
        ("INSERT INTO flat VALUES (1, ARRAY[['foo','bar'],['baz','qux']])", None),
        ("INSERT INTO flat SELECT 1, '{{foo,bar},{baz,qux}}'::text[]", None),
    ):
        if store == "postgres":
            gateway.execute(sql, parameters)
            continue
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="of one"):
            gateway.execute(sql, parameters)
    found = gateway.execute("SELECT a FROM flat").fetchall()
    assert found == ([(values,)] * 5 if store == "postgres" else [])
    gateway.execute("DROP TABLE flat")


@pytest.mark.parametrize("binary", [False, True])
def test_what_is_sent_is_of_the_type_that_is_told(
    gateway: Connection, postgres: Connection, binary: bool
) -> None:
    for query, values in TYPED:
        found, wanted = (con.execute(query, values, binary=binary) for con in (gateway, postgres))
        assert repr(found.fetchall()) == repr(wanted.fetchall()), (query, values)
        assert _described(found) == _described(wanted), (query, values)


def test_beside_functions_of_the_catalog(gateway: Connection, postgres: Connection) -> None:
    for query in SPELLINGS:
        found, wanted = (con.execute(query, ("7",)) for con in (gateway, postgres))
        assert found.fetchall() == wanted.fetchall()


def test_a_prepared_statement_is_typed_anew_with_other_values(gateway: Connection) -> None:
    for value in (1, 70_000, 2**40, "a"):
        for _ in range(2):
            assert gateway.execute("SELECT %s AS v", (value,), prepare=True).fetchone() == (value,)


def _described(cursor: psycopg.Cursor[Any]) -> list[tuple[str, int]]:
    return [(column.name, column.type_code) for column in cursor.description or ()]


def test_calls_of_the_session_take_typed_parameters(
    gateway: Connection, postgres: Connection
) -> None:
    """As migrations of sqlx and other tools lock, by a prepared statement with a BIGINT."""
    for query, values in (
        ("SELECT pg_try_advisory_lock(%s)", (2**40,)),
        ("SELECT pg_advisory_unlock(%s)", (2**40,)),
        ("SELECT pg_try_advisory_xact_lock(%s, %s)", (1, 2)),
        ("SELECT set_config('app.tenant', %s, false)", ("x",)),
    ):
        for con in (gateway, postgres):
            con.execute(query, values, prepare=True)
        found, wanted = (con.execute(query, values).fetchall() for con in (gateway, postgres))
        assert found == wanted, query
