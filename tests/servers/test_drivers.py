"""Drivers of Python over the PostgreSQL protocol: types, transactions, cursors, cancel."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
import uuid
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.servers.conftest import Server
from tests.support.repeatedly import repeatedly

asyncpg = pytest.importorskip("asyncpg")
psycopg2 = pytest.importorskip("psycopg2")
pg8000 = pytest.importorskip("pg8000.dbapi")

TYPES = (
    "a INTEGER PRIMARY KEY, b TEXT, c NUMERIC(12,3), d TIMESTAMPTZ, e DATE, f BOOLEAN,"
    " g DOUBLE PRECISION, h BYTEA, i UUID, j INTEGER[], k TEXT[], m TIMESTAMP, n TIME,"
    " o INTERVAL, q BIGINT"
)
VALUES: tuple[Any, ...] = (
    1, "x", Decimal("-1.500"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.date(2020, 1, 2), True,
    1.25, b"\0a", uuid.UUID(int=5), [1, None, 2], ["a", "b c", None, ""],
    dt.datetime(2020, 1, 1, 1, 2, 3, 4),  # noqa: DTZ001 - of no zone
    dt.time(1, 2, 3), dt.timedelta(days=1, seconds=5), 2**40,
)  # fmt: skip


@pytest.fixture
def table(server: Server, request: pytest.FixtureRequest) -> str:
    name = "t_" + uuid.uuid4().hex[:8]
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({TYPES})")
        marks = ", ".join(["%s"] * len(VALUES))
        connection.execute(f"INSERT INTO {name} VALUES ({marks})", VALUES)
    return name


@pytest.mark.parametrize("binary", [False, True])
def test_values_of_every_type_come_back(server: Server, table: str, binary: bool) -> None:
    with psycopg.connect(server.dsn) as connection, connection.cursor(binary=binary) as cursor:
        assert cursor.execute(f"SELECT * FROM {table} WHERE a = %s", (1,)).fetchone() == VALUES
        empty = f"INSERT INTO {table}(a) VALUES (%s) RETURNING *"
        assert cursor.execute(empty, (2,)).fetchone() == (2, *[None] * (len(VALUES) - 1))


def test_lists_are_compared_with(server: Server, table: str) -> None:
    """psycopg states no type for a list of texts, nor for an empty one."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for condition, values, count in (
            ("b = ANY(%s)", ["x", "y"], 1),
            ("b = ANY((%s))", ["y"], 0),
            ("b <> ALL(%s)", ["y"], 1),
            ("a = ANY(%s)", [1, 2], 1),
            ("a = ANY(%s)", [], 0),
            ("i = ANY(%s)", [uuid.UUID(int=5)], 1),
            ("'x' = ANY(%s)", ["x"], 1),
        ):
            found = connection.execute(f"SELECT a FROM {table} WHERE {condition}", (values,))
            assert len(found.fetchall()) == count, condition
        named = "SELECT count(*) FROM pg_class WHERE relname = ANY(%s) AND relkind <> ALL(%s)"
        assert connection.execute(named, ([table, "nix"], ["v"])).fetchone() == (1,)
        by_id = "SELECT count(*) FROM pg_class WHERE oid = ANY(%s)"
        assert connection.execute(by_id, ([0, 1],)).fetchone() == (0,)
        kinds = "SELECT count(*) FROM pg_proc WHERE prorettype::regtype != 'trigger'::regtype"
        assert connection.execute(kinds).fetchone() is not None


def test_asyncpg(server: Server, table: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="me", database="palimpsest"
        )
        row = await connection.fetchrow(f"SELECT * FROM {table} WHERE a = $1", 1)
        assert tuple(row) == VALUES
        marks = ",".join(f"${n}" for n in range(1, len(VALUES) + 1))
        await connection.execute(f"INSERT INTO {table} VALUES ({marks})", 2, *VALUES[1:])
        again = await connection.fetchrow(f"SELECT * FROM {table} WHERE a = $1", 2)
        assert tuple(again)[1:] == VALUES[1:]
        async with connection.transaction():
            rows = [r async for r in connection.cursor("SELECT x FROM range(120) AS r(x)")]
        assert len(rows) == 120
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute(f"INSERT INTO {table}(a) VALUES (1)")
        await connection.close()

    asyncio.run(run())


def test_pg8000(server: Server, table: str) -> None:
    connection = pg8000.connect(
        user="me", host="127.0.0.1", port=server.port, database="palimpsest"
    )
    cursor = connection.cursor()
    cursor.execute(f"SELECT a, b, c, d, e, f, g, j, q FROM {table} WHERE a = %s", (1,))
    (row,) = cursor.fetchall()
    assert tuple(row) == tuple(VALUES[i] for i in (0, 1, 2, 3, 4, 5, 6, 9, 14))
    cursor.execute(f"UPDATE {table} SET b = %s WHERE a = %s", ("y", 1))
    assert cursor.rowcount == 1
    connection.rollback()
    connection.close()


def test_psycopg2(server: Server, table: str) -> None:
    connection = psycopg2.connect(server.dsn)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT a, b, c, j FROM {table} WHERE a = %s", (1,))
        assert cursor.fetchall() == [(1, "x", Decimal("-1.500"), [1, None, 2])]
        cursor.execute(f"DELETE FROM {table} WHERE a = ANY(%s)", ([1, 7],))
        assert cursor.rowcount == 1
    connection.close()


def test_a_failed_transaction_is_left_by_rollback_alone(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(f"INSERT INTO {table}(a) VALUES (1)")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        with connection.transaction():
            connection.execute(f"INSERT INTO {table}(a) VALUES (3)")
            with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
                connection.execute(f"INSERT INTO {table}(a) VALUES (3)")
        found = connection.execute(f"SELECT a FROM {table} ORDER BY a").fetchall()
        assert found == [(1,), (3,)]


def test_messages_up_to_sync_are_one_transaction(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        sql = f"INSERT INTO {table}(a) VALUES (%s)"
        with pytest.raises(psycopg.errors.UniqueViolation), connection.pipeline():
            connection.cursor().executemany(sql, [(10,), (1,)])
        with connection.pipeline():
            connection.execute(f"INSERT INTO {table}(a) VALUES (11)")
            cursor = connection.execute(f"SELECT a FROM {table} ORDER BY a")
        assert cursor.fetchall() == [(1,), (11,)]


def test_a_text_of_several_statements_is_one_transaction(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(
                f"INSERT INTO {table}(a) VALUES (20); INSERT INTO {table}(a) VALUES (1)"
            )
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)


def test_cursors_of_the_server_give_rows_piece_by_piece(server: Server) -> None:
    with psycopg.connect(server.dsn) as connection:
        with connection.cursor("c") as cursor:
            cursor.execute("SELECT x FROM range(100000) AS r(x)")
            assert cursor.fetchmany(3) == [(0,), (1,), (2,)]
            assert len(cursor.fetchall()) == 99_997


def test_a_statement_is_prepared_once_and_told_its_types(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for _ in range(8):
            sql = f"SELECT b FROM {table} WHERE a = %s AND c < %s"
            assert connection.execute(sql, (1, Decimal(2)), prepare=True).fetchone() == ("x",)


def test_a_prepared_statement_does_not_outlive_the_columns_it_told_of(
    server: Server, table: str
) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.prepare_threshold = 0
        sql = f"SELECT a, q FROM {table} WHERE a = %s"
        assert connection.execute(sql, (1,)).fetchone() == (1, 2**40)
        other = psycopg.connect(server.dsn, autocommit=True)
        other.execute(f"ALTER TABLE {table} ADD COLUMN z INTEGER")
        assert connection.execute(sql, (1,)).fetchone() == (1, 2**40)
        other.execute(f"ALTER TABLE {table} ALTER COLUMN q TYPE DOUBLE PRECISION")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute(sql, (1,))
        connection.execute("DEALLOCATE ALL")
        other.close()


def test_execute_is_told_its_columns_in_messages(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.prepare_threshold = 0
        connection.execute(f"PREPARE kept (int) AS SELECT b, a FROM {table} WHERE a = $1")
        found = connection.execute("EXECUTE kept(1)")
        assert [column.name for column in found.description or ()] == ["b", "a"]
        assert found.fetchall() == [("x", 1)]
        connection.execute("DEALLOCATE kept")
        connection.execute("PREPARE kept (int) AS SELECT $1 > 0 AS other")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("EXECUTE kept(1)")


def test_statements_prepared_in_messages_are_released_by_name_and_all(
    server: Server, table: str
) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        wire = connection.pgconn
        for statement in ('DEALLOCATE "One"', "DEALLOCATE ALL", "DISCARD ALL"):
            wire.prepare(b"One", f"SELECT a FROM {table}".encode())
            assert wire.exec_prepared(b"One", []).ntuples == 1
            connection.execute(statement)
            lost = wire.exec_prepared(b"One", [])
            assert lost.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"26000"
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            connection.execute('DEALLOCATE "One"')


def test_cancel_stops_what_runs_and_nothing_else(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        began = time.monotonic()
        cancelled = repeatedly(connection.cancel, 0.3)
        with pytest.raises(psycopg.errors.QueryCanceled), cancelled:
            connection.execute(
                "SELECT sum(hash(a.x + b.x)) FROM range(1000000) a(x), range(1000000) b(x)"
            )
        assert time.monotonic() - began < 30
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_session_reads_the_past_by_an_option(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        now = connection.execute("SELECT max(version) FROM system.transactions").fetchone()
        assert now is not None
        connection.execute(f"DELETE FROM {table}")
        with psycopg.connect(server.dsn, options=f"-c as_of={now[0]}") as before:
            assert before.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)


@pytest.mark.long
def test_copy_takes_and_gives_rows(server: Server, table: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        cursor = connection.cursor()
        with cursor.copy(f"COPY {table} (a, b) FROM STDIN") as copy:
            copy.write_row((50, "tab\tand\nline"))
            copy.write_row((51, None))
        assert cursor.rowcount == 2
        with cursor.copy(
            f"COPY (SELECT a, b FROM {table} WHERE a >= 50 ORDER BY a) TO STDOUT"
        ) as c:
            assert list(c.rows()) == [("50", "tab\tand\nline"), ("51", None)]
        assert cursor.rowcount == 2

        def refused(*rows: tuple[object, ...]) -> None:
            with cursor.copy(f"COPY {table} (a) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
                if len(rows) == 1:
                    raise ValueError("the program gives up")

        with pytest.raises(psycopg.errors.UniqueViolation):
            refused((60,), (50,))
        with pytest.raises(ValueError, match="gives up"):
            refused((60,))
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (3,)


def test_errors_carry_sqlstate_position_and_hint(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable) as caught:
            connection.execute("SELECT *\nFROM nothing")
        assert caught.value.diag.statement_position == "15"
        assert caught.value.diag.message_hint
