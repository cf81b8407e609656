"""A definition that a transaction of another session changes while a job runs, on any store.

A twin without a policy, changed alike, says what the table must hold afterwards. A run may take the
change in, plan anew, or fail with an error that says so; it loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support import aged

CHANGES: dict[str, tuple[str, ...]] = {
    "add": ("ALTER TABLE {} ADD COLUMN z INT DEFAULT 5", "UPDATE {} SET z = 6 WHERE id > 70"),
    "drop": ("ALTER TABLE {} DROP COLUMN n", "DELETE FROM {} WHERE id = 82"),
    "rename": ("ALTER TABLE {} RENAME COLUMN n TO m", "UPDATE {} SET m = -1 WHERE id > 70"),
    "widen": (
        "ALTER TABLE {} ALTER COLUMN n TYPE BIGINT",
        "UPDATE {} SET n = 10000000000 WHERE id > 70",
    ),
    "date": ("ALTER TABLE {} RENAME COLUMN ds TO dated", "DELETE FROM {} WHERE id = 82"),
}
JOBS = ("compact", "retain")
_AGAIN = {"PAL-700", "PAL-703"}
"""Errors that say to run a job again."""
_CONFLICTS = {"PAL-401"}
POLICY = "RETENTION = 30 DAYS ON COLUMN ds"
During = Callable[[str, Callable[[], None]], None]
"""Given a kind of job: has the next run of it call a function once it has staged its first rows."""


def once_after(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, then: Callable[[], None]
) -> None:
    """Have ``then`` called once, when what ``owner`` calls ``name`` has returned."""
    called, left = getattr(owner, name), [then]

    def calling(*arguments: Any, **more: Any) -> Any:
        found = called(*arguments, **more)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(owner, name, calling)


def make(con: Connection) -> None:
    """A table with a policy, and its twin without one."""
    aged.make(con)
    con.execute("CREATE TABLE twin (id INT PRIMARY KEY, ds DATE, n INT, x INT)")
    con.execute("INSERT INTO twin SELECT * FROM t")
    aged.set_policy(con, POLICY)


def run(con: Connection, kind: str) -> str:
    """Run a job, again if it says that it could not; its state."""
    sql = "OPTIMIZE t" if kind == "compact" else f"CALL system.retain('t', now => '{aged.NOW}')"
    for _ in range(2):
        found = _outcome(lambda: con.execute(sql).fetchall()[0][3])
        if found not in _AGAIN:
            return found
    raise AssertionError("it says twice that the definition was changed")


def _outcome(act: Callable[[], Any]) -> str:
    """What something gives, or the code of its error."""
    try:
        return str(act())
    except gateway.Error as error:
        return str(error.code)


def check_change(con: Connection, other: Connection, kind: str, name: str, during: During) -> None:
    """Nothing is lost when a definition is changed in the midst of a job."""
    make(con)

    def change() -> None:
        other.execute("BEGIN")
        for table in ("t", "twin"):
            for statement in CHANGES[name]:
                other.execute(statement.format(table))
        other.execute("COMMIT")

    during(kind, change)
    assert run(con, kind) == "SUCCEEDED"
    same(con, kind, name)
    assert run(con, kind) in {"SUCCEEDED", "NOTHING"}
    same(con, kind, name)
    con.execute("UPDATE t SET x = 9")
    assert con.session.executor.sealer.verify().is_clean


def check_open_change(con: Connection, other: Connection, kind: str, name: str) -> None:
    """Nor when the transaction began before and would commit after the job."""
    make(con)
    other.execute("BEGIN")
    for table in ("t", "twin"):
        for statement in CHANGES[name]:
            other.execute(statement.format(table))
    assert run(con, kind) == "SUCCEEDED"
    is_late = _outcome(lambda: other.execute("COMMIT")) in _CONFLICTS
    same(con, kind, "" if is_late else name)
    assert con.session.executor.sealer.verify().is_clean


def check_policy(con: Connection, other: Connection, during: During) -> None:
    """A policy that is taken away while a retention runs removes nothing any more."""
    make(con)

    def change() -> None:
        other.execute("BEGIN")
        other.execute("ALTER TABLE t UNSET POLICY")
        other.execute("COMMIT")

    during("retain", change)
    assert run(con, "retain") == "NOTHING"
    same(con, "compact", "")
    assert con.session.executor.sealer.verify().is_clean


def check_dropped(con: Connection, other: Connection, kind: str, during: During) -> None:
    """A table that is dropped while a job runs comes back whole."""
    make(con)

    def drop() -> None:
        other.execute("DROP TABLE t")

    during(kind, drop)
    run(con, kind)
    with pytest.raises(gateway.Error):
        con.execute("SELECT * FROM t")
    con.execute("UNDROP TABLE t")
    rows = con.execute("SELECT count(*) FROM t").fetchall()
    assert rows in ([(79,)], con.execute("SELECT count(*) FROM twin").fetchall())
    assert con.session.executor.sealer.verify().is_clean


def same(con: Connection, kind: str, name: str) -> None:
    """The table is as its twin, less what is past its date if a retention has run."""
    day = "dated" if name == "date" else "ds"
    where = f"WHERE {aged.FRESH.replace('ds', day)}" if kind == "retain" else ""
    wanted = _rows(con, f"SELECT * FROM twin {where} ORDER BY id")
    assert _rows(con, "SELECT * FROM t ORDER BY id") == wanted


def _rows(con: Connection, sql: str) -> list[Any]:
    return list(con.execute(sql).fetchall())
