"""Values of a type that a store of Hive's has, but that it would lose: refused, nothing kept."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import gateway
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]
KINDS = ("HUGEINT", "DATE", "TIMESTAMP", "TIMESTAMPTZ")
LOST = (
    "-170141183460469231731687303715884105728, NULL, NULL, NULL",
    "100000000000000000000000000000000000000, NULL, NULL, NULL",
    "NULL, DATE '10000-01-01', NULL, NULL",
    "NULL, DATE '0044-03-15 (BC)', NULL, NULL",
    "NULL, DATE '-infinity', NULL, NULL",
    "NULL, NULL, TIMESTAMP '10000-01-01', NULL",
    "NULL, NULL, TIMESTAMP '0044-03-15 (BC) 10:00:00', NULL",
    "NULL, NULL, TIMESTAMP 'infinity', NULL",
    "NULL, NULL, NULL, TIMESTAMPTZ '10000-01-01 00:00:00+00'",
    "NULL, NULL, NULL, TIMESTAMPTZ 'infinity'",
)
LOST_BY_APACHE = (
    "NULL, NULL, TIMESTAMP '1582-10-05 00:00:00', NULL",
    "NULL, NULL, NULL, TIMESTAMPTZ '1582-10-14 23:59:59.999999+00'",
)
HELD = (
    (
        "99999999999999999999999999999999999999, DATE '9999-12-31',"
        " TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
    ),
    (
        "-99999999999999999999999999999999999999, DATE '0001-01-01',"
        " TIMESTAMP '0001-01-01 00:00:00', TIMESTAMPTZ '1582-10-15 00:00:00+00'"
    ),
    "0, DATE '1582-10-10', TIMESTAMP '1582-10-04 23:59:59.5', NULL",
)


@pytest.fixture(params=["server", "apache"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, ThriftServer)
    return found.new_store(tmp_path, held_rows="100000")


def test_what_would_be_lost_is_refused(url: str) -> None:
    columns = ", ".join(f"{kind} {kind}" for kind in KINDS)
    read = f"SELECT k, {', '.join(f'CAST({kind} AS VARCHAR)' for kind in KINDS)} FROM t ORDER BY k"
    with gateway.connect(url, autocommit=True) as con, duckdb.connect() as plain:
        con.execute("SET TIME ZONE 'UTC'")
        plain.execute("SET TimeZone = 'UTC'")
        made = f"CREATE TABLE t (k INTEGER PRIMARY KEY, {columns})"
        for sql in (made, *(f"INSERT INTO t VALUES ({k}, {v})" for k, v in enumerate(HELD))):
            con.execute(sql)
            plain.execute(sql)
        is_apache = con.session.journal.store.engine.value == "apache"
        for values in LOST + (LOST_BY_APACHE if is_apache else ()):
            with pytest.raises(gateway.DataError) as raised:
                con.execute(f"INSERT INTO t VALUES (9, {values})")
            assert (raised.value.code, raised.value.sqlstate) == ("PAL-311", "22003")
        expected = plain.execute(read).fetchall()
        assert con.execute(read).fetchall() == expected
    # Another gateway has not seen the rows before: it reads what the server keeps.
    with gateway.connect(url, autocommit=True) as con:
        con.execute("SET TIME ZONE 'UTC'")
        assert con.execute(read).fetchall() == expected
        con.execute("CALL system.compact('t')")
        assert con.execute(read).fetchall() == expected
