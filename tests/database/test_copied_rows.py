"""Many rows of values reach the server as few do, whatever their types and characters."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from itertools import islice, product
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

VALUES: dict[str, tuple[Any, ...]] = {
    "TEXT": ("", " ", r"\N", r"\.", "a\tb\nc\r\\d", "'\"{},", "NULL", "ünï\u2028"),
    "BIGINT": (0, -(2**63), 2**63 - 1),
    "NUMERIC(38, 10)": (Decimal("1E+5"), Decimal("-0.0000000001"), Decimal(7)),
    "DOUBLE PRECISION": (1e308, 5e-324, float("inf"), -0.1),
    "REAL": (7.8, -1e38),
    "BOOLEAN": (True, False),
    "DATE": (dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "TIME": (dt.time(0), dt.time(23, 59, 59, 999999)),
    "TIMESTAMP": tuple(
        map(dt.datetime.fromisoformat, ("0001-01-01", "9999-12-31 23:59:59.999999"))
    ),
    "TIMESTAMPTZ": (dt.datetime(2026, 7, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=5))),),
    "INTERVAL": (dt.timedelta(days=-3, microseconds=7),),
    "BYTEA": (b"", b"\x00\\\n\xff"),
    "UUID": (uuid.UUID(int=7),),
    "JSONB": ('{"a": "\\t\\\\ \\" x"}', "null"),
    "INTEGER[]": ([], [1, None, -3]),
    "TEXT[]": (["", "NULL", None, 'a"b\\c\t{}', "\\N"],),
}


@pytest.fixture(scope="module")
def con(cluster: Cluster) -> Connection:
    """A connection to two tables with a column of each type."""
    con = gateway.connect(cluster.url(cluster.database()), autocommit=True, dialect="postgres")
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(VALUES))
    for name in ("few", "many"):
        con.execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY, {columns})")
    return con


def test_many_rows_are_those_that_were_sent_one_by_one(con: Connection) -> None:
    choices = [(None, *values) for values in VALUES.values()]
    widest = max(map(len, choices))
    rows = [
        (k, *(c[(k + shift) % len(c)] for c in choices))
        for k, (shift, _) in enumerate(islice(product(range(widest), range(60)), 400))
    ]
    places = ", ".join("?" * (len(VALUES) + 1))
    con.cursor().executemany(f"INSERT INTO many VALUES ({places})", rows)
    con.execute("BEGIN")
    for row in rows:
        con.execute(f"INSERT INTO few VALUES ({places})", row)
        if row[0] % 50 == 49:
            con.execute("COMMIT; BEGIN")
    con.execute("COMMIT")
    found = [con.execute(f"SELECT * FROM {t} ORDER BY k").fetchall() for t in ("few", "many")]
    assert len(found[0]) == len(rows)
    for few, many in zip(*found, strict=True):
        assert few == many
    con.execute("UPDATE many SET c0 = c0 || k WHERE k % 2 = 0")
    con.execute("UPDATE few SET c0 = c0 || k WHERE k % 2 = 0")
    query = "SELECT count(*) FROM (SELECT k, c0 FROM many EXCEPT SELECT k, c0 FROM few) AS q"
    assert con.execute(query).fetchall() == [(0,)]
    con.execute("DELETE FROM few")
    con.execute("DELETE FROM many")


@pytest.mark.parametrize("rows", [2, 300])
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_texts_that_no_server_keeps_are_refused(con: Connection, text: str, rows: int) -> None:
    values = [(k, text if k == 1 else "x") for k in range(rows)]
    with pytest.raises(gateway.DataError):
        con.cursor().executemany("INSERT INTO many (k, c0) VALUES (?, ?)", values)
    assert con.execute("SELECT count(*) FROM many").fetchall() == [(0,)]
