"""A definition that a transaction of another session changes while a job runs.

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
from tests.support.aged import rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)

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
_REPEATED = pytest.mark.also_on("hive", "postgres", "toy")
"""One change shows on every store what all of them show on the embedded one."""


def _marks(change: str) -> list[pytest.MarkDecorator]:
    """Where a change is shown in every run; those that go the way of others, nowhere."""
    like_others = [pytest.mark.also_on("embedded")] if change in {"widen", "date"} else []
    return [pytest.mark.also_on("hive")] if change == "add" else [_REPEATED, *like_others]


CASES = pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=_marks(name))
        for kind in ("compact", "retain")
        for name in CHANGES
    ],
)
_LACKING = pytest.mark.needs(Capability.WRITES_DURING_RETENTION)
MEANWHILE = pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(pytest.param("compact", name, marks=_marks(name)) for name in CHANGES),
        *(pytest.param("retain", name, marks=[_LACKING, *_marks(name)]) for name in CHANGES),
    ],
)
_AGAIN = {"PAL-700", "PAL-703"}
"""Errors that say to run a job again."""
_CONFLICTS = {"PAL-401"}
POLICY = "RETENTION = 30 DAYS ON COLUMN ds"


@pytest.fixture
def con(store: Store) -> Connection:
    """A table with a policy, and its twin without one."""
    con = store.connect()
    aged.make(con)
    con.execute("CREATE TABLE twin (id INT PRIMARY KEY, ds DATE, n INT, x INT)")
    con.execute("INSERT INTO twin SELECT * FROM t")
    aged.set_policy(con, POLICY)
    return con


@pytest.fixture
def other(store: Store, con: Connection) -> Connection:
    """Another session."""
    return store.connect()


def _run(con: Connection, kind: str) -> str:
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


@pytest.mark.first(1)
@MEANWHILE
def test_nothing_is_lost_when_a_definition_changes_in_the_midst_of_a_job(
    store: Store,
    con: Connection,
    other: Connection,
    kind: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change() -> None:
        _begin_change(other, name)
        other.execute("COMMIT")

    store.during(monkeypatch, kind, change)
    assert _run(con, kind) == "SUCCEEDED"
    _check_same(con, kind, name)
    assert _run(con, kind) in {"SUCCEEDED", "NOTHING"}
    _check_same(con, kind, name)
    con.execute("UPDATE t SET x = 9")
    assert con.session.executor.upkeep.verify().is_clean


def _begin_change(other: Connection, name: str) -> None:
    """Change a table and its twin in a transaction."""
    other.execute("BEGIN")
    for table in ("t", "twin"):
        for statement in CHANGES[name]:
            other.execute(statement.format(table))


@pytest.mark.first(1)
@CASES
def test_nor_when_the_transaction_began_before_and_would_commit_after_the_job(
    con: Connection, other: Connection, kind: str, name: str
) -> None:
    _begin_change(other, name)
    assert _run(con, kind) == "SUCCEEDED"
    is_late = _outcome(lambda: other.execute("COMMIT")) in _CONFLICTS
    _check_same(con, kind, "" if is_late else name)
    assert con.session.executor.upkeep.verify().is_clean


@_LACKING
def test_a_policy_that_is_taken_away_while_a_retention_runs_removes_nothing_any_more(
    store: Store, con: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change() -> None:
        other.execute("BEGIN")
        other.execute("ALTER TABLE t UNSET POLICY")
        other.execute("COMMIT")

    store.during(monkeypatch, "retain", change)
    assert _run(con, "retain") == "NOTHING"
    _check_same(con, "compact", "")
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.first(1)
@pytest.mark.also_on("hive")
@pytest.mark.parametrize("kind", ["compact", pytest.param("retain", marks=_LACKING)])
def test_a_table_that_is_dropped_while_a_job_runs_comes_back_whole(
    store: Store, con: Connection, other: Connection, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.during(monkeypatch, kind, lambda: other.execute("DROP TABLE t"))
    _run(con, kind)
    with pytest.raises(gateway.Error):
        con.execute("SELECT * FROM t")
    con.execute("UNDROP TABLE t")
    found = rows(con, "SELECT count(*) FROM t")
    assert found in ([(79,)], rows(con, "SELECT count(*) FROM twin"))
    assert con.session.executor.upkeep.verify().is_clean


def _check_same(con: Connection, kind: str, name: str) -> None:
    """The table is as its twin, less what is past its date if a retention has run."""
    day = "dated" if name == "date" else "ds"
    where = f"WHERE {aged.FRESH.replace('ds', day)}" if kind == "retain" else ""
    wanted = rows(con, f"SELECT * FROM twin {where} ORDER BY id")
    assert rows(con, "SELECT * FROM t ORDER BY id") == wanted
