"""Others who change journals behind the gateway's back: an error that says so, no other answer."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.segment import Tier
from tests.support.kept import rows
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def con(store: Store) -> Connection:
    """A table of three sealed rows, of which one was changed since, and another table."""
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET v = 'new' WHERE k = 1")
    con.execute("CREATE TABLE healthy (a INTEGER)")
    con.execute("INSERT INTO healthy VALUES (1)")
    return con


def _sealed(store: Store, con: Connection) -> str:
    """The piece with the rows of table t that were compacted."""
    tables = {t.name.name: t.id for t in con.session.journal.state.catalog.tables()}
    found = con.session.journal.state.tables[tables["t"]].manifest.in_tier(Tier.BASE)
    (piece,) = [p for p in store.listed(con) if any(s.id in p for s in found)]
    return piece


def _code(con: Connection, sql: str, *parameters: object) -> tuple[str, str]:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql, list(parameters) or None).fetchall()
    return str(raised.value.code), str(raised.value.sqlstate)


READS = (
    "SELECT count(*), max(v) FROM t",
    "SELECT v FROM t WHERE k > 0 OR v IS NULL",
    "SELECT k FROM t FOR SYSTEM_TIME AS OF now()",
    "WITH a AS (SELECT max(k) AS k FROM t) SELECT * FROM a JOIN t USING (k)",
    "UPDATE t SET v = v || 'x'",
    "DELETE FROM t",
    "INSERT INTO t SELECT k + 10, v FROM t",
)


@pytest.mark.also_on("hive", "postgres")
def test_rows_that_others_took_away_are_no_shorter_answer(store: Store, con: Connection) -> None:
    store.lose(con, _sealed(store, con))
    con.close()
    with store.connect_watchful() as again:
        assert {_code(again, sql) for sql in READS} == {("PAL-503", "58030")}
        assert rows(again, "SELECT * FROM healthy") == [(1,)]
        assert not again.session.executor.upkeep.verify().is_clean
        assert _code(again, "CALL system.verify('t')")[0] == "PAL-702"


@pytest.mark.also_on("hive")
def test_a_job_on_a_damaged_table_raises_segment_damaged(store: Store, con: Connection) -> None:
    store.lose(con, _sealed(store, con))
    con.close()
    with store.connect_watchful() as again:
        assert _code(again, "OPTIMIZE t") == ("PAL-503", "58030")
        assert rows(again, "SELECT * FROM healthy") == [(1,)]


@pytest.mark.also_on("hive")
def test_rows_that_others_added_do_not_become_true(store: Store, con: Connection) -> None:
    piece = _sealed(store, con)
    before = store.listed(con)
    store.add_row(con, piece)
    con.close()
    with store.connect_watchful() as again:
        assert _code(again, "CALL system.verify('t')")[0] == "PAL-702"
        assert _code(again, "OPTIMIZE t")[0] in {"PAL-503", "PAL-527"}
        assert {p for p in before if "head" not in p} <= store.listed(again)
        assert piece in store.listed(again)
        assert rows(again, "SELECT * FROM healthy") == [(1,)]
