"""What the server sends comes as the driver by itself would give it, in portions of any size."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from pyhive import hive
from TCLIService import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from journal.stores.hive.client import protocol as hive_protocol
from journal.stores.hive.store import HiveConnection
from tests.support.thrift_server import ThriftServer

MANY = "SELECT id, IF(id % 7 = 0, NULL, id * 3) AS n FROM range(0, 40000, 1, 1) ORDER BY id"
KINDS = """SELECT id, IF(id % 3 = 0, NULL, id > 4) AS b, CAST(id AS TINYINT) AS t,
 CAST(id AS SMALLINT) AS s, CAST(id AS INT) AS i, CAST(id AS FLOAT) / 4 AS f,
 IF(id = 8, NULL, id / 3.0D) AS d, CAST(id AS DECIMAL(9, 2)) AS e, concat('ä', id) AS x,
 IF(id = 9, NULL, CAST(concat('b', id) AS BINARY)) AS y, NULL AS z, array(id, NULL) AS l,
 TIMESTAMP_NTZ '2024-01-02 03:04:05.6' AS m FROM range(0, 19, 1, 1) ORDER BY id"""


def test_rows_are_the_drivers(connection: HiveConnection, server: ThriftServer) -> None:
    plain = hive.connect(host=server.host, port=server.port, username="tester", auth="NOSASL")
    cursor = plain.cursor()
    for sql in (MANY, KINDS):
        cursor.execute(sql)
        assert connection.run(sql) == cursor.fetchall()
    cursor.close()
    plain.close()
    assert connection.types()[7] == ("DECIMAL_TYPE", "decimal(9,2)")
    last = connection.run(KINDS)[-1]
    assert last[7:9] == (Decimal("18.00"), "ä18")
    assert last[12] == datetime.datetime.fromisoformat("2024-01-02 03:04:05.6")


def test_columns_come_in_portions(connection: HiveConnection) -> None:
    wanted = [(i, None if i % 7 == 0 else i * 3) for i in range(40_000)]
    found: list[tuple[object, ...]] = []
    connection.execute(MANY)
    for size in (1, 16_383, 1, 20_000, 5, 10_000):
        found += zip(*connection.columns(size), strict=True)
        assert found == wanted[: len(found)]
    assert len(found) == 40_000
    assert not any(connection.columns(1) + connection.columns())
    connection.execute(MANY)
    connection.columns(20_000)
    # A short statement beside it takes nothing away.
    assert connection.short_query("SELECT 1 AS one") == [(1,)]
    assert connection.columns()[0] == list(range(20_000, 40_000))
    connection.execute("SET spark.sql.ansi.enabled=true")
    assert connection.fetch_all() == [("spark.sql.ansi.enabled", "true")]


@pytest.mark.parametrize("extended", [True, False])
def test_thrift_is_spoken_alike_with_its_extension_and_without(
    monkeypatch: pytest.MonkeyPatch, extended: bool
) -> None:
    if not extended:
        monkeypatch.setattr(hive_protocol, "_extension", lambda: None)
    place = ttypes.TOperationHandle(
        ttypes.THandleIdentifier(b"\0\xff", b""), ttypes.TOperationType.UNKNOWN, True, 0.5
    )
    limits = {"precision": ttypes.TTypeQualifierValue(i32Value=9)}
    entry = ttypes.TPrimitiveTypeEntry(3, ttypes.TTypeQualifiers(limits))
    described = ttypes.TTypeDesc([ttypes.TTypeEntry(primitiveEntry=entry)])
    columns = [
        ttypes.TColumn(i64Val=ttypes.TI64Column([1, -(2**62)], b"\x02")),
        ttypes.TColumn(stringVal=ttypes.TStringColumn(["ä", ""], b"\0")),
        ttypes.TColumn(binaryVal=ttypes.TBinaryColumn([b"\xff", b""], b"\0")),
        ttypes.TColumn(doubleVal=ttypes.TDoubleColumn([0.5, float("inf")], b"\0")),
        ttypes.TColumn(boolVal=ttypes.TBoolColumn([True, False], b"\0")),
    ]
    sent = [
        ttypes.TExecuteStatementReq(None, "SELECT 'ä'", {"a": "b"}, True),
        ttypes.TCloseOperationReq(place),
        ttypes.TColumnDesc("n", described, 1),
        ttypes.TFetchResultsResp(
            ttypes.TStatus(0, ["told"]), False, ttypes.TRowSet(0, [], columns)
        ),
    ]
    for value in sent:
        plain, ours = TMemoryBuffer(), TMemoryBuffer()
        value.write(TBinaryProtocol(plain))
        value.write(hive_protocol.Protocol(ours))
        assert ours.getvalue() == plain.getvalue()
        back = type(value)()
        back.read(hive_protocol.Protocol(TMemoryBuffer(plain.getvalue())))
        assert back == value
