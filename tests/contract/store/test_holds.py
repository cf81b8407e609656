"""People under a legal hold while a request to erase them waits: what every store must keep.

Ada (1) is under hold, Bob (2) is not; a request names both.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.verify import verify_store
from gateway.procedures.erasure_program import erasure_of
from journal.erasure import holds
from journal.erasure.erasure_spec import requests
from journal.erasure.holds import Hold, HoldScope
from journal.model.version import to_datetime
from journal.records import erasure_rows as rows_of
from spark_compaction.erasure.access import gather
from tests.support.kept import call
from tests.support.stores.store import Capability, Store
from tests.support.under_hold import (
    ADA,
    BOB,
    hold,
    is_refused,
    make,
    purge,
    release,
    report,
    rows,
    run,
    state,
    submit,
)

pytestmark = [pytest.mark.timeout(300), pytest.mark.needs(Capability.ERASURE)]


@pytest.fixture
def con(store: Store) -> Connection:
    """One connection."""
    return store.connect()


@pytest.mark.long
def test_what_is_held_is_seen_and_changed_and_the_rest_of_the_request_is_hidden(
    store: Store, con: Connection
) -> None:
    make(con)
    ((before,),) = rows(con, "SELECT max(version) FROM system.transactions")
    name = hold(con)
    request = submit(con)
    assert (request.state.value, name in str(request.holder)) == ("ON_HOLD", True)
    for each in (con, store.connect()):
        assert rows(each, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
        assert _keys_at(each, before) == [1, 3]
        assert rows(each, "SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE k = 2") == [(0,)]
    con.execute("UPDATE t SET n = n + 1 WHERE mail = 'ada@x.example'")
    con.execute(f"UPDATE t SET mail = ' {ADA.upper()}' WHERE k = 1")
    con.execute("DELETE FROM t WHERE k = 1")
    con.execute(f"INSERT INTO t VALUES (1, DATE '2020-01-01', '{ADA}', 12)")
    assert is_refused(con, "INSERT INTO t VALUES (2, NULL, 'new@x.example', 0)")
    # Bob is no part of the hold: his identifier does not come in by a row that is held either.
    for mail in (ADA, BOB):
        assert is_refused(con, f"INSERT INTO t VALUES (9, NULL, '{mail}', 0)")
        assert is_refused(con, f"UPDATE t SET mail = '{mail}' WHERE k = 3")
    run(con)
    assert state(con) == "ON_HOLD"
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 12), (3, 3)]
    assert con.session.executor.upkeep.verify().is_clean
    release(con, name)
    for each in (con, store.connect()):
        assert state(each) == "ACCEPTED"
        assert _keys_at(each, before) == [3]
        assert rows(each, "SELECT k FROM t") == [(3,)]
        assert rows(each, "SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE k < 3") == [(0,)]
        assert is_refused(each, "INSERT INTO t VALUES (1, NULL, 'new@x.example', 0)")
    run(con)
    assert state(con) == "COMPLETED"
    assert is_refused(con, "INSERT INTO t VALUES (1, NULL, 'new@x.example', 0)")
    assert is_refused(con, f"INSERT INTO t VALUES (9, NULL, '{ADA}', 0)")
    assert con.session.executor.upkeep.verify().is_clean
    assert _actions(con)[-6:] == [
        *("erase.accept", "erase.hold", "hold.release", "erase.release"),
        *("erase.purge", "erase.complete"),
    ]


def _keys_at(con: Connection, version: int) -> list[int]:
    return [k for (k,) in rows(con, f"SELECT k FROM t VERSION AS OF {version} ORDER BY k")]


def _actions(con: Connection) -> list[str]:
    """What the audit log says was done."""
    with erasure_of(con.session).journal.reading_session() as session:
        return [row.action for row in rows_of.load_audit(session)]


@pytest.mark.also_on("hive")
def test_a_condition_is_shown_with_the_names_of_today(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("PLACE HOLD ON t WHERE a / 2 > k REASON 'x'")
    con.execute("ALTER TABLE t RENAME a TO b")
    (((shown, at),),) = [rows(con, "SELECT predicate, placed_at IS NULL FROM system.holds")]
    assert (shown.replace("//", "/"), at) == ("b / 2 > k", False)


@pytest.mark.also_on("hive")
def test_a_condition_means_the_same_for_whoever_runs_jobs(con: Connection) -> None:
    """What a session decides about would let go of rows as soon as a job of another one asks."""
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, at TIMESTAMPTZ, who VARCHAR, day DATE)")
    con.execute("SET timezone = 'Asia/Tokyo'")
    for where in (
        "CAST(at AS DATE) = DATE '2024-01-02'",
        "who = CURRENT_USER",
        "day > CURRENT_DATE",
    ):
        with pytest.raises(gateway.NotSupportedError, match="a hold cannot contain"):
            con.execute(f"PLACE HOLD ON t WHERE {where} REASON 'x'")
    con.execute("PLACE HOLD ON t WHERE at >= '2024-01-02 00:00:00+09' REASON 'x'")


@pytest.mark.also_on("hive")
def test_a_hold_that_is_placed_later_brings_back_what_it_covers(con: Connection) -> None:
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
    (request,) = requests(erasure_of(con.session).journal)
    erasure_of(con.session).cancel(request, "tester")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 0), (2, 12), (3, 3)]
    con.execute("UPDATE t SET n = 1 WHERE k IN (1, 2)")
    release(con, name)
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 1), (2, 1), (3, 3)]


@pytest.mark.also_on("hive")
def test_nothing_survives_of_a_racing_writer(store: Store, con: Connection) -> None:
    make(con)
    name = hold(con)
    submit(con)
    racing = store.connect()
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


@pytest.mark.also_on("hive")
def test_a_key_that_several_holds_and_requests_are_about_is_spared_until_the_last_hold_ends(
    con: Connection,
) -> None:
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
    assert by_key not in str(requests(erasure_of(con.session).journal)[0].holder)
    release(con, by_name)
    assert rows(con, "SELECT k FROM t") == [(3,)]
    assert {r.state.value for r in run(con)} == {"COMPLETED"}
    assert is_refused(con, "INSERT INTO t VALUES (1, NULL, 'new@x.example', 0)")


@pytest.mark.also_on("hive")
def test_a_hold_on_a_table_spares_whatever_a_request_is_about_in_it(con: Connection) -> None:
    make(con)
    submit(con)
    name = hold(con, "PLACE HOLD ON t REASON 'matter 9'")
    assert rows(con, "SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,)]
    con.execute("UPDATE t SET n = 0")
    assert {r.state.value for r in run(con)} == {"ON_HOLD"}
    release(con, name)
    assert rows(con, "SELECT k FROM t") == [(3,)]
    assert {r.state.value for r in run(con)} == {"COMPLETED"}


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_a_release_that_is_killed_has_not_happened(
    store: Store, con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(con)
    name = hold(con)
    submit(con)
    with store.killed_release(monkeypatch), pytest.raises(KeyboardInterrupt):
        release(con, name)
    assert state(con) == "ON_HOLD"
    assert rows(con, "SELECT id FROM system.holds WHERE released_at IS NULL") == [(name,)]
    con.execute("UPDATE t SET n = 13 WHERE k = 1")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 13), (3, 3)]
    assert con.session.executor.upkeep.verify().is_clean
    release(con, name)
    assert rows(con, "SELECT k FROM t") == [(3,)]
    store.sweep(con)
    assert {r.state.value for r in run(con)} == {"COMPLETED"}


@pytest.mark.long
@pytest.mark.needs(Capability.HOLDS_DURING_PURGES)
def test_a_hold_that_is_placed_while_a_purge_runs_keeps_what_it_covers(
    store: Store, con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(con, sealed=True)
    submit(con)
    names: list[str] = []
    other = store.connect()
    store.during(monkeypatch, "purge", lambda: names.append(hold(other)))
    done = purge(con)
    assert names
    assert done.failures or state(con) == "ON_HOLD"
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    run(con)
    assert state(con) == "ON_HOLD"
    release(con, names[0])
    store.sweep(con)
    assert {r.state.value for r in run(con)} == {"COMPLETED"}
    assert rows(con, "SELECT count(*) FROM t_journal WHERE k < 3") == [(0,)]


@pytest.mark.also_on("hive")
def test_a_hold_that_is_placed_while_a_retention_runs_keeps_what_it_covers(
    store: Store, con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(con, sealed=True)
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    names: list[str] = []
    other = store.connect()
    store.during(monkeypatch, "retain", lambda: names.append(hold(other)))
    with suppress(gateway.Error):
        con.execute("CALL system.retain('t')")
    assert names
    con.execute("CALL system.retain('t')")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]


@pytest.mark.also_on("hive")
def test_who_asks_what_is_known_about_them_gets_what_is_held_and_learns_what_waits(
    con: Connection,
) -> None:
    make(con)
    name = hold(con)
    request = submit(con)
    erasure = erasure_of(con.session)
    files, (found,) = gather(erasure.backend, {"email": [ADA, BOB]})
    assert (found.rows, found.held, found.hidden) == (2, 1, 1)
    assert found.requests == (request.id,)
    assert request.id in found.description
    (lines,) = (data.decode() for file, data in files.items() if file.endswith(".jsonl"))
    assert (ADA in lines, BOB in lines) == (True, False)
    release(con, name)
    _, (found,) = gather(erasure.backend, {"email": [ADA]})
    assert (found.rows, found.held, found.hidden) == (0, 0, 1)
    run(con)
    _, (found,) = gather(erasure.backend, {"email": [ADA]})
    assert (found.rows, found.held, found.hidden, found.remark) == (0, 0, 0, "")


_ON_EVERY_STORE = {("ACCEPTED", "DELETE", True), ("ON_HOLD", "ARCHIVE", False)}


@pytest.mark.first(1)
@pytest.mark.also_on("hive")
@pytest.mark.parametrize(
    ("waits", "action", "sealed"),
    [
        pytest.param(
            *case, marks=() if case in _ON_EVERY_STORE else pytest.mark.also_on("postgres")
        )
        for case in itertools.product(("ACCEPTED", "ON_HOLD"), ("DELETE", "ARCHIVE"), (False, True))
    ],
)
def test_retention_removes_no_row_under_a_hold_however_far_a_request_on_it_is(
    con: Connection, waits: str, action: str, sealed: bool
) -> None:
    make(con, sealed=sealed)
    name = hold(con)
    submit(con)
    if waits == "ON_HOLD":
        run(con)
        assert state(con) == "ON_HOLD"
    con.execute(f"ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds ACTION = {action})")
    planned = report(con, "CALL system.retain('t', dry_run => true)")
    done = report(con, "CALL system.retain('t')")
    con.execute("ALTER TABLE t UNSET POLICY (RETENTION)")
    (request,) = requests(erasure_of(con.session).journal)
    erasure_of(con.session).cancel(request, "tester")
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    assert (1,) in rows(con, "SELECT n FROM t FOR SYSTEM_TIME ALL WHERE k = 1")
    for said in (planned, done):
        kept = said["details"]["held"]
        assert kept["rows"] == (2 if sealed and _is_compact(con) else 3)
        assert list(kept["by"]) == [name]
        assert "matter 7" in said["why"]
    release(con, name)


def _is_compact(con: Connection) -> bool:
    """True if a key's superseded version is one row of history."""
    return bool(rows(con, "SELECT 1 FROM system.segments WHERE tier = 'history'"))


@pytest.mark.also_on("hive")
def test_jobs_obey_a_hold_whose_rows_earlier_versions_left_hidden(con: Connection) -> None:
    make(con, sealed=True)
    submit(con)
    journal = erasure_of(con.session).journal
    table = next(t for t in con.session.journal.state.catalog.tables() if t.name.name == "t")
    moment = to_datetime(con.session.journal.clock.now())
    what = (HoldScope.PREDICATE, table.id, "k = 1", None, None, "matter 7", "me", moment)
    placed = Hold("0123456789ab", *what)
    with journal.exclusive_session() as session:
        holds.place(session, placed)
        session.commit()
    assert state(con) == "ACCEPTED"
    assert rows(con, "SELECT k FROM t") == [(3,)]
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    done = report(con, "CALL system.retain('t')")
    assert list(done["details"]["held"]["by"]) == [placed.id]
    assert {r.state.value for r in run(con)} == {"ON_HOLD"}
    assert rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    release(con, placed.id)
    assert {r.state.value for r in run(con)} == {"COMPLETED"}


@pytest.mark.long
def test_dry_runs_and_runs_of_jobs_tell_what_a_hold_keeps(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, ds DATE, mail VARCHAR)"
        " WITH (erasure = 'mail LOWER AS email')"
    )
    con.execute(
        "INSERT INTO t VALUES (1, DATE '2020-01-01', 'Ada@x.example'),"
        " (2, DATE '2020-01-02', 'bob@x.example'), (3, DATE '2999-01-01', NULL)"
    )
    con.execute("PLACE HOLD FOR SUBJECT email = 'ada@x.example' REASON 'm1'")
    con.execute("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    planned, done = (call(con, f"retain('t'{dry})") for dry in (", dry_run => true", ""))
    for said in (planned, done):
        assert said["read"]["rows"] == 3
        assert (said["written"]["rows"], said["removed"]["rows"]) == (2, 1)
        gone, _, kept = said["why"].partition("; ")
        assert gone == "1 journal rows are past their time"
        assert (kept.startswith("1 more stay: hold"), kept.endswith("(m1)")) == (True, True)
    assert rows(con, "SELECT k FROM t ORDER BY k") == [(1,), (3,)]
    con.execute("ERASE FROM t WHERE k = 1")
    assert {r.state.value for r in run(con)} == {"ON_HOLD"}
    assert report(con, "CALL system.purge('t', dry_run => true)")["removed"]["rows"] == 0
    ((held,),) = rows(con, "SELECT id FROM system.holds")
    con.execute(f"RELEASE HOLD '{held}'")
    # An open row, and what the restore that follows a purge puts beside it.
    assert report(con, "CALL system.purge('t', dry_run => true)")["removed"]["rows"] > 0
    assert call(con, "purge('t')")["details"]["requests"].popitem()[1] == "COMPLETED"
    assert call(con, "restore('t', key => '2')")["written"]["rows"] == 1
    (trash,) = rows(con, "SELECT count(*) FROM system.backups WHERE kind = 'trash'")
    assert report(con, "CALL system.restore('t', key => '2')")["details"]["trash"] is None
    assert rows(con, "SELECT count(*) FROM system.backups WHERE kind = 'trash'") == [trash]
    monkeypatch.setenv("PALIMPSEST_PASSPHRASE", "correct horse battery")
    (tmp_path / "who.csv").write_text("email\nBOB@x.example\n")
    access = f"access('t', subjects => '{tmp_path}/who.csv', \"to\" => '{tmp_path}')"
    assert Path(call(con, access)["details"]["package"]).exists()


def test_a_store_that_is_opened_again_knows_what_is_held(store: Store, con: Connection) -> None:
    make(con, sealed=True)
    name = hold(con)
    submit(con)
    con.close()
    again = store.connect()
    assert rows(again, "SELECT k, n FROM t ORDER BY k") == [(1, 11), (3, 3)]
    again.execute("UPDATE t SET n = 12 WHERE k = 1")
    release(again, name)
    again.close()
    last = store.connect()
    assert rows(last, "SELECT k FROM t") == [(3,)]
    assert {r.state.value for r in run(last)} == {"COMPLETED"}


@pytest.mark.also_on("hive")
def test_verify_names_a_hold_that_asks_another_thing_of_each_session(con: Connection) -> None:
    """Earlier versions took such conditions, and recorded them."""
    make(con)
    journal = erasure_of(con.session).journal
    table = next(t for t in con.session.journal.state.catalog.tables() if t.name.name == "t")
    texts = ("mail = CURRENT_USER", "ds > CURRENT_DATE", "k = 1")
    with journal.exclusive_session() as session:
        for place, text in enumerate(texts):
            moment = to_datetime(con.session.journal.clock.now())
            what = (HoldScope.PREDICATE, table.id, text, None, None, "matter 8", "me", moment)
            holds.place(session, Hold(f"00000000000{place}", *what))
        session.commit()
    found, _ = con.client_session.perform_watched(lambda _: None, verify_store)
    told = sorted(p.message for p in found.problems if p.kind == "hold")
    assert [text.partition(" cannot contain ")[0] for text in told] == [
        "hold 000000000000",
        "hold 000000000001",
    ]
    assert all("which depends on when and by whom it is asked" in text for text in told)
    release(con, "000000000000")
    found, _ = con.client_session.perform_watched(lambda _: None, verify_store)
    assert len([p for p in found.problems if p.kind == "hold"]) == 1
