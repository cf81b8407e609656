"""``system.transactions`` counts the rows that a transaction changed, not those of journals."""

from __future__ import annotations

import pytest

from tests.support.kept import rows
from tests.support.stores.store import Store


@pytest.mark.also_on("hive")
def test_rows_written_are_rows_changed(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    changes = {
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)": 3,
        "UPDATE t SET v = v + 1 WHERE k < 3": 2,
        "DELETE FROM t WHERE k = 3": 1,
        "UPDATE t SET k = 9 WHERE k = 2": 2,
    }
    newest = "SELECT rows_written FROM system.transactions ORDER BY version DESC LIMIT 1"
    for sql, count in changes.items():
        con.execute(sql)
        assert rows(con, newest) == [(count,)], sql
    con.execute("BEGIN")
    con.execute("UPDATE t SET v = 0")
    con.execute("INSERT INTO t VALUES (4, 4)")
    con.execute("COMMIT")
    assert rows(con, newest) == [(3,)]
