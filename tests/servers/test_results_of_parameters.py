"""Parameters that are results: of the type that the client gave, as PostgreSQL has them."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import Connection

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
