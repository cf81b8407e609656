"""Arrow Flight SQL with real clients: ADBC's driver and pyarrow's own, against the other port."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from pyarrow import flight

from gateway.servers.flight.wire import flight_pb2
from gateway.servers.flight.wire import flight_sql_pb2 as wire
from tests.servers.conftest import Server, launch
from tests.support.warm_python import warm_python

adbc = pytest.importorskip("adbc_driver_flightsql.dbapi")
driver = pytest.importorskip("adbc_driver_manager")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server with both ports, and the URL of that of Flight."""
    server = launch(tmp_path_factory.mktemp("flight"), "--flight", "127.0.0.1:0", "--drain", "1")
    assert server.process.stdout is not None
    url = server.process.stdout.readline().strip()
    assert url.startswith("grpc://127.0.0.1:")
    yield server, url
    server.end()


def packed(message: Message) -> bytes:
    found = Any()
    found.Pack(message)
    return found.SerializeToString()


def asking(message: Message) -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_command(packed(message))


def act(client: flight.FlightClient, kind: str, message: Message) -> Any:
    (answer,) = client.do_action(flight.Action(kind, packed(message)))
    return Any.FromString(answer.body.to_pybytes())


def logged_in(url: str) -> tuple[flight.FlightClient, flight.FlightCallOptions]:
    client = flight.FlightClient(url)
    return client, flight.FlightCallOptions(headers=[client.authenticate_basic_token("me", "")])


def rows_of(url: str, sql: str) -> list[tuple[object, ...]]:
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


VALUES = """
    SELECT 1::smallint AS a, 2::integer AS b, 3::bigint AS c, 1.5::real AS d, 2.5::float8 AS e,
           12.345::numeric(9,3) AS f, 'Äöü'::text AS g, true AS h, DATE '2024-02-29' AS i,
           TIMESTAMP '2024-02-29 12:34:56.789012' AS j, TIMESTAMPTZ '2024-02-29 12:34:56+00' AS k,
           '\\x00ff'::bytea AS l, NULL::integer AS m, TIME '12:34:56.5' AS n,
           ARRAY[1, 2, NULL] AS o
"""
LARGE = """
    SELECT sum(x) * 1e20::numeric(38,0), '6ecd8c99-4036-403d-bf84-cf8400f67836'::uuid
    FROM range(4) AS r(x)
"""


def test_values_are_those_of_the_other_port(both: tuple[Server, str]) -> None:
    server, url = both
    with psycopg.connect(server.dsn) as con:
        wanted = con.execute(VALUES).fetchone()
    assert wanted is not None
    (found,) = rows_of(url, VALUES)
    assert list(found) == list(wanted)
    ((huge, identifier),) = rows_of(url, LARGE)
    assert (huge, identifier) == (Decimal(6) * 10**20, "6ecd8c99-4036-403d-bf84-cf8400f67836")


def test_statements_transactions_and_parameters(both: tuple[Server, str]) -> None:
    server, url = both
    with adbc.connect(url) as con, con.cursor() as cursor, psycopg.connect(server.dsn) as other:
        other.autocommit = True
        cursor.execute("CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, out DATE)")
        con.commit()
        cursor.execute("INSERT INTO book VALUES (?, ?, ?)", (1, "one", dt.date(2020, 1, 1)))
        assert cursor.rowcount == 1
        rows = [(n, f"book {n}", None) for n in range(2, 102)]
        cursor.executemany("INSERT INTO book VALUES (?, ?, ?)", rows)
        assert cursor.rowcount == 100
        assert other.execute("SELECT count(*) FROM book").fetchone() == (0,)
        con.commit()
        assert other.execute("SELECT count(*) FROM book").fetchone() == (101,)
        cursor.execute("DELETE FROM book WHERE id > 50")
        con.rollback()
        cursor.execute("UPDATE book SET title = $2 WHERE id = $1 RETURNING title", (1, "first"))
        assert cursor.fetchall() == [("first",)]
        with pytest.raises(driver.Error, match="PAL-405"):
            cursor.execute("COMMIT")
        con.rollback()
        cursor.execute("SELECT title FROM book WHERE id = ?", (1,))
        assert cursor.fetchone() == ("one",)
        con.commit()


def test_a_change_that_is_asked_for_as_a_query_happens_once(both: tuple[Server, str]) -> None:
    """A client that asks for information on its flight, and fetches nothing, has changed rows."""
    _, url = both
    client, options = logged_in(url)
    rows_of(url, "CREATE TABLE once (id INTEGER PRIMARY KEY)")
    command = wire.CommandStatementQuery(query="INSERT INTO once VALUES (1) RETURNING id")
    info = client.get_flight_info(asking(command), options)
    assert rows_of(url, "SELECT id FROM once") == [(1,)]
    ticket = info.endpoints[0].ticket
    other, others = logged_in(url)
    with pytest.raises(flight.FlightError, match="PAL-602"):
        other.do_get(ticket, others).read_all()
    assert client.do_get(ticket, options).read_all().to_pylist() == [{"id": 1}]
    with pytest.raises(flight.FlightError, match="PAL-602"):
        client.do_get(ticket, options).read_all()
    assert rows_of(url, "SELECT id FROM once") == [(1,)]


def test_bulk_loads_create_append_replace(both: tuple[Server, str]) -> None:
    _, url = both
    table = pa.table(
        {
            "id": pa.array(range(20_000), pa.int64()),
            "name": [f"n{i}" if i % 3 else None for i in range(20_000)],
            "kind": pa.array(["a", "b"] * 10_000).dictionary_encode(),
            "small": pa.array([200] * 20_000, pa.uint8()),
        }
    )
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        assert cursor.adbc_ingest("loaded", table, mode="create") == 20_000
        assert cursor.adbc_ingest("loaded", table, mode="append") == 20_000
        with pytest.raises(driver.Error, match="PAL-205"):
            cursor.adbc_ingest("loaded", table, mode="create")
        with pytest.raises(driver.Error, match="PAL-201"):
            cursor.adbc_ingest("nowhere", table, mode="append")
        cursor.execute("SELECT count(*), sum(id), count(name), max(kind), max(small) FROM loaded")
        assert cursor.fetchone() == (40_000, Decimal(399_980_000), 26_666, "b", 200)
        assert cursor.adbc_ingest("loaded", table.slice(0, 5), mode="replace") == 5
        cursor.execute("SELECT count(*) FROM loaded")
        assert cursor.fetchone() == (5,)
        cursor.execute("CREATE TABLE keyed (id BIGINT PRIMARY KEY)")
        twice = pa.table({"id": pa.array([1, 2, 1], pa.int64())})
        with pytest.raises(driver.Error, match="PAL-301"):
            cursor.adbc_ingest("keyed", twice, mode="append")
        cursor.execute("SELECT count(*) FROM keyed")
        assert cursor.fetchone() == (0,)
        assert cursor.adbc_ingest("mine", twice, mode="create", temporary=True) == 3
        cursor.execute("SELECT count(*) FROM mine")
        assert cursor.fetchone() == (3,)
    with pytest.raises(driver.Error, match="PAL-201"):
        rows_of(url, "SELECT * FROM mine")


def test_the_catalog_is_shown(both: tuple[Server, str]) -> None:
    _, url = both
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute("CREATE SCHEMA shop")
        cursor.execute("CREATE TABLE shop.maker (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        cursor.execute(
            "CREATE TABLE shop.thing (a INTEGER, b INTEGER,"
            " maker INTEGER REFERENCES shop.maker ON DELETE CASCADE,"
            " CONSTRAINT thing_key PRIMARY KEY (b, a))"
        )
        cursor.execute("CREATE VIEW shop.names AS SELECT name, id FROM shop.maker")
        objects = con.adbc_get_objects(depth="tables", db_schema_filter="sh%").read_all()
        ((schema,),) = [c["catalog_db_schemas"] for c in objects.to_pylist()]
        found = {t["table_name"]: t["table_type"] for t in schema["db_schema_tables"]}
        assert found == {"maker": "TABLE", "names": "VIEW", "thing": "TABLE"}
        columns = con.adbc_get_table_schema("names", db_schema_filter="shop")
        assert [(f.name, f.type) for f in columns] == [("name", pa.string()), ("id", pa.int32())]
        assert con.adbc_get_info()["vendor_name"] == "Palimpsest"
    client, options = logged_in(url)

    def asked(command: Message) -> list[dict[str, object]]:
        info = client.get_flight_info(asking(command), options)
        got = client.do_get(info.endpoints[0].ticket, options).read_all()
        assert got.schema.equals(info.schema)
        return got.to_pylist()

    keys = asked(wire.CommandGetPrimaryKeys(db_schema="shop", table="thing"))
    assert [(k["column_name"], k["key_name"], k["key_sequence"]) for k in keys] == [
        ("b", "thing_key", 1),
        ("a", "thing_key", 2),
    ]
    (key,) = asked(wire.CommandGetImportedKeys(db_schema="shop", table="thing"))
    assert (key["pk_table_name"], key["fk_column_name"], key["delete_rule"]) == (
        "maker",
        "maker",
        0,
    )
    assert [key] == asked(wire.CommandGetExportedKeys(db_schema="shop", table="maker"))
    cross = wire.CommandGetCrossReference(pk_table="maker", fk_table="thing")
    assert [key] == asked(cross)
    assert asked(wire.CommandGetCatalogs()) == [{"catalog_name": "palimpsest"}]
    assert {"table_type": "VIEW"} in asked(wire.CommandGetTableTypes())
    assert len(asked(wire.CommandGetSqlInfo())) > 80
    (name,) = asked(wire.CommandGetSqlInfo(info=[504]))
    assert name == {"info_name": 504, "value": '"'}
    assert [t["type_name"] for t in asked(wire.CommandGetXdbcTypeInfo(data_type=4))] == ["integer"]


def test_errors_say_code_and_sqlstate(both: tuple[Server, str]) -> None:
    _, url = both
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        with pytest.raises(driver.Error) as raised:
            cursor.execute("SELECT * FROM nowhere")
        assert "[PAL-201] table main.nowhere does not exist" in str(raised.value)
        assert "(SQLSTATE 42P01)" in str(raised.value)
        assert "Traceback" not in str(raised.value)
        details = dict(raised.value.details)[b"grpc-status-details-bin"]
        assert b"google.rpc.ErrorInfo" in details
        assert b"PAL-201" in details


def test_handles_of_others_are_unknown(both: tuple[Server, str]) -> None:
    _, url = both
    first, mine = logged_in(url)
    second, theirs = logged_in(url)
    request = wire.ActionBeginTransactionRequest()
    (answer,) = first.do_action(flight.Action("BeginTransaction", packed(request)), mine)
    begun = wire.ActionBeginTransactionResult()
    Any.FromString(answer.body.to_pybytes()).Unpack(begun)
    inside = wire.CommandStatementQuery(query="SELECT 1 AS a", transaction_id=begun.transaction_id)
    with pytest.raises(flight.FlightError, match="PAL-404"):
        second.get_flight_info(asking(inside), theirs)
    first.get_flight_info(asking(inside), mine)
    prepare = wire.ActionCreatePreparedStatementRequest(query="SELECT 1 AS a")
    (answer,) = first.do_action(flight.Action("CreatePreparedStatement", packed(prepare)), mine)
    made = wire.ActionCreatePreparedStatementResult()
    Any.FromString(answer.body.to_pybytes()).Unpack(made)
    handle = made.prepared_statement_handle
    prepared = wire.CommandPreparedStatementQuery(prepared_statement_handle=handle)
    with pytest.raises(flight.FlightError, match="PAL-223"):
        second.get_flight_info(asking(prepared), theirs)
    stranger = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer made-up")])
    with pytest.raises(flight.FlightUnauthenticatedError, match="PAL-609"):
        second.get_flight_info(asking(prepared), stranger)


def test_savepoints_and_options(both: tuple[Server, str]) -> None:
    _, url = both
    client, options = logged_in(url)

    def run(kind: str, message: Message, answer: Message) -> Any:
        for result in client.do_action(flight.Action(kind, packed(message)), options):
            Any.FromString(result.body.to_pybytes()).Unpack(answer)
        return answer

    rows_of(url, "CREATE TABLE saved (id INTEGER PRIMARY KEY)")
    begun = run(
        "BeginTransaction",
        wire.ActionBeginTransactionRequest(),
        wire.ActionBeginTransactionResult(),
    )
    handle = begun.transaction_id
    for number in (1, 2):
        point = run(
            "BeginSavepoint",
            wire.ActionBeginSavepointRequest(transaction_id=handle, name="a name; DROP TABLE"),
            wire.ActionBeginSavepointResult(),
        )
        insert = wire.CommandStatementUpdate(
            query=f"INSERT INTO saved VALUES ({number})", transaction_id=handle
        )
        writer, _ = client.do_put(asking(insert), pa.schema([]), options)
        writer.close()
        ending = wire.ActionEndSavepointRequest(savepoint_id=point.savepoint_id, action=number)
        run("EndSavepoint", ending, wire.ActionBeginSavepointResult())
    run("EndTransaction", wire.ActionEndTransactionRequest(transaction_id=handle, action=1), begun)
    assert rows_of(url, "SELECT id FROM saved") == [(1,)]
    asked = flight_pb2.SetSessionOptionsRequest()
    asked.session_options["schema"].string_value = "nowhere"
    asked.session_options["timezone"].string_value = "Europe/Berlin"
    asked.session_options["no_such"].bool_value = True
    (answer,) = client.do_action(
        flight.Action("SetSessionOptions", asked.SerializeToString()), options
    )
    errors = flight_pb2.SetSessionOptionsResult.FromString(answer.body.to_pybytes()).errors
    assert {name: error.value for name, error in errors.items()} == {"schema": 2, "no_such": 1}
    (answer,) = client.do_action(flight.Action("GetSessionOptions", b""), options)
    known = flight_pb2.GetSessionOptionsResult.FromString(answer.body.to_pybytes()).session_options
    assert known["timezone"].string_value == "Europe/Berlin"
    list(client.do_action(flight.Action("CloseSession", b""), options))


def _send_nonsense(
    client: flight.FlightClient, options: flight.FlightCallOptions, data: bytes, way: int
) -> None:
    descriptor = flight.FlightDescriptor.for_command(data)
    match way:
        case 0:
            client.get_flight_info(descriptor, options)
        case 1:
            client.do_get(flight.Ticket(data), options).read_all()
        case 2:
            for kind in ("BeginSavepoint", "EndTransaction", "CancelFlightInfo", "x"):
                with suppress(flight.FlightError, pa.ArrowException):
                    list(client.do_action(flight.Action(kind, data), options))
        case _:
            writer, _ = client.do_put(descriptor, pa.schema([("a", pa.int32())]), options)
            writer.close()


def test_malformed_calls_leave_the_server_running(both: tuple[Server, str]) -> None:
    _, url = both
    client, options = logged_in(url)
    chance = random.Random(7)
    commands = [packed(kind()) for kind in vars(wire).values() if isinstance(kind, type)]
    for round_ in range(150):
        whole = chance.choice(commands)
        data = bytes(chance.randrange(256) if chance.random() < 0.2 else b for b in whole)
        data = data[: chance.randrange(len(data) + 1)]
        with suppress(flight.FlightError, pa.ArrowException):
            _send_nonsense(client, options, data, round_ % 4)
    assert rows_of(url, "SELECT 1 AS a") == [(1,)]


def test_no_port_without_tls_or_trust(tmp_path: Path) -> None:
    command = [warm_python(), "-m", "gateway.cli", "serve", "--check", "--flight", "127.0.0.1:0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "the server has no TLS" in done.stderr
