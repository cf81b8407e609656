"""UPDATE .. FROM and DELETE .. USING: which relations see which, on every store."""

from __future__ import annotations

import pytest

import gateway
from tests.support.kept import rows
from tests.support.stores.store import Store


@pytest.mark.also_on("hive")
def test_sources_do_not_see_the_target(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("CREATE TABLE a (k INTEGER PRIMARY KEY)")
    con.execute("CREATE TABLE b (k INTEGER PRIMARY KEY, w INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    con.execute("INSERT INTO a VALUES (1), (9)")
    con.execute("INSERT INTO b VALUES (1, 100), (2, 200)")
    for sql in (
        "UPDATE t SET v = x.c FROM (SELECT t.k + 1 AS c) AS x",
        "UPDATE t SET v = x.c FROM (SELECT v + 1 AS c) AS x",
        "DELETE FROM t USING (SELECT v AS c) AS x WHERE x.c = 10",
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(sql)
        assert raised.value.sqlstate[:2] == "42", sql
    # The outer join is one of a and b: row 2 of b has no partner, and row 9 of a is not there.
    con.execute("UPDATE t SET v = b.w FROM a RIGHT JOIN b ON b.k = a.k WHERE b.k = t.k")
    assert rows(con, "SELECT * FROM t ORDER BY k") == [(1, 100), (2, 200), (3, 30)]
    con.execute("DELETE FROM t USING a LEFT JOIN b ON b.k = a.k WHERE b.w = t.v")
    assert rows(con, "SELECT * FROM t ORDER BY k") == [(2, 200), (3, 30)]
