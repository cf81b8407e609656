"""COPY in binary, both ways: the bytes are PostgreSQL's, and what comes is what was sent."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

from tests.servers.conftest import Server
from tests.support.postgres import running

COLUMNS = (
    "id integer PRIMARY KEY, small smallint, big bigint, single real, wide double precision,"
    " yes boolean, label text, amount numeric(12,2), day date, at_time time, moment timestamp,"
    " instant timestamptz, raw bytea, ident uuid, numbers integer[]"
)
TYPES = [
    "int4", "int2", "int8", "float4", "float8", "bool", "text", "numeric", "date", "time",
    "timestamp", "timestamptz", "bytea", "uuid", "int4[]",
]  # fmt: skip
ROWS = [
    (1, 2, 3 << 40, 1.5, -2.25, True, "Äöü\n\t\\N", Decimal("12345.67"), dt.date(2024, 2, 29),
     dt.time(12, 34, 56, 789), dt.datetime.fromisoformat("2024-02-29T01:02:03.000004"),
     dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC), b"\x00\xff", uuid.UUID(int=7), [1, None, 3]),
    (2, *[None] * 14),
    (3, -1, -1, 0.0, 1e300, False, "", Decimal("-0.01"), dt.date(1, 1, 1), dt.time(),
     dt.datetime.fromisoformat("1969-12-31T23:59:59"), dt.datetime(1, 1, 2, tzinfo=dt.UTC), b"",
     uuid.UUID(int=0), []),
]  # fmt: skip
SELECT = "SELECT * FROM copied ORDER BY id"
AS_JSON = """(SELECT '{"a": 1}'::json, '{"a": 1}'::jsonb, 5::oid)"""
JSONS = "a JSON DEFAULT 'null', b JSONB"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running() as cluster:
        yield cluster.conninfo("postgres")


def fill(connection: psycopg.Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS copied")
    connection.execute(f"CREATE TABLE copied ({COLUMNS})")
    with connection.cursor().copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(TYPES)
        for row in ROWS:
            copy.write_row(row)


def _copied(connection: psycopg.Connection, source: str) -> bytes:
    with connection.cursor().copy(f"COPY {source} TO STDOUT (FORMAT BINARY)") as copy:
        return b"".join(bytes(piece) for piece in copy)


def sent(connection: psycopg.Connection) -> bytes:
    with connection.cursor().copy(f"COPY ({SELECT}) TO STDOUT (FORMAT BINARY)") as copy:
        return b"".join(bytes(piece) for piece in copy)


def test_rows_and_bytes_are_those_of_postgresql(server: Server, postgres: str) -> None:
    with psycopg.connect(server.dsn) as ours, psycopg.connect(postgres) as theirs:
        for connection in (ours, theirs):
            connection.execute("SET TIME ZONE 'UTC'")
            fill(connection)
        assert ours.execute(SELECT).fetchall() == theirs.execute(SELECT).fetchall()
        assert sent(ours) == sent(theirs)
        with ours.cursor().copy(f"COPY ({SELECT}) TO STDIN (FORMAT BINARY)") as copy:
            assert b"".join(bytes(piece) for piece in copy) == sent(theirs)
        ours.execute(f"CREATE TABLE json_notes ({JSONS})")
        theirs.execute(f"CREATE TABLE json_notes ({JSONS})")
        for connection in (ours, theirs):
            connection.execute("INSERT INTO json_notes VALUES ('{\"a\": 1}', '[]')")
        for source in (AS_JSON, "json_notes"):
            found, wanted = (_copied(connection, source) for connection in (ours, theirs))
            assert found == wanted, source
        with ours.cursor().copy("COPY json_notes FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(wanted)
        assert ours.execute("SELECT a FROM json_notes").fetchall() == [({"a": 1},)] * 2


def test_many_rows_in_pieces_of_any_size(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS many")
        con.execute("CREATE TABLE many (id INTEGER PRIMARY KEY, name TEXT)")
        rows = [
            struct.pack("!hii", 2, 4, n) + struct.pack("!i", len(str(n))) + str(n).encode()
            for n in range(40_000)
        ]
        data = b"PGCOPY\n\xff\r\n\0" + struct.pack("!iii", 0, 3, 0)[:8] + b"abc" + b"".join(rows)
        data += struct.pack("!h", -1)
        cursor = con.cursor()
        with cursor.copy("COPY many (id, name) FROM STDIN WITH BINARY") as copy:
            copy.write(data[:5])
            for at in range(5, len(data), 77_777):
                copy.write(data[at : at + 77_777])
        assert cursor.rowcount == 40_000
        found = con.execute("SELECT count(*), sum(id), max(length(name)) FROM many").fetchone()
        assert found == (40_000, 799_980_000, 5)


BEGUN = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "PAL-"),
        (b"1\tx\n", "PAL-"),
        (BEGUN[:15], "PAL-"),
        (BEGUN + struct.pack("!hii", 2, 4, 1), "PAL-"),
        (BEGUN + struct.pack("!h", 3), "PAL-"),
        (BEGUN + struct.pack("!hi", 2, -7), "PAL-"),
        (BEGUN + struct.pack("!hih", 2, 2, 1) + struct.pack("!i", -1), "PAL-"),
        (BEGUN + struct.pack("!hii", 2, 4, 1) + struct.pack("!i", 1) + b"\xff", "PAL-"),
        (b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 1 << 16, 0), "PAL-"),
        (BEGUN + struct.pack("!hh", -1, 2), "PAL-"),
    ],
)
def test_what_is_no_copy_loads_nothing(server: Server, data: bytes, code: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("CREATE TABLE IF NOT EXISTS strict (id INTEGER PRIMARY KEY, name TEXT)")
        with pytest.raises(psycopg.Error, match=code) as raised:
            with con.cursor().copy("COPY strict FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(data)
        assert raised.value.sqlstate is not None
        assert not raised.value.sqlstate.startswith("XX")
        assert con.execute("SELECT count(*) FROM strict").fetchone() == (0,)
        with pytest.raises(psycopg.Error, match="PAL-110"):
            con.execute("COPY strict TO STDOUT (FORMAT BINARY, HEADER)")


def test_an_unknown_table_and_a_key_twice(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as con:
        with pytest.raises(psycopg.errors.UndefinedTable):
            with con.cursor().copy("COPY nowhere FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(BEGUN)
        con.execute("CREATE TABLE IF NOT EXISTS once (id INTEGER PRIMARY KEY)")
        twice = BEGUN + 2 * struct.pack("!hii", 1, 4, 1)
        with pytest.raises(psycopg.errors.UniqueViolation):
            with con.cursor().copy("COPY once FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(twice)
        assert con.execute("SELECT count(*) FROM once").fetchone() == (0,)


def test_adbc_reads_and_loads_through_it(server: Server) -> None:
    """ADBC's driver of PostgreSQL sends every query as a COPY in binary."""
    adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")
    table = pa.table({"a": pa.array(range(5000), pa.int64()), "s": [str(i) for i in range(5000)]})
    where = f"postgresql://me@127.0.0.1:{server.port}/palimpsest"
    with adbc.connect(where, autocommit=True) as con, con.cursor() as cursor:
        assert cursor.adbc_ingest("by_adbc", table, mode="create") == 5000
        cursor.execute("SELECT a, s FROM by_adbc ORDER BY a")
        assert cursor.fetch_arrow_table().to_pylist() == table.to_pylist()
