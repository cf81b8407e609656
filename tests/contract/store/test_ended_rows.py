"""Rows that have ended make no statement fail: what was corrected or deleted is not asked.

Stores move conditions to where rows are read, below what leaves ended rows out.
"""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.stores.store import Store

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.drifts(toy="SQLite reads any text as a number"),
]

READS = [
    ("SELECT count(*) FROM t WHERE CAST(s AS INTEGER) > 1", [(2,)]),
    ("SELECT id FROM t WHERE CAST(s AS INTEGER) > 1 ORDER BY id", [(2,), (3,)]),
    ("SELECT id FROM t WHERE CAST(s AS INTEGER) = 3 AND id < 9", [(3,)]),
    ("SELECT sum(n * n) FROM t", [(14,)]),
    ("SELECT sum(n * n) AS total, count(*) FROM t WHERE n > 0", [(14, 3)]),
    ("SELECT CAST(s AS INTEGER) AS g, sum(n) FROM t GROUP BY g ORDER BY g LIMIT 1", [(1, 1)]),
    ("SELECT q.g FROM (SELECT CAST(s AS INTEGER) AS g FROM t) AS q WHERE q.g > 2", [(3,)]),
    ("SELECT g FROM numbers WHERE g > 2", [(3,)]),
    ("WITH q AS (SELECT CAST(s AS INTEGER) AS g FROM t) SELECT max(g) FROM q WHERE g < 9", [(3,)]),
    ("SELECT a.id FROM t AS a JOIN t AS b ON CAST(a.s AS INTEGER) = b.id WHERE a.id = 2", [(2,)]),
    ("SELECT id FROM t WHERE id IN (SELECT CAST(s AS INTEGER) FROM t WHERE s > '2')", [(3,)]),
    ("SELECT id FROM t WHERE CAST(s AS INTEGER) = 1 UNION ALL SELECT 9", [(1,), (9,)]),
]  # fmt: skip


@pytest.fixture
def con(store: Store) -> Connection:
    con = store.connect()
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR, n BIGINT)")
    con.execute(
        "INSERT INTO t VALUES (1, 'one', 9000000000000000000), (2, '2', 2)"
        ", (3, '3', 3), (4, 'x', 0)"
    )
    con.execute("CREATE VIEW numbers AS SELECT CAST(s AS INTEGER) AS g FROM t")
    con.execute("CALL system.compact(\"table\" => 't', mode => 'major')")
    con.execute("UPDATE t SET s = '1', n = 1 WHERE id = 1")
    con.execute("DELETE FROM t WHERE id = 4")
    return con


@pytest.mark.also_on("hive")
def test_reads_ask_current_rows_alone(con: Connection) -> None:
    found = [(sql, con.execute(sql).fetchall()) for sql, _ in READS]
    assert found == READS


@pytest.mark.also_on("hive")
def test_changes_ask_current_rows_alone(con: Connection) -> None:
    assert con.execute("UPDATE t SET n = n * n WHERE CAST(s AS INTEGER) > 1").rowcount == 2
    assert con.execute("DELETE FROM t WHERE CAST(s AS INTEGER) = 3").rowcount == 1
    con.execute("CREATE TABLE made AS SELECT CAST(s AS INTEGER) AS g FROM t WHERE n * n > 0")
    assert con.execute("SELECT g FROM made ORDER BY g").fetchall() == [(1,), (2,)]


@pytest.mark.also_on("hive")
def test_a_transaction_goes_on_behind_such_a_statement(con: Connection) -> None:
    con.execute("BEGIN")
    con.execute("UPDATE t SET s = '22' WHERE id = 2")
    assert con.execute(READS[0][0]).fetchall() == [(2,)]
    con.execute("COMMIT")
    assert con.execute("SELECT s FROM t WHERE CAST(s AS INTEGER) > 3").fetchall() == [("22",)]


@pytest.mark.also_on("hive")
def test_current_rows_and_the_past_fail_as_they_should(con: Connection) -> None:
    con.execute("INSERT INTO t VALUES (5, 'five', 9000000000000000000)")
    for sql in (READS[0][0], READS[1][0], READS[3][0], READS[7][0]):
        with pytest.raises(gateway.DataError):
            con.execute(sql).fetchall()
    commits = con.execute("SELECT version FROM system.transactions ORDER BY version").fetchall()
    past = f"FROM t FOR SYSTEM_VERSION AS OF {commits[1][0]}"
    with pytest.raises(gateway.DataError):
        con.execute(f"SELECT count(*) {past} WHERE CAST(s AS INTEGER) > 1").fetchall()
    con.execute("DELETE FROM t WHERE id = 5")
    assert con.execute(READS[0][0]).fetchall() == READS[0][1]
