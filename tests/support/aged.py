"""A table of ninety days in several layouts, and what policies must leave of it on any store."""

from __future__ import annotations

from typing import Any

from gateway.dbapi.connection import Connection

NOW = "2024-04-01"
FRESH = "(ds IS NULL OR ds >= DATE '2024-03-02')"
"""What thirty days up to NOW leave."""


def make(con: Connection) -> None:
    """Ninety days up to NOW in a base, history, two layouts and later changes; some undated."""
    con.execute("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    con.execute(
        "INSERT INTO t SELECT i, CAST(DATE '2024-01-02' + i * INTERVAL '1' DAY AS DATE), i"
        " FROM range(90) r(i)"
    )
    con.execute("INSERT INTO t VALUES (1000, NULL, 7)")
    con.execute("UPDATE t SET n = n + 100 WHERE id % 3 = 0")
    con.execute("OPTIMIZE t")
    con.execute("DELETE FROM t WHERE id % 7 = 0")
    con.execute("ALTER TABLE t ADD COLUMN x INT")
    con.execute("UPDATE t SET x = 1 WHERE id % 5 = 0")


def rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return list(con.execute(sql).fetchall())


def retain(con: Connection, more: str = "") -> tuple[Any, ...]:
    """The report of a retention at NOW, as a row."""
    (row,) = rows(con, f"CALL system.retain('t', now => '{NOW}'{more})")
    return row


def set_policy(con: Connection, text: str) -> None:
    """Give the table a policy."""
    con.execute(f"ALTER TABLE t SET POLICY ({text})")


def check_dates(con: Connection) -> None:
    """Rows past their date go from every version, and no other."""
    set_policy(con, "RETENTION = 30 DAYS ON COLUMN ds")
    asked = f"SELECT * FROM t FOR SYSTEM_TIME ALL WHERE {FRESH} ORDER BY id, version_number"
    kept = rows(con, asked)
    present = rows(con, f"SELECT * FROM t WHERE {FRESH} ORDER BY id")
    ((total,),) = rows(con, "SELECT count(*) FROM t_journal")
    planned = retain(con, ", dry_run => true")
    done = retain(con)
    assert (planned[3], done[3]) == ("PLANNED", "SUCCEEDED")
    assert planned[6] == done[6] > 60
    assert rows(con, "SELECT count(*) FROM t_journal") == [(total - done[6],)]
    assert rows(con, "SELECT * FROM t ORDER BY id") == present
    assert rows(con, asked) == kept
    assert rows(con, f"SELECT count(*) FROM t_journal WHERE NOT {FRESH}") == [(0,)]
    assert retain(con)[3] == "NOTHING"
    assert con.session.executor.upkeep.verify().is_clean
    con.execute("UPDATE t SET n = 0")
    con.execute("OPTIMIZE t")
    assert rows(con, "SELECT sum(n), count(*) FROM t") == [(0, len(present))]


def check_versions(con: Connection) -> None:
    """Superseded versions go by number and by age."""
    for number in range(4):
        con.execute(f"UPDATE t SET n = {number} WHERE id IN (80, 81)")
    set_policy(con, "VERSIONS = 2")
    present = rows(con, "SELECT * FROM t ORDER BY id")
    assert retain(con)[3] == "SUCCEEDED"
    ever = "SELECT n FROM t FOR SYSTEM_TIME ALL WHERE id = 80 ORDER BY version_number"
    assert rows(con, ever) == [(2,), (3,)]
    assert rows(con, "SELECT * FROM t ORDER BY id") == present
    set_policy(con, "VERSIONS = NONE, HISTORY = 1 DAY")
    (row,) = rows(con, "CALL system.retain('t', now => '2100-01-01')")
    assert row[3] == "SUCCEEDED"
    assert rows(con, ever) == [(3,)]
    assert rows(con, "SELECT * FROM t ORDER BY id") == present
    assert con.session.executor.upkeep.verify().is_clean
