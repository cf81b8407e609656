"""People under a legal hold while a request to erase them waits, on any store.

Ada (1) is under hold, Bob (2) is not; a request names both.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import ErasureRequest
from spark_compaction.contract import silent
from spark_compaction.engines.local import LocalEngine

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


def submit(con: Connection, *people: str) -> ErasureRequest:
    """A request for some people, accepted and not run."""
    return erasure_of(con.session).accept(
        ErasureSpec({"email": list(people or (ADA, BOB))}), "tester"
    )


def run(con: Connection) -> list[ErasureRequest]:
    """Run what waits; the requests as they are then."""
    assert not purge(con).failures
    return requests(erasure_of(con.session).journal)


def purge(con: Connection) -> Erased:
    """Run what waits; what was erased, and the tables that could not be."""
    return erasure_of(con.session).purge(lambda: nullcontext(LocalEngine()), "tester", None, silent)


def hold(con: Connection, sql: str = HOLD) -> str:
    """Place a hold; its id."""
    ((name, *_),) = rows(con, sql)
    return str(name)


def release(con: Connection, name: str) -> None:
    """Release a hold."""
    con.execute(f"RELEASE HOLD '{name}'")


def state(con: Connection) -> str:
    """The state of the newest request."""
    return requests(erasure_of(con.session).journal)[-1].state.value


def is_refused(con: Connection, sql: str) -> bool:
    """True if a statement is refused because it writes what was erased."""
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return (raised.value.code, raised.value.sqlstate) == ("PAL-306", "23001")


def report(con: Connection, sql: str) -> dict[str, Any]:
    """The report of a job."""
    (row,) = rows(con, sql)
    found: dict[str, Any] = json.loads(row[-1])
    return found
