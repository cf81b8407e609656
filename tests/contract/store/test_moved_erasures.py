"""Erasures from a table that lost its primary key, whose past lies in another journal."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.needs(Capability.ERASURE),
    pytest.mark.also_on("hive"),
]


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection; t had a key, a column and rows that it has no more."""
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, who TEXT, gone TEXT)")
    con.execute("INSERT INTO t SELECT i, i, 'u' || i, 'x' FROM generate_series(1, 9) AS g(i)")
    con.execute("UPDATE t SET who = 'u2' WHERE k = 3")
    con.execute("DELETE FROM t WHERE k = 4")
    return con


def test_erase_from_reaches_what_the_table_held_before(con: Connection) -> None:
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("ALTER TABLE t DROP CONSTRAINT t_pkey, DROP COLUMN gone")
    con.execute("ALTER TABLE t RENAME TO s")
    con.execute("INSERT INTO s VALUES (10, 4, 'late')")
    con.execute("ERASE FROM s WHERE who = %s OR a / 2 = 2 REASON 'x'", ("u2",))
    con.execute("CALL system.purge()")
    assert {state for (state,) in rows(con, "SELECT state FROM system.erasures")} == {"COMPLETED"}
    assert [k for (k,) in rows(con, "SELECT k FROM s ORDER BY k")] == [1, 6, 7, 8, 9]
    past = f"SELECT k FROM t FOR SYSTEM_VERSION AS OF {before} ORDER BY k"
    assert [k for (k,) in rows(con, past)] == [1, 6, 7, 8, 9]


def test_a_condition_that_cannot_be_asked_of_the_past_is_refused(con: Connection) -> None:
    con.execute("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD COLUMN new TEXT")
    with pytest.raises(gateway.Error, match="before its primary key was dropped"):
        con.execute("ERASE FROM t WHERE new = 'x' REASON 'x'")
    assert rows(con, "SELECT count(*) FROM system.erasures") == [(0,)]


def test_a_hold_keeps_what_the_table_held_before(con: Connection) -> None:
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    con.execute("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD COLUMN new TEXT")
    past = f"SELECT k FROM t FOR SYSTEM_VERSION AS OF {before} ORDER BY k"
    ((hold, *_),) = rows(con, "PLACE HOLD ON t WHERE a / 2 = 3 REASON 'x'")
    con.execute("ERASE FROM t WHERE k > 5 REASON 'x'")
    con.execute("CALL system.purge()")
    assert [k for (k,) in rows(con, "SELECT k FROM t WHERE k > 5 ORDER BY k")] == [6, 7]
    assert [k for (k,) in rows(con, past) if k > 5] == [6, 7]
    con.execute(f"RELEASE HOLD '{hold}'")
    con.execute("CALL system.purge()")
    assert [k for (k,) in rows(con, past) if k > 5] == []
    rows(con, "PLACE HOLD ON t WHERE new IS NULL REASON 'all of the past'")
    con.execute("ERASE FROM t WHERE k = 1 REASON 'x'")
    assert [k for (k,) in rows(con, past)] == [1, 2, 3, 5]
