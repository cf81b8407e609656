"""What programs send that know PostgreSQL: SELECT INTO, SET TRANSACTION."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection


@pytest.fixture
def con() -> Connection:
    connection = gateway.connect("palimpsest://", dialect="postgres", autocommit=True)
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    return connection


def test_select_into_makes_a_table(con: Connection) -> None:
    assert con.execute("SELECT a, b INTO made FROM t WHERE a > 1").rowcount == 1
    assert con.execute("SELECT * FROM made").fetchall() == [(2, "y")]
    con.execute("SELECT a INTO TEMP own FROM t")
    assert con.execute("SELECT count(*) FROM own").fetchone() == (2,)
    with (
        gateway.connect("palimpsest://", autocommit=True) as other,
        pytest.raises(gateway.NotSupportedError),
    ):
        other.execute("SELECT 1 AS a INTO made")


@pytest.mark.parametrize("scope", ["SET TRANSACTION", "SET SESSION CHARACTERISTICS AS TRANSACTION"])
def test_isolation_is_taken_as_far_as_it_goes(con: Connection, scope: str) -> None:
    con.execute(f"{scope} ISOLATION LEVEL READ COMMITTED")
    con.execute(f"{scope} READ WRITE")
    with pytest.raises(gateway.DataError, match="PAL-222"):
        con.execute(f"{scope} ISOLATION LEVEL SERIALIZABLE")
    with pytest.raises(gateway.ProgrammingError, match="PAL-101"):
        con.execute(f"{scope} SNAPSHOT '1-1'")


def test_what_the_rewriter_fails_on_has_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    con = gateway.connect("palimpsest://", autocommit=True)
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        con.execute("CREATE TABLE unit (price INTEGER, sold AS (price) PRIMARY KEY)")
    monkeypatch.setattr("rewriter.rewriter.check_allowed", lambda *_: 1 / 0)
    with pytest.raises(gateway.InternalError, match="PAL-112"):
        con.execute("SELECT 1 + 1")
