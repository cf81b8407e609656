"""Values there and back: every type of the store, its type code and its Python value."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection

UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
MOMENT = dt.datetime(2026, 2, 28, 12, 30, 15, 123456)  # noqa: DTZ001

# Type, a value, the type object that its code equals (None: none of them does).
CASES: tuple[tuple[str, Any, Any], ...] = (
    ("BOOLEAN", True, gateway.NUMBER),
    ("TINYINT", -128, gateway.NUMBER),
    ("SMALLINT", -32768, gateway.NUMBER),
    ("INTEGER", 2**31 - 1, gateway.NUMBER),
    ("BIGINT", -(2**63), gateway.NUMBER),
    ("HUGEINT", 2**127 - 1, gateway.NUMBER),
    ("UTINYINT", 255, gateway.NUMBER),
    ("USMALLINT", 65535, gateway.NUMBER),
    ("UINTEGER", 2**32 - 1, gateway.NUMBER),
    ("UBIGINT", 2**64 - 1, gateway.NUMBER),
    ("UHUGEINT", 2**128 - 1, gateway.NUMBER),
    ("FLOAT", 0.5, gateway.NUMBER),
    ("DOUBLE", 0.1, gateway.NUMBER),
    ("DOUBLE", math.inf, gateway.NUMBER),
    ("DECIMAL(10,2)", Decimal("-12345678.90"), gateway.NUMBER),
    ("DECIMAL(38,10)", Decimal("1234567890123456789012345678.0123456789"), gateway.NUMBER),
    ("VARCHAR", "a\x00b ☃ 'q' \\ 😀", gateway.STRING),
    ("VARCHAR", "", gateway.STRING),
    ("JSON", '{"a": [1, null]}', gateway.STRING),
    ("UUID", UUID, gateway.STRING),
    ("BIT", "10101", gateway.STRING),
    ("ENUM('a', 'b')", "b", gateway.STRING),
    ("BLOB", bytes(range(256)), gateway.BINARY),
    ("BLOB", b"", gateway.BINARY),
    ("DATE", dt.date(1, 1, 1), gateway.DATETIME),
    ("DATE", dt.date(9999, 12, 31), gateway.DATETIME),
    ("TIME", dt.time(23, 59, 59, 999999), gateway.DATETIME),
    ("TIMESTAMP", MOMENT, gateway.DATETIME),
    ("TIMESTAMP WITH TIME ZONE", MOMENT.replace(tzinfo=EAST), gateway.DATETIME),
    ("INTERVAL", dt.timedelta(days=3, seconds=4, microseconds=5), gateway.DATETIME),
    ("INTEGER[]", [1, None, 3], None),
    ("INTEGER[]", [], None),
    ("VARCHAR[][]", [["a"], [], ["b", "c"]], None),
    ("STRUCT(a INTEGER, b VARCHAR)", {"a": 1, "b": "x"}, None),
    ("STRUCT(a INTEGER, b STRUCT(c DATE[]))", {"a": 1, "b": {"c": [dt.date(2026, 1, 1)]}}, None),
)


@pytest.mark.parametrize("way", ["execute", "executemany"])
def test_values_of_every_type_are_read_as_written(con: Connection, way: str) -> None:
    names = [f"v{place}" for place in range(len(CASES))]
    made = ", ".join(f"{name} {kind}" for name, (kind, _, _) in zip(names, CASES, strict=True))
    con.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {made})")
    insert = f"INSERT INTO t VALUES (?{', ?' * len(CASES)})"
    wanted = [(1, *(value for _, value, _ in CASES)), (2, *[None] * len(CASES))]
    if way == "execute":
        for row in wanted:
            con.execute(insert, row)
    else:
        con.executemany(insert, wanted)
    for _ in range(2):
        for name, (kind, value, group) in zip(names, CASES, strict=True):
            cursor = con.execute(f"SELECT {name} FROM t ORDER BY id")
            code = cursor.description[0][1]  # type: ignore[index]
            for candidate in (gateway.STRING, gateway.BINARY, gateway.NUMBER, gateway.DATETIME):
                assert (code == candidate) == (candidate is group), (kind, code)
            rows = cursor.fetchall()
            assert rows == [(value,), (None,)], kind
            assert type(rows[0][0]) is type(value), kind
        # The second look is at a sealed segment.
        con.commit()
        con.cursor().callproc("system.flush", ["main.t"])


def test_maps_come_as_mappings(con: Connection) -> None:
    row = con.execute("SELECT MAP {'a': 1, 'b': 2}").fetchone()
    assert row == ({"a": 1, "b": 2},)


def test_nan_is_stored_and_read(con: Connection) -> None:
    con.execute("CREATE TABLE t (v DOUBLE)")
    con.execute("INSERT INTO t VALUES (?)", (math.nan,))
    con.executemany("INSERT INTO t VALUES (?)", [(math.nan,), (None,), (1.5,)])
    rows = [row[0] for row in con.execute("SELECT v FROM t").fetchall()]
    assert sum(1 for v in rows if v is not None and math.isnan(v)) == 2
    assert rows.count(None) == 1


def test_decimals_keep_their_scale(con: Connection) -> None:
    cursor = con.execute("SELECT CAST('1.50' AS DECIMAL(6,2)) AS d")
    assert cursor.description == [("d", "DECIMAL(6,2)", None, None, 6, 2, None)]
    assert str(cursor.fetchone()[0]) == "1.50"  # type: ignore[index]
    cursor = con.execute("SELECT [CAST('1.50' AS DECIMAL(6,2))] AS d")
    assert cursor.description == [("d", "DECIMAL(6,2)[]", None, None, None, None, None)]


def test_bytes_like_parameters_are_bound_as_bytes(con: Connection) -> None:
    for value in (bytearray(b"ab"), memoryview(b"ab"), gateway.Binary(b"ab")):
        assert con.execute("SELECT ?", (value,)).fetchone() == (b"ab",)


def test_time_zones_are_moments(con: Connection) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TIMESTAMPTZ)")
    east, utc = MOMENT.replace(tzinfo=EAST), MOMENT.replace(tzinfo=EAST).astimezone(dt.UTC)
    con.executemany("INSERT INTO t VALUES (?, ?)", [(1, east), (2, utc)])
    con.execute("INSERT INTO t VALUES (3, ?)", (east,))
    rows = con.execute("SELECT DISTINCT v FROM t").fetchall()
    assert rows == [(utc,)]
    assert rows[0][0].tzinfo is not None


@pytest.mark.parametrize("value", [2**200, object(), Decimal("NaN"), {"a": object()}, 1j])
def test_values_without_a_type_are_data_errors(con: Connection, value: Any) -> None:
    con.execute("CREATE TABLE t (v INTEGER)")
    for run in (
        lambda: con.execute("SELECT ?", (value,)).fetchall(),
        lambda: con.execute("INSERT INTO t VALUES (?)", (value,)),
        lambda: con.executemany("INSERT INTO t VALUES (?)", [(value,), (value,)]),
    ):
        con.commit() if not con.in_transaction else con.rollback()
        try:
            run()
        except gateway.DatabaseError:
            continue
        except Exception as error:  # noqa: BLE001 - any other class is what must not come out
            pytest.fail(f"{type(error).__name__}: {error}")


def test_mixed_types_of_a_column_arrive_as_they_would_alone(con: Connection) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v VARCHAR)")
    values = [1, "two", True, None, dt.date(2026, 1, 1)]
    con.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
    alone = [con.execute("SELECT CAST(? AS VARCHAR)", (v,)).fetchone() for v in values]
    assert con.execute("SELECT v FROM t ORDER BY id").fetchall() == alone


def test_arrow_and_pandas(con: Connection) -> None:
    sql = "SELECT range AS a, CAST(range AS VARCHAR) AS b FROM range(3)"
    table = con.execute(sql).fetch_arrow()
    assert table.to_pylist() == [{"a": i, "b": str(i)} for i in range(3)]
    frame = con.execute(sql).fetch_df()
    assert list(frame["a"]) == [0, 1, 2]
    cursor = con.execute(sql)
    cursor.fetchone()
    with pytest.raises(gateway.InterfaceError):
        cursor.fetch_arrow()
