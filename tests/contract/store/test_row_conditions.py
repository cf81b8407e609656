"""Conditions over rows in the client's dialect: of holds, restores and policies, on every store."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(300)
_IN_EACH = {"postgres": list(range(30, 40)), "duckdb": [30]}
"""Whose tenth is 3: whole numbers are divided otherwise in each dialect."""
_NUMBERS = "SELECT i, i, i FROM generate_series(1, 40) AS g(i)"
_ASKED = "CALL system.hold(\"table\" => 't', \"where\" => 'n / 10 > 3.9', reason => 'x')"


@pytest.fixture(params=_IN_EACH)
def dialect(request: pytest.FixtureRequest) -> str:
    """What the client writes."""
    return str(request.param)


@pytest.fixture
def con(dialect: str, store: Store) -> Connection:
    """A connection to a table of numbers."""
    con = store.connect(dialect=dialect)
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, n NUMERIC(9, 2))")
    con.execute(f"INSERT INTO t {_NUMBERS}")
    return con


def _keys(con: Connection) -> list[int]:
    return [k for (k,) in con.execute("SELECT k FROM t ORDER BY k").fetchall()]


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ERASURE)
def test_holds_keep_what_a_query_finds(con: Connection, dialect: str) -> None:
    con.execute("PLACE HOLD ON t WHERE a / 10 = 3 REASON 'x'")
    con.execute(_ASKED)
    con.execute("ERASE FROM t WHERE k > 0 REASON 'y'")
    assert _keys(con) == [*_IN_EACH[dialect], 40]


@pytest.mark.also_on("hive")
def test_restores_take_what_a_query_finds(con: Connection, dialect: str) -> None:
    (version,) = con.execute("SELECT max(version) FROM system.transactions").fetchone() or ()
    con.execute("DELETE FROM t")
    con.execute(f"RESTORE TABLE t TO VERSION AS OF {version} WHERE a / 10 = 3")
    assert _keys(con) == _IN_EACH[dialect]


@pytest.mark.needs(Capability.ACCESS_CONTROL)
def test_row_policies_and_masks_mean_what_a_query_says(con: Connection, dialect: str) -> None:
    con.execute("ALTER TABLE t SET ROW POLICY (a / 10 = 3 AND n / 10 < 3.2)")
    con.execute("ALTER TABLE t ALTER COLUMN n SET MASKING POLICY (n / 10)")
    con.execute("CREATE ROLE reader")
    con.execute("GRANT SELECT ON t TO reader")
    con.execute("SET ROLE reader")
    found = con.execute("SELECT k, n FROM t ORDER BY k").fetchall()
    wanted = [k for k in _IN_EACH[dialect] if k < 32]
    assert [(k, float(n)) for k, n in found] == [(k, k / 10) for k in wanted]
