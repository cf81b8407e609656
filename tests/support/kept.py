"""A table that is backed up and spoilt, and what its backups bring back on any store.

``Drop`` drops what jobs have replaced, as if its grace were over; what backups list stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gateway.dbapi.connection import Connection
from tests.support import aged

Drop = Callable[[Connection], None]
ALL = "SELECT * FROM t ORDER BY a"


def make(con: Connection) -> None:
    """A table in a base, in history, in two layouts and in what came last."""
    con.execute(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR NOT NULL, UNIQUE (b))"
        " WITH (erasure = 'b')"
    )
    con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(60) r(i)")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET b = 'c' || a WHERE a < 9")
    con.execute("ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7")
    con.execute("DELETE FROM t WHERE a = 5")
    con.execute("INSERT INTO t VALUES (90, 'late', 8)")


def rows(con: Any, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return list(con.execute(sql).fetchall())


def call(con: Connection, words: str) -> dict[str, Any]:
    """Run a job that must do something; its report."""
    (row,) = rows(con, f"CALL system.{words}")
    assert row[3] in {"SUCCEEDED", "PLANNED"}, row
    found: dict[str, Any] = json.loads(row[-1])
    return found


def is_whole(con: Connection) -> bool:
    """True if journals are as the catalog says."""
    return bool(con.session.executor.upkeep.verify().is_clean)


def spoil(con: Connection, drop: Drop) -> None:
    """Change, remove and add rows, and work all of it into other tables."""
    con.execute("UPDATE t SET b = 'x' || a WHERE a BETWEEN 10 AND 20")
    con.execute("DELETE FROM t WHERE a > 40")
    con.execute("INSERT INTO t VALUES (5, 'again', 0), (200, 'new', 0)")
    con.execute("OPTIMIZE t")
    drop(con)


def check_condition_and_key(table: Connection, drop: Drop) -> None:
    """Rows come back by key and by condition, and no others."""
    call(table, "backup('t', name => 'good')")
    spoil(table, drop)
    assert call(table, "restore('t', key => '45')")["written"]["rows"] == 1
    assert rows(table, "SELECT * FROM t WHERE a > 40 AND a < 100") == [(45, "b45", 7)]
    call(table, "restore('t', where => 'a BETWEEN 10 AND 12')")
    assert rows(table, "SELECT b FROM t WHERE a BETWEEN 10 AND 13 ORDER BY a") == [
        ("b10",),
        ("b11",),
        ("b12",),
        ("x13",),
    ]


def check_outlasts_a_column(table: Connection) -> None:
    """A backup is restored into the columns that the table has now."""
    call(table, "backup('t', name => 'good')")
    table.execute("ALTER TABLE t DROP COLUMN d")
    table.execute("ALTER TABLE t ADD COLUMN e VARCHAR DEFAULT 'e'")
    table.execute("DELETE FROM t")
    call(table, "restore('t', backup => 'good')")
    assert rows(table, "SELECT count(*), min(e) FROM t") == [(60, "e")]


def check_brings_back(
    table: Connection, drop: Drop, version: Callable[[Connection], object]
) -> None:
    """A restore brings back what was there, leaves the past alone, and can itself be undone."""
    before = rows(table, ALL)
    planned = call(table, "backup('t', name => 'good', dry_run => true)")
    made = call(table, "backup('t', name => 'good')")
    assert planned["details"]["holds"]["rows"] == made["details"]["holds"]["rows"] > 60
    then = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {version(table)} ORDER BY a"
    spoil(table, drop)
    spoilt = rows(table, ALL)
    assert rows(table, then) == before
    planned = call(table, "restore('t', backup => 'good', dry_run => true)")
    assert rows(table, ALL) == spoilt
    done = call(table, "restore('t', backup => 'good')")
    assert planned["written"]["rows"] == done["written"]["rows"] > 20
    assert rows(table, ALL) == before
    assert rows(table, then) == before
    call(table, f"restore('t', backup => '{done['details']['trash']}')")
    assert rows(table, ALL) == spoilt
    named = "SELECT kind, name FROM system.backups WHERE kind <> 'trash'"
    assert rows(table, named) == [("named", "good")]
    assert is_whole(table)


def check_retention_leaves_a_backup(con: Connection) -> None:
    """What a retention takes away can be restored while the policy's time lasts."""
    aged.make(con)
    aged.set_policy(con, "RETENTION = 30 DAYS ON COLUMN ds, BACKUP = 7 DAYS")
    before = rows(con, "SELECT * FROM t ORDER BY id")
    assert aged.retain(con)[3] == "SUCCEEDED"
    assert rows(con, "SELECT * FROM t ORDER BY id") != before
    assert rows(con, "SELECT kind FROM system.backups") == [("auto",)]
    call(con, "restore('t')")
    assert rows(con, "SELECT * FROM t ORDER BY id") == before
    assert is_whole(con)


def check_backup_goes_with_its_pieces(con: Connection, drop: Drop) -> None:
    """Nothing is listed that could not be restored, once the time of a retention's backup is up."""
    drop(con)
    assert ("auto",) not in rows(con, "SELECT kind FROM system.backups")
