"""People under a legal hold while a request to erase them waits: what every store must keep.

The checks take connections and go through the gateway alone, so that one scenario serves all
stores. Ada (1) is under hold, Bob (2) is not; a request names both.
"""

from __future__ import annotations

import json
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from gateway.erasers import eraser_of
from journal.erasure.requests import Request
from journal.erasure.wanted import Wanted, requests
from journal.jobs.contract import silent
from spark_compaction.local import LocalEngine

ADA, BOB = "ada@x.example", "bob@x.example"
HOLD = "PLACE HOLD ON t WHERE k = 1 REASON 'matter 7'"


def rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return list(con.execute(sql).fetchall())


def make(con: Connection, *, sealed: bool = False) -> None:
    """Ada with two versions, Bob, and somebody of a far date; sealed, or as they were written."""
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, ds DATE, mail VARCHAR, n INTEGER)"
        " WITH (erasure = 'mail LOWER AS email')"
    )
    con.execute(
        f"INSERT INTO t VALUES (1, DATE '2020-01-01', '{ADA}', 1),"
        f" (2, DATE '2020-01-02', '{BOB}', 2), (3, DATE '2999-01-01', 'cyd@x.example', 3)"
    )
    con.execute("UPDATE t SET n = n + 10 WHERE k IN (1, 2)")
    if sealed:
        con.execute("OPTIMIZE t")


def submit(con: Connection, *people: str) -> Request:
    """A request for some people, accepted and not run."""
    return eraser_of(con.session).accept(Wanted({"email": list(people or (ADA, BOB))}), "tester")


def run(con: Connection) -> list[Request]:
    """Run what waits; the requests as they are then."""
    from contextlib import nullcontext

    done = eraser_of(con.session).purge(
        lambda: nullcontext(LocalEngine()), "tester", None, silent
    )
    assert not done.failures
    return requests(eraser_of(con.session).journal)


def hold(con: Connection, sql: str = HOLD) -> str:
    """Place a hold; its id."""
    ((name, *_),) = rows(con, sql)
    return str(name)


def release(con: Connection, name: str) -> None:
    """Release a hold."""
    con.execute(f"RELEASE HOLD '{name}'")


def state(con: Connection) -> str:
    """The state of the newest request."""
    return requests(eraser_of(con.session).journal)[-1].state.value


def is_refused(con: Connection, sql: str) -> bool:
    """True if a statement is refused because it writes what was erased."""
    try:
        con.execute(sql)
    except gateway.Error as error:
        assert (error.code, error.sqlstate) == ("PAL-306", "23001"), error
        return True
    return False


def check_retention(con: Connection, *, waits: str, action: str, sealed: bool) -> None:
    """Retention by date removes no row under a hold, however far a request on it is."""
    make(con, sealed=sealed)
    name = hold(con)
    submit(con)
    if waits == "ON_HOLD":
        run(con)
        assert state(con) == "ON_HOLD"
    con.execute(f"ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds ACTION = {action})")
    planned = _report(con, "CALL system.retain('t', dry_run => true)")
    done = _report(con, "CALL system.retain('t')")
    con.execute("ALTER TABLE t UNSET POLICY (RETENTION)")
    (request,) = requests(eraser_of(con.session).journal)
    eraser_of(con.session).cancel(request, "tester")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    assert (1,) in rows(con, "SELECT n FROM t FOR SYSTEM_TIME ALL WHERE k = 1")
    for report in (planned, done):
        kept = report["details"]["held"]
        assert kept["rows"] == (2 if sealed and _is_compact(con) else 3)
        assert list(kept["by"]) == [name]
        assert "matter 7" in report["why"]
    release(con, name)


def _is_compact(con: Connection) -> bool:
    """True if a key's superseded version is one row of history."""
    return bool(rows(con, "SELECT 1 FROM system.segments WHERE tier = 'history'"))


def _report(con: Connection, sql: str) -> dict[str, Any]:
    (row,) = rows(con, sql)
    found: dict[str, Any] = json.loads(row[-1])
    return found
