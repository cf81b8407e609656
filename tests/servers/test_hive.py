"""HiveServer2's protocol over a warehouse in this process: PyHive, and hostile clients."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from pyhive import exc, hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.addresses import Address, tcp_listener
from gateway.servers.ending import Ending
from gateway.servers.hive import messages
from gateway.servers.hive.server import HiveServer
from gateway.servers.hive.wire import ttypes
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.session.session import Session
from journal.model.access import Role

_LIMITS = ServerLimits(message_bytes=1 << 20, login_s=5.0)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HiveServer, int]]:
    """A server, and its port."""
    opened = WAREHOUSES.acquire(f"palimpsest:///{tmp_path_factory.mktemp('hive')}/w")

    def session(
        user: str | None, application: str | None, given: Mapping[str, str], role: Role | None
    ) -> Session:
        del application, given, role
        return opened.session(Settings(), dialect="hive", autocommit=True, user=user)

    server = HiveServer(session, _LIMITS, Admission(trusts=True), Ending(1.0))
    listener = tcp_listener(Address("127.0.0.1", 0))
    server.listen(listener)
    yield server, listener.getsockname()[1]
    server.close()
    WAREHOUSES.release(opened)


@pytest.fixture
def port(running: tuple[HiveServer, int]) -> int:
    return running[1]


@pytest.fixture
def cursor(port: int) -> Iterator[Any]:
    with hive.connect("127.0.0.1", port, username="me") as connection:
        yield connection.cursor()


def _rows(cursor: Any, text: str) -> list[tuple[Any, ...]]:
    cursor.execute(text)
    found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


@pytest.mark.parametrize("auth", [None, "NOSASL"])
def test_a_table_changes_and_its_values_arrive(port: int, auth: str | None) -> None:
    with hive.connect("127.0.0.1", port, username="me", auth=auth) as connection:
        cursor = connection.cursor()
        cursor.execute("DROP TABLE IF EXISTS things")
        cursor.execute("CREATE TABLE things (id INT, name STRING, amount DECIMAL(10,2))")
        cursor.execute("INSERT INTO things VALUES (1, 'Ada', 1.5), (2, NULL, NULL), (3, 'ü', 0)")
        cursor.execute("UPDATE things SET name = 'Grace' WHERE id = 2")
        cursor.execute("DELETE FROM things WHERE id = 3")
        assert _rows(cursor, "SELECT * FROM things ORDER BY id") == [
            (1, "Ada", Decimal("1.50")),
            (2, "Grace", None),
        ]
        types = [column[1] for column in cursor.description]
        assert types == ["INT_TYPE", "STRING_TYPE", "DECIMAL_TYPE"]


def test_values_of_all_types(cursor: Any) -> None:
    for text, shown in (
        ("CAST(3 AS TINYINT)", 3),
        ("CAST(1.1 AS FLOAT)", 1.1),
        ("true", True),
        ("CAST('raw' AS BINARY)", b"raw"),
        ("DATE '2020-02-29'", "2020-02-29"),
        ("ARRAY(1, NULL)", "[1,null]"),
        ("""MAP('k"', 1)""", '{"k\\"":1}'),
        ("NAMED_STRUCT('x', 1, 'y', ARRAY('z'))", '{"x":1,"y":["z"]}'),
        ("INTERVAL '14' MONTH", "1 years 2 months"),
        ("CAST(NULL AS DOUBLE)", None),
        ("CAST(0.0000001 AS DECIMAL(20,10))", Decimal("0.0000001000")),
    ):
        assert _rows(cursor, f"SELECT {text}") == [(shown,)], text


def test_many_rows_arrive_in_parts_in_their_order(cursor: Any) -> None:
    cursor.arraysize = 3_000
    found = _rows(
        cursor, "SELECT n, CASE WHEN n % 3 = 0 THEN NULL ELSE n END FROM range(10000) t(n)"
    )
    assert found == [(n, None if n % 3 == 0 else n) for n in range(10_000)]


def test_what_drivers_and_tools_send_for_themselves(cursor: Any) -> None:
    cursor.execute("SET hive.exec.parallel=true")
    assert _rows(cursor, "SET hive.exec.parallel") == [("hive.exec.parallel=true",)]
    assert ("palimpsest.dialect=hive",) in _rows(cursor, "set -v")
    cursor.execute("CREATE TABLE IF NOT EXISTS listed (id INT, m MAP<STRING,ARRAY<INT>>)")
    assert ("listed",) in _rows(cursor, "SHOW TABLES")
    assert _rows(cursor, "SHOW TABLES LIKE 'list*'") == [("listed",)]
    assert _rows(cursor, "SHOW DATABASES") == [("main",)]
    assert _rows(cursor, "SELECT current_database()") == [("main",)]
    assert _rows(cursor, "select CURRENT_DATABASE() AS here;") == [("main",)]
    assert cursor.description[0][0] == "here"
    shown = [("id", "int", ""), ("m", "map<string,array<int>>", "")]
    assert _rows(cursor, "DESCRIBE default.listed") == shown
    cursor.execute("SET palimpsest.dialect=spark")
    assert len(_rows(cursor, "SHOW TABLES")[0]) == 3


def test_errors_carry_states_and_hints_and_leave_the_session(cursor: Any) -> None:
    for text, state, part in (
        ("SELECT * FROM nothing", "42S02", "Table not found main.nothing"),
        ("SELECT 1 +", "42601", "Hint"),
        ("SET palimpsest.dialect=cobol", "22023", "hive or spark"),
        ("SELECT ?", "", ""),
    ):
        with pytest.raises(exc.OperationalError) as caught:
            cursor.execute(text)
        status = caught.value.args[0].status
        assert state in status.sqlState
        assert part in status.errorMessage
    assert _rows(cursor, "SELECT 1") == [(1,)]


def test_a_running_statement_is_polled_and_cancelled(cursor: Any) -> None:
    text = "SELECT count(*) FROM range(3000000) a(x) JOIN range(3000000) b(y) ON x % 7 = y % 5"
    cursor.execute(text, async_=True)
    assert cursor.poll().operationState == ttypes.TOperationState.RUNNING_STATE
    began = time.monotonic()
    cursor.cancel()
    assert cursor.poll().operationState == ttypes.TOperationState.CANCELED_STATE
    assert time.monotonic() - began < 5


class _Raw:
    """A client that sends calls one by one, without SASL."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)

    def __enter__(self) -> _Raw:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def call(self, name: str, request: Any) -> bytes:
        head = struct.pack("!HBBi", 0x8001, 0, 1, len(name)) + name.encode()
        body = b"\x0c\x00\x01" + messages.structure(request) + b"\0"
        self.socket.sendall(head + struct.pack("!i", 7) + body)
        found = self.socket.recv(1 << 16)
        assert found[8 : 8 + len(name)] == name.encode()
        return found

    def open(self, version: int = 9) -> ttypes.TOpenSessionResp:
        found = self.call("OpenSession", ttypes.TOpenSessionReq(version, "me", "", {}))
        return _decoded(found, "OpenSession", ttypes.TOpenSessionResp)


def _decoded(found: bytes, name: str, kind: type) -> Any:
    incoming = messages.Incoming(lambda: b"", 1 << 20)
    incoming.put(found[12 + len(name) :].replace(b"\x0c\x00\x00", b"\x0c\x00\x01", 1))
    return messages.read_request(incoming, kind, 1 << 20)


@pytest.fixture
def raw(port: int) -> Iterator[_Raw]:
    with _Raw(port) as found:
        yield found


@pytest.mark.parametrize("version", [0, 4, 5, 9, 10, 99])
def test_versions_are_agreed_on_and_old_ones_get_rows(raw: _Raw, version: int) -> None:
    opened = raw.open(version)
    assert opened.serverProtocolVersion == min(version, 10)
    request = ttypes.TExecuteStatementReq(opened.sessionHandle, "SELECT 5 AS n, 'x' AS t")
    done = _decoded(
        raw.call("ExecuteStatement", request), "ExecuteStatement", ttypes.TOperationResp
    )
    fetch = ttypes.TFetchResultsReq(done.operationHandle, 0, 10)
    found = _decoded(raw.call("FetchResults", fetch), "FetchResults", ttypes.TFetchResultsResp)
    rows = found.results.rows
    assert len(rows) == (1 if version < 5 else 0)
    if rows:
        assert rows[0].colVals[0].i32Val.value == 5
    nothing = raw.call("FetchResults", fetch)
    # impyla expects columns of the declared types behind the last row as well: i32Val, stringVal.
    assert version < 5 or b"\x0c\x00\x04\x0f\x00\x01\x08\0\0\0\0" in nothing


def test_an_unknown_call_is_an_exception_and_the_connection_goes_on(raw: _Raw) -> None:
    opened = raw.open()
    handle = ttypes.THandleIdentifier(b"\xff" * 16, b"\xfe" * 16)
    found = raw.call("CloseImpalaOperation", ttypes.TSessionReq(ttypes.TSessionHandle(handle)))
    assert found[3] == messages.EXCEPTION
    request = ttypes.TSessionReq(ttypes.TSessionHandle(handle))
    refused = _decoded(raw.call("GetCatalogs", request), "GetCatalogs", ttypes.TOperationResp)
    assert refused.status.statusCode == ttypes.TStatusCode.INVALID_HANDLE_STATUS
    request = ttypes.TGetInfoReq(opened.sessionHandle, 17)
    known = _decoded(raw.call("GetInfo", request), "GetInfo", ttypes.TGetInfoResp)
    assert known.infoValue.stringValue == "Palimpsest"


def test_another_connection_does_not_see_a_session(raw: _Raw, port: int) -> None:
    with _Raw(port) as other:
        opened = other.open()
        request = ttypes.TExecuteStatementReq(opened.sessionHandle, "SELECT 1")
        found = raw.call("ExecuteStatement", request)
    refused = _decoded(found, "ExecuteStatement", ttypes.TOperationResp)
    assert refused.status.statusCode == ttypes.TStatusCode.INVALID_HANDLE_STATUS


def test_hostile_bytes_end_their_connection_alone(
    running: tuple[HiveServer, int], cursor: Any
) -> None:
    server, port = running
    before = server.connections
    chance = random.Random(7)
    deep = b"\x80\x01\x00\x01\x00\x00\x00\x07GetInfo\0\0\0\1" + b"\x0c\x00\x63" * 50_000
    frames = [
        b"\x01\x00\x00\x00\x05PLAIN\x02\xff\xff\xff\xff",
        b"\x01\x00\x00\x00\x06GSSAPI",
        b"\x16\x03\x01\x00\x05hello",
        b"\x80\x01\x00\x01\x7f\xff\xff\xff",
        deep,
        b"\x80\x01\x00\x01\x00\x00\x00\x0bOpenSession\0\0\0\1\x0c\x00\x01\x0b\x00\x02\x7f\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
        *(chance.randbytes(chance.randrange(1, 400)) for _ in range(40)),
        *(b"\x80\x01\x00\x01" + chance.randbytes(chance.randrange(1, 90)) for _ in range(40)),
    ]
    for frame in frames:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
            with contextlib.suppress(OSError):
                peer.sendall(frame)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):
                    pass
    end = time.monotonic() + 10
    while server.connections > before and time.monotonic() < end:
        time.sleep(0.05)
    assert server.connections <= before
    assert _rows(cursor, "SELECT 1") == [(1,)]


def test_a_frame_beyond_the_limit_ends_the_connection(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        peer.sendall(b"\x01\0\0\0\5PLAIN\x05\0\0\0\4\0me\0")
        assert peer.recv(5) == b"\x05\0\0\0\0"
        peer.sendall(struct.pack("!I", 1 << 30))
        assert peer.recv(10) == b""


def test_a_session_ends_with_its_client(running: tuple[HiveServer, int]) -> None:
    server, port = running
    before, threads = server.connections, threading.active_count()
    connection = hive.connect("127.0.0.1", port, username="me")
    cursor = connection.cursor()
    cursor.execute(
        "SELECT count(*) FROM range(3000000) a(x) JOIN range(3000000) b(y) ON x % 7 = y % 5",
        async_=True,
    )
    connection._transport.close()
    end = time.monotonic() + 10
    while server.connections > before and time.monotonic() < end:
        time.sleep(0.05)
    assert server.connections <= before
    assert threading.active_count() <= threads + 1


def test_the_stubs_agree_with_thrift_itself(port: int) -> None:
    """Answers are read by Thrift's own library without its fast part as well."""
    transport = TBufferedTransport(TSocket("127.0.0.1", port))
    transport.open()
    raw = TBinaryProtocol(transport)
    raw.writeMessageBegin("OpenSession", 1, 3)
    raw.trans.write(b"\x0c\x00\x01" + messages.structure(ttypes.TOpenSessionReq(9)) + b"\0")
    raw.trans.flush()
    name, kind, number = raw.readMessageBegin()
    assert (name, kind, number) == ("OpenSession", messages.REPLY, 3)
    raw.readFieldBegin()
    found = ttypes.TOpenSessionResp()
    found.read(raw)
    assert found.status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS
    transport.close()
