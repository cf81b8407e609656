"""People under a legal hold while a request to erase them waits: what every store must keep.

The checks take connections and go through the gateway alone, so that one scenario serves all
stores. Ada (1) is under hold, Bob (2) is not; a request names both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasers import eraser_of
from journal.erasure import holds
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.holds import Hold, HoldScope
from journal.erasure.requests import ErasureRequest
from journal.model.version import to_datetime
from journal.records import erasure_rows as rows_of
from spark_compaction.contract import silent
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure.access import gather

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
    return eraser_of(con.session).accept(
        ErasureSpec({"email": list(people or (ADA, BOB))}), "tester"
    )


def run(con: Connection) -> list[ErasureRequest]:
    """Run what waits; the requests as they are then."""
    done = eraser_of(con.session).purge(lambda: nullcontext(LocalEngine()), "tester", None, silent)
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
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return (raised.value.code, raised.value.sqlstate) == ("PAL-306", "23001")


def check_readable(con: Connection, other: Callable[[], Connection]) -> None:
    """What a hold covers is seen and changed as before; the rest of the request is hidden."""
    make(con)
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    name = hold(con)
    request = submit(con)
    assert (request.state.value, name in str(request.holder)) == ("ON_HOLD", True)
    for each in (con, other()):
        assert rows(each, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
        assert seen(each, before) == [1, 3]
        assert rows(each, "SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE k = 2") == [(0,)]
    con.execute("UPDATE t SET n = n + 1 WHERE mail = 'ada@x.example'")
    con.execute(f"UPDATE t SET mail = ' {ADA.upper()}' WHERE k = 1")
    con.execute("DELETE FROM t WHERE k = 1")
    con.execute(f"INSERT INTO t VALUES (1, DATE '2020-01-01', '{ADA}', 12)")
    assert is_refused(con, "INSERT INTO t VALUES (2, NULL, 'new@x.example', 0)")
    for mail in (ADA, BOB):
        assert is_refused(con, f"INSERT INTO t VALUES (9, NULL, '{mail}', 0)")
        assert is_refused(con, f"UPDATE t SET mail = '{mail}' WHERE k = 3")
    # Bob is no part of the hold: his identifier does not come in by a row that is held either.
    run(con)
    assert state(con) == "ON_HOLD"
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 12), (3, 3)]
    assert con.session.executor.sealer.verify().is_clean
    release(con, name)
    for each in (con, other()):
        assert state(each) == "ACCEPTED"
        assert seen(each, before) == [3]
        assert rows(each, "SELECT k FROM t") == [(3,)]
        assert rows(each, "SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE k < 3") == [(0,)]
        assert is_refused(each, "INSERT INTO t VALUES (1, NULL, 'new@x.example', 0)")
    run(con)
    assert state(con) == "COMPLETED"
    assert is_refused(con, "INSERT INTO t VALUES (1, NULL, 'new@x.example', 0)")
    assert is_refused(con, f"INSERT INTO t VALUES (9, NULL, '{ADA}', 0)")
    assert con.session.executor.sealer.verify().is_clean
    assert actions(con)[-5:] == [
        "erase.accept",
        *(f"erase.{word}" for word in ("hold", "release", "purge", "complete")),
    ]


def seen(con: Connection, version: int) -> list[int]:
    """The keys that are seen at a version."""
    return [k for (k,) in rows(con, f"SELECT k FROM t VERSION AS OF {version} ORDER BY k")]


def actions(con: Connection) -> list[str]:
    """What the audit log says was done."""
    with eraser_of(con.session).journal.reading_session() as session:
        return [row.action for row in rows_of.load_audit(session)]


def check_placed_later(con: Connection) -> None:
    """A hold that is placed after a request was accepted brings back what it covers."""
    make(con)
    assert submit(con).state.value == "ACCEPTED"
    assert rows(con, "SELECT k FROM t") == [(3,)]
    name = hold(con)
    assert state(con) == "ON_HOLD"
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    con.execute("UPDATE t SET n = 0 WHERE k = 1")
    assert is_refused(con, "INSERT INTO t VALUES (2, NULL, 'new@x.example', 0)")
    run(con)
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 0), (3, 3)]
    (request,) = requests(eraser_of(con.session).journal)
    eraser_of(con.session).cancel(request, "tester")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 0), (2, 12), (3, 3)]
    con.execute("UPDATE t SET n = 1 WHERE k IN (1, 2)")
    release(con, name)
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 1), (2, 1), (3, 3)]


def check_racing_writer(con: Connection, other: Callable[[], Connection]) -> None:
    """Nothing survives of a transaction that changes a row while its hold is released."""
    make(con)
    name = hold(con)
    submit(con)
    racing = other()
    racing.execute("BEGIN")
    assert racing.execute("UPDATE t SET n = 99 WHERE k = 1").rowcount == 1
    release(con, name)
    with pytest.raises(gateway.Error) as raised:
        racing.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    assert rows(con, "SELECT k FROM t") == [(3,)]
    run(con)
    assert state(con) == "COMPLETED"
    assert rows(con, "SELECT count(*) FROM t_journal WHERE k < 3") == [(0,)]


def check_many(con: Connection) -> None:
    """A key that several holds and requests are about is spared until the last hold ends."""
    make(con)
    by_key = hold(con)
    by_name = hold(con, f"PLACE HOLD FOR SUBJECT email = '{ADA}' REASON 'matter 8'")
    both, one = submit(con), submit(con, ADA)
    assert [r.state.value for r in (both, one)] == ["ON_HOLD", "ON_HOLD"]
    assert by_key in str(both.holder)
    assert by_name in str(both.holder)
    release(con, by_key)
    con.execute("UPDATE t SET n = 50 WHERE k = 1")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 50), (3, 3)]
    assert {r.state.value for r in run(con)} == {"ON_HOLD"}
    assert by_key not in str(requests(eraser_of(con.session).journal)[0].holder)
    release(con, by_name)
    assert rows(con, "SELECT k FROM t") == [(3,)]
    assert {r.state.value for r in run(con)} == {"COMPLETED"}
    assert is_refused(con, "INSERT INTO t VALUES (1, NULL, 'new@x.example', 0)")


def check_whole_table(con: Connection) -> None:
    """A hold on a table spares whatever a request is about in it."""
    make(con)
    submit(con)
    name = hold(con, "PLACE HOLD ON t REASON 'matter 9'")
    assert rows(con, "SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,)]
    con.execute("UPDATE t SET n = 0")
    assert {r.state.value for r in run(con)} == {"ON_HOLD"}
    release(con, name)
    assert rows(con, "SELECT k FROM t") == [(3,)]
    assert {r.state.value for r in run(con)} == {"COMPLETED"}


def check_killed(
    con: Connection,
    killed: AbstractContextManager[None],
    clean: Callable[[], object] = lambda: None,
) -> None:
    """A release that is killed in its commit has not happened; the next one happens as a whole.

    ``clean`` removes what it has left where the store itself does not.
    """
    make(con)
    name = hold(con)
    submit(con)
    with killed, pytest.raises(KeyboardInterrupt):
        release(con, name)
    assert state(con) == "ON_HOLD"
    assert rows(con, "SELECT id FROM system.holds WHERE released_at IS NULL") == [(name,)]
    con.execute("UPDATE t SET n = 13 WHERE k = 1")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 13), (3, 3)]
    assert con.session.executor.sealer.verify().is_clean
    release(con, name)
    assert rows(con, "SELECT k FROM t") == [(3,)]
    clean()
    assert {r.state.value for r in run(con)} == {"COMPLETED"}


def check_placed_while_purged(
    con: Connection, meanwhile: Callable[[Callable[[Connection], Any]], Any]
) -> None:
    """A hold that is placed while a purge runs keeps what it covers; the purge removes nothing."""
    make(con, sealed=True)
    submit(con)
    names: list[str] = []

    def place(other: Connection) -> None:
        if not names:
            names.append(hold(other))

    meanwhile(place)
    done = eraser_of(con.session).purge(lambda: nullcontext(LocalEngine()), "me", None, silent)
    assert names
    assert done.failures or state(con) == "ON_HOLD"
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    run(con)
    assert state(con) == "ON_HOLD"
    release(con, names[0])
    assert {r.state.value for r in run(con)} == {"COMPLETED"}
    assert rows(con, "SELECT count(*) FROM t_journal WHERE k < 3") == [(0,)]


def check_placed_while_retained(
    con: Connection, meanwhile: Callable[[Callable[[Connection], Any]], Any]
) -> None:
    """A hold that is placed while a retention runs keeps what it covers."""
    make(con, sealed=True)
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    names: list[str] = []

    def place(other: Connection) -> None:
        if not names:
            names.append(hold(other))

    meanwhile(place)
    with suppress(gateway.Error):
        con.execute("CALL system.retain('t')")
    assert names
    con.execute("CALL system.retain('t')")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]


def check_access(con: Connection) -> None:
    """Who asks what is known about them gets what is held, and is told what waits."""
    make(con)
    name = hold(con)
    request = submit(con)
    eraser = eraser_of(con.session)
    files, (found,) = gather(eraser.journal, eraser.sight, {"email": [ADA, BOB]})
    assert (found.rows, found.held, found.hidden) == (2, 1, 1)
    assert found.requests == (request.id,)
    assert request.id in found.told
    (lines,) = (data.decode() for file, data in files.items() if file.endswith(".jsonl"))
    assert (ADA in lines, BOB in lines) == (True, False)
    release(con, name)
    _, (found,) = gather(eraser.journal, eraser.sight, {"email": [ADA]})
    assert (found.rows, found.held, found.hidden) == (0, 0, 1)
    run(con)
    _, (found,) = gather(eraser.journal, eraser.sight, {"email": [ADA]})
    assert (found.rows, found.held, found.hidden, found.remark) == (0, 0, 0, "")


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


def check_hidden_before(con: Connection) -> None:
    """Jobs obey a hold whose rows are hidden, as earlier versions left them."""
    make(con, sealed=True)
    submit(con)
    journal = eraser_of(con.session).journal
    table = next(t for t in con.session.journal.state.catalog.tables() if t.name.name == "t")
    moment = to_datetime(con.session.journal.clock.now())
    placed = Hold(
        *(
            "0123456789ab",
            HoldScope.PREDICATE,
            table.id,
            "k = 1",
            None,
            None,
            "matter 7",
            "me",
            moment,
        )
    )
    with journal.exclusive_session() as session:
        holds.place(session, placed)
        session.commit()
    assert state(con) == "ACCEPTED"
    assert rows(con, "SELECT k FROM t") == [(3,)]
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    report = _report(con, "CALL system.retain('t')")
    assert list(report["details"]["held"]["by"]) == [placed.id]
    assert {r.state.value for r in run(con)} == {"ON_HOLD"}
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    release(con, placed.id)
    assert {r.state.value for r in run(con)} == {"COMPLETED"}


def _is_compact(con: Connection) -> bool:
    """True if a key's superseded version is one row of history."""
    return bool(rows(con, "SELECT 1 FROM system.segments WHERE tier = 'history'"))


def _report(con: Connection, sql: str) -> dict[str, Any]:
    (row,) = rows(con, sql)
    found: dict[str, Any] = json.loads(row[-1])
    return found
