"""Journals on Greenplum: where rows lie, append-optimized tables, and what is refused.

The other tests of this folder run there too; see ``tests.support.greenplum``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.stores.postgres.pool import PostgresStore
from journal.stores.postgres.store import BEGIN_SECTION
from tests.support.greenplum import ASKED, given
from tests.support.postgres import Cluster
from tests.support.relay import Relay

pytestmark = pytest.mark.skipif(
    given() is None, reason=f"no Greenplum here: name one with {ASKED}=postgresql://user@host/db"
)
WHERE = (
    "SELECT c.relname::text, pg_get_table_distributedby(c.oid) FROM pg_class c"
    " WHERE c.relnamespace = '_palimpsest'::regnamespace AND c.relname ~ '^t[0-9]'"
    " AND c.relkind IN ('r', 'p')"
)
KINDS = ["appendoptimized=true", "appendoptimized=true, orientation=column"]


def _plan(admin: Any, sql: str) -> str:
    return "\n".join(row[0] for row in admin.execute(f"EXPLAIN {sql}"))


def test_rows_lie_by_their_key(con: Connection, admin: Any) -> None:
    con.execute("CREATE TABLE t (x TEXT, a INTEGER PRIMARY KEY, b INTEGER)")
    con.execute("INSERT INTO t SELECT 'x', i, i FROM range(1000) r(i)")
    con.execute("UPDATE t SET b = 0 WHERE a < 100")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET b = 1 WHERE a < 10")
    lie = dict(admin.execute(WHERE).fetchall())
    assert len(lie) >= 3
    assert set(lie.values()) == {"DISTRIBUTED BY (a)"}
    found = con.execute("SELECT count(*), sum(b) FROM t").fetchall()
    assert [(int(a), int(b)) for a, b in found] == [(1000, 494560)]
    plan = _plan(admin, "SELECT * FROM t")
    assert "Gather Motion" in plan
    assert "Redistribute" not in plan
    assert "Broadcast" not in plan


def test_rows_lie_by_what_the_table_says(con: Connection, admin: Any) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) WITH (distributed_by = 'b')")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    con.execute("UPDATE t SET b = 'z' WHERE a = 1")
    con.execute("OPTIMIZE t")
    assert set(dict(admin.execute(WHERE).fetchall()).values()) == {"DISTRIBUTED BY (b)"}
    con.execute("ALTER TABLE t DROP COLUMN b")
    con.execute("UPDATE t SET a = 3 WHERE a = 2")
    con.execute("OPTIMIZE t")
    assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1,), (3,)]
    assert con.session.executor.upkeep.verify().is_clean


def test_an_adopted_table_stays_where_it_lies(con: Connection, admin: Any) -> None:
    admin.execute('CREATE TABLE t (a INTEGER, "C" INTEGER, b TEXT) DISTRIBUTED BY ("C")')
    admin.execute("INSERT INTO t SELECT i, i % 7, 'x' FROM generate_series(1, 100) i")
    adopt(con.session, "t", ("a",), (), run=True)
    con.execute("UPDATE t SET b = 'y' WHERE a = 5")
    con.execute("OPTIMIZE t")
    assert set(dict(admin.execute(WHERE).fetchall()).values()) == {"DISTRIBUTED BY (c)"}
    assert con.execute("SELECT count(*) FROM t WHERE b = 'x'").fetchall() == [(99,)]
    eject(con.session, "t", run=True)
    assert admin.execute("SELECT count(*), max(b) FROM t").fetchall() == [(100, "y")]


@pytest.mark.parametrize("kind", KINDS)
def test_an_append_optimized_journal_needs_only_inserts(
    kind: str, connect: Callable[..., Connection], admin: Any
) -> None:
    admin.execute(
        "CREATE TABLE t_journal (a INTEGER, b TEXT, version_number BIGINT,"
        f" subsequent_version_number BIGINT) WITH ({kind}) DISTRIBUTED BY (a)"
    )
    admin.execute("INSERT INTO t_journal VALUES (1, 'one', 1), (2, 'two', 2)")
    one, two = connect(), connect()
    adopt(one.session, "t", ("a",), (), run=True)
    one.execute("INSERT INTO t VALUES (3, 'three')")
    one.execute("UPDATE t SET b = 'uno' WHERE a = 1")
    one.execute("DELETE FROM t WHERE a = 2")
    with pytest.raises(gateway.IntegrityError):
        one.execute("INSERT INTO t VALUES (1, 'again')")
    one.execute("INSERT INTO t VALUES (1, 'x') ON CONFLICT (a) DO UPDATE SET b = t.b || '!'")
    for con in (one, two):
        con.execute("BEGIN")
        con.execute("UPDATE t SET b = 'tre' WHERE a = 3")
    one.execute("COMMIT")
    with pytest.raises(gateway.Error) as raised:
        two.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    rows = [(1, "uno!"), (3, "tre")]
    assert one.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
    assert two.execute("SELECT count(*) FROM t FOR SYSTEM_TIME ALL").fetchall() == [(6,)]
    one.execute("CALL system.compact('t')")
    assert admin.execute("SELECT a, b FROM t ORDER BY a").fetchall() == rows
    with pytest.raises(gateway.NotSupportedError, match="is append-optimized"):
        one.execute("ERASE FROM t WHERE a = 1")
    assert one.session.executor.upkeep.verify().is_clean


def test_tables_that_are_append_optimized_by_default(
    database: str, connect: Callable[..., Connection], admin: Any
) -> None:
    admin.execute(f"ALTER DATABASE {database} SET default_table_access_method = 'ao_column'")
    con = connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t SELECT i, 'x' FROM range(100) r(i)")
    con.execute("UPDATE t SET b = 'y' WHERE a < 10")
    con.execute("OPTIMIZE t")
    con.execute("DELETE FROM t WHERE a >= 90")
    assert con.execute("SELECT b, count(*) FROM t GROUP BY b ORDER BY b").fetchall() == [
        ("x", 80),
        ("y", 10),
    ]
    con.execute("ERASE FROM t WHERE a = 5")
    assert con.execute("SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE a = 5").fetchall() == [
        (0,)
    ]
    assert con.session.executor.upkeep.verify().is_clean
    kinds = admin.execute(
        "SELECT DISTINCT a.amname::text FROM pg_class c JOIN pg_am a ON a.oid = c.relam"
        " WHERE c.relnamespace = '_palimpsest'::regnamespace AND c.relname ~ '^t[0-9]'"
        " AND c.relkind = 'r'"
    ).fetchall()
    assert kinds == [("ao_column",)]


def test_a_cut_commit_that_only_segments_have_written_is_not_taken_for_none(
    cluster: Cluster, database: str, admin: Any
) -> None:
    admin.execute("CREATE TABLE t (a INTEGER) DISTRIBUTED BY (a)")
    # The first rows of a table make the coordinator write, too: their statistics.
    admin.execute("INSERT INTO t VALUES (0)")
    relay = Relay(cluster.port)
    store = PostgresStore(f"postgresql://tester@127.0.0.1:{relay.port}/{database}", {})
    try:
        session = store.acquire()
        session.begin(BEGIN_SECTION)
        session.text("INSERT INTO t VALUES (1)")
        assert session.text("SELECT txid_current_if_assigned()") == [(None,)]
        relay.passes_word = relay.loses_answer = True
        relay.word = b"COMMIT\0"
        session.commit()
        assert relay.has_cut.wait(10)
        assert admin.execute("SELECT max(a) FROM t").fetchall() == [(1,)]
    finally:
        store.close()
        relay.close()


def test_a_segment_that_is_gone_is_a_connection_that_is_lost_or_not_made(
    con: Connection, cluster: Cluster
) -> None:
    cluster.require_control()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t SELECT i FROM range(100) r(i)")
    cluster.kill("segment 0")
    try:
        for sql in ("SELECT count(*) FROM t", "INSERT INTO t VALUES (-1)"):
            with pytest.raises(gateway.OperationalError, match="segment") as raised:
                con.execute(sql).fetchall()
            assert raised.value.sqlstate in {"08001", "08006"}
    finally:
        cluster.launch()
    con.execute("INSERT INTO t VALUES (-2)")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(101,)]


def test_a_join_of_two_moments_is_no_merge_join_that_fails(con: Connection) -> None:
    fill = "INSERT INTO t SELECT CAST(repeat(d, 32) AS UUID), NULL, a FROM (VALUES {}) u(d, a)"
    con.execute("CREATE TABLE t (k UUID PRIMARY KEY, b VARCHAR, a INTEGER)")
    con.execute(fill.format("('f', 6), ('0', 6), ('5', 7)"))
    con.execute("DELETE FROM t AS x USING t AS y WHERE x.a = y.a")
    ((then,),) = con.execute("SELECT max(version) FROM system.transactions").fetchall()
    con.execute(fill.format("('c', -1), ('a', 0), ('d', 2), ('1', NULL), ('6', 6)"))
    joined = f"FROM t FOR SYSTEM_VERSION AS OF {then} AS y WHERE x.k = y.k"
    assert con.execute(f"UPDATE t AS x SET b = coalesce(x.b, '?') {joined}").rowcount == 0
