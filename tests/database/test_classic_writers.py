"""Classic tools write to an adopted journal at the same time: neither side loses a change.

An acknowledged statement of the gateway is always the key's current row, whatever versions others
have written; a row of theirs that could never be seen is refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from tests.database.test_adopt import CLASSIC
from tests.support.classic_writers import contend
from tests.support.postgres import Cluster

KINDS = {
    "timestamptz": "now() + {} * INTERVAL '1 microsecond'",
    "timestamp": "(now() AT TIME ZONE 'UTC') + {} * INTERVAL '1 microsecond'",
    "bigint": "(EXTRACT(EPOCH FROM now()) * 1000000)::bigint + {}",
}
"""What stands for the present and some microseconds, in each kind of version."""
TYPES = {"timestamptz": "TIMESTAMP WITH TIME ZONE", "timestamp": "TIMESTAMP", "bigint": "BIGINT"}
SECOND = 1_000_000
HOUR = 3600 * SECOND
STATEMENTS = {
    "update": "UPDATE t SET v = 'ours' WHERE k = 1",
    "update all": "UPDATE t SET v = 'ours'",
    "delete": "DELETE FROM t WHERE k = 1",
    "upsert": "INSERT INTO t VALUES (1, 'ours') ON CONFLICT (k) DO UPDATE SET v = excluded.v",
    "merge": (
        "MERGE INTO t USING (SELECT 1 AS k) AS s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 'ours'"
    ),
}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest, admin: Any) -> str:
    """A classic journal with one row, whose versions are of some kind."""
    found = str(request.param)
    admin.execute(
        f"CREATE TABLE t_journal (k INTEGER NOT NULL, v TEXT, version_number {TYPES[found]} NOT"
        f" NULL, subsequent_version_number {TYPES[found]}, PRIMARY KEY (k, version_number))"
    )
    _write(admin, found, 1, "theirs", -HOUR)
    return found


def _write(
    admin: Any, kind: str, key: int, value: str, ahead_us: int, *, ends: bool = False
) -> None:
    version = KINDS[kind].format(ahead_us)
    end = version if ends else "NULL"
    admin.execute(f"INSERT INTO t_journal VALUES ({key}, '{value}', {version}, {end})")


def _adopt(con: Connection, stale_writes: str = "refuse") -> list[str]:
    return adopt(con.session, "t", ("k",), CLASSIC, run=True, stale_writes=stale_writes)


def _both(con: Connection, admin: Any) -> list[tuple[Any, ...]]:
    """The current rows, which the gateway and the stored view show alike."""
    query = "SELECT k, v FROM t ORDER BY k"
    shown = con.execute(query).fetchall()
    assert admin.execute(query).fetchall() == shown
    return list(shown)


def _run(con: Connection, sql: str, *, explicit: bool) -> int:
    """The count of a statement, in a transaction that the client begins or in one of its own."""
    if not explicit:
        return con.execute(sql).rowcount
    try:
        con.execute("BEGIN")
        count = con.execute(sql).rowcount
        con.execute("COMMIT")
        return count
    finally:
        con.rollback()


@pytest.mark.parametrize("name", sorted(STATEMENTS))
@pytest.mark.parametrize("explicit", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_version_within_the_skew_is_written_above(
    con: Connection, admin: Any, kind: str, name: str, explicit: bool
) -> None:
    _adopt(con)
    for _ in range(3):
        _write(admin, kind, 1, "theirs", 5 * SECOND)
        assert _both(con, admin) == [(1, "theirs")]
        assert _run(con, STATEMENTS[name], explicit=explicit) == 1
        assert _both(con, admin) == ([] if name == "delete" else [(1, "ours")])
    assert con.session.executor.upkeep.verify().is_clean
    assert con.session.journal.clock.next() < time.time() * SECOND + 11 * SECOND


@pytest.mark.parametrize("ahead_us", [30 * SECOND, HOUR, 48 * HOUR])
def test_a_version_beyond_the_skew_is_not_written_over(
    con: Connection, admin: Any, kind: str, ahead_us: int
) -> None:
    _adopt(con)
    con.execute("INSERT INTO t VALUES (2, 'fine')")
    _write(admin, kind, 1, "ahead", ahead_us)
    for sql in STATEMENTS.values():
        for explicit in (False, True):
            with pytest.raises(gateway.Error) as raised:
                _run(con, sql, explicit=explicit)
            assert (raised.value.code, raised.value.sqlstate) == ("PAL-528", "55000"), sql
            assert "key 1" in str(raised.value)
            assert "clock_skew_max" in str(raised.value)
    assert _both(con, admin) == [(1, "ahead"), (2, "fine")]
    con.execute("UPDATE t SET v = 'still' WHERE k = 2")
    found = con.session.executor.upkeep.verify()
    assert [(p.kind, "key 1, " in p.message) for p in found.problems] == [("ahead", True)]
    assert con.session.journal.clock.next() < time.time() * SECOND + 11 * SECOND


def test_numbers_at_the_end_of_their_range(con: Connection, admin: Any) -> None:
    admin.execute("CREATE TABLE t_journal (k INTEGER, v TEXT, version_number BIGINT,"
                  " subsequent_version_number BIGINT)")  # fmt: skip
    _adopt(con)
    admin.execute("INSERT INTO t_journal VALUES (1, 'ahead', 9000000000000000000, NULL)")
    for _ in range(2):
        with pytest.raises(gateway.Error, match="PAL-528") as raised:
            con.execute("UPDATE t SET v = 'ours' WHERE k = 1")
        assert "9000000000000000000" in str(raised.value)
    assert _both(con, admin) == [(1, "ahead")]


def test_a_tombstone_ahead_hides_no_new_row(con: Connection, admin: Any, kind: str) -> None:
    _adopt(con)
    _write(admin, kind, 1, "gone", 5 * SECOND, ends=True)
    con.execute("INSERT INTO t VALUES (1, 'back')")
    assert _both(con, admin) == [(1, "back")]
    _write(admin, kind, 1, "gone", HOUR, ends=True)
    with pytest.raises(gateway.Error, match="PAL-528"):
        con.execute("INSERT INTO t VALUES (1, 'back')")


def test_the_skew_is_a_setting(url: str, con: Connection, admin: Any, kind: str) -> None:
    _adopt(con)
    _write(admin, kind, 1, "theirs", 30 * SECOND)
    with gateway.connect(f"{url}?clock_skew_max=60", autocommit=True) as patient:
        assert patient.execute("UPDATE t SET v = 'ours' WHERE k = 1").rowcount == 1
    assert _both(con, admin) == [(1, "ours")]
    with pytest.raises(gateway.Error, match=r"PAL-603.*clock_skew_max"):
        gateway.connect(f"{url}?clock_skew_max=soon").execute("SELECT 1")


def test_an_adoption_tells_of_versions_ahead(con: Connection, admin: Any, kind: str) -> None:
    _write(admin, kind, 1, "ahead", HOUR)
    assert any("ahead of the clock" in step for step in _adopt(con))
    assert con.session.journal.clock.next() < time.time() * SECOND + 11 * SECOND
    with pytest.raises(gateway.Error, match="PAL-528"):
        con.execute("UPDATE t SET v = 'ours' WHERE k = 1")


def test_stale_rows_of_others_are_refused(con: Connection, admin: Any, kind: str) -> None:
    steps = _adopt(con)
    assert any("40001" in step for step in steps)
    con.execute("INSERT INTO t VALUES (2, 'born here')")
    for key, ahead in ((1, -2 * HOUR), (2, -HOUR)):
        with pytest.raises(psycopg.errors.SerializationFailure, match="version") as raised:
            _write(admin, kind, key, "stale", ahead)
        assert "t_journal" in str(raised.value)
    _write(admin, kind, 2, "again", SECOND)
    assert _both(con, admin) == [(1, "theirs"), (2, "again")]
    found = con.session.executor.upkeep.verify()
    assert found.is_clean, found.problems
    con.execute("CALL system.verify('t')")


def test_rows_of_one_statement_may_follow_each_other(
    con: Connection, admin: Any, kind: str
) -> None:
    _adopt(con)
    later, sooner = KINDS[kind].format(2 * SECOND), KINDS[kind].format(SECOND)
    admin.execute(
        f"INSERT INTO t_journal VALUES (1, 'b', {later}, NULL), (1, 'a', {sooner}, NULL),"
        f" (3, 'c', {sooner}, NULL)"
    )
    assert _both(con, admin) == [(1, "b"), (3, "c")]


def test_a_classic_tool_may_fill_in_the_ends_of_old_rows(
    con: Connection, admin: Any, kind: str
) -> None:
    """The convention lets a tool fill in the ends of old rows."""
    _adopt(con)
    con.execute("UPDATE t SET v = 'ours' WHERE k = 1")
    admin.execute(
        "UPDATE t_journal AS o SET subsequent_version_number = (SELECT min(n.version_number)"
        " FROM t_journal AS n WHERE n.k = o.k AND n.version_number > o.version_number)"
    )
    assert _both(con, admin) == [(1, "ours")]


def test_stale_rows_may_be_let_in(con: Connection, admin: Any, kind: str) -> None:
    steps = _adopt(con, "allow")
    assert any("have no effect" in step for step in steps)
    con.execute("UPDATE t SET v = 'ours' WHERE k = 1")
    _write(admin, kind, 1, "stale", -HOUR // 2)
    assert _both(con, admin) == [(1, "ours")]
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('stale_writes' = 'refuse')")
    with pytest.raises(psycopg.errors.SerializationFailure):
        _write(admin, kind, 1, "stale", -HOUR // 4)
    con.execute("CALL system.compact('t')")
    with pytest.raises(psycopg.errors.SerializationFailure):
        _write(admin, kind, 1, "stale", -HOUR // 4)
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('stale_writes' = 'allow')")
    _write(admin, kind, 1, "stale", -HOUR // 4)
    with pytest.raises(gateway.Error, match="stale_writes"):
        con.execute("ALTER TABLE t SET TBLPROPERTIES ('stale_writes' = 'perhaps')")


def test_nothing_is_left_of_the_trigger_by_eject(con: Connection, admin: Any, kind: str) -> None:
    _adopt(con)
    con.execute("UPDATE t SET v = 'ours' WHERE k = 1")
    eject(con.session, "t", run=True)
    found = admin.execute(
        "SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE c.relname ~ '^t' AND NOT tgisinternal AND c.relnamespace = 'public'::regnamespace"
    )
    assert found.fetchall() == []


@pytest.mark.first(1)
def test_a_long_transaction_of_theirs_is_not_waited_for_without_end(
    con: Connection, cluster: Cluster, database: str, admin: Any, kind: str
) -> None:
    _adopt(con)
    con.execute("INSERT INTO t VALUES (2, 'fine')")
    with psycopg.connect(cluster.conninfo(database)) as theirs:
        _write(theirs, kind, 9, "long", SECOND)
        for explicit in (False, True):
            began = time.monotonic()
            with pytest.raises(gateway.Error) as raised:
                _run(con, "UPDATE t SET v = 'ours' WHERE k = 1", explicit=explicit)
            assert raised.value.sqlstate == "55P03"
            assert "t_journal" in str(raised.value)
            assert time.monotonic() - began < 20
        theirs.rollback()
    con.execute("UPDATE t SET v = 'ours' WHERE k = 1")
    assert _both(con, admin) == [(1, "ours"), (2, "fine")]


def test_what_others_began_before_is_seen(
    con: Connection, cluster: Cluster, database: str, admin: Any, kind: str
) -> None:
    """A statement waits for a short transaction of theirs, and reads what that has written."""
    _adopt(con)
    for _ in range(3):
        con.execute("UPDATE t SET v = v || '+' WHERE k = 1")
    with psycopg.connect(cluster.conninfo(database)) as theirs:
        _write(theirs, kind, 1, "long", SECOND)
        ours = threading.Thread(target=con.execute, args=("UPDATE t SET v = v || '+' WHERE k = 1",))
        ours.start()
        time.sleep(0.3)
        theirs.commit()
        ours.join()
    assert _both(con, admin) == [(1, "long+")]


def test_a_commit_that_waited_for_others_sees_what_they_wrote(
    con: Connection, cluster: Cluster, database: str, admin: Any, kind: str
) -> None:
    _adopt(con)
    con.execute("BEGIN")
    con.execute("UPDATE t SET v = 'ours' WHERE k = 1")
    with psycopg.connect(cluster.conninfo(database)) as theirs:
        _write(theirs, kind, 1, "late", SECOND)
        threading.Timer(0.5, theirs.commit).start()
        with pytest.raises(gateway.Error) as raised:
            con.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    con.rollback()
    assert _both(con, admin) == [(1, "late")]


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", ["timestamptz", "bigint"])
def test_nobody_loses_a_change(cluster: Cluster, database: str, url: str, kind: str) -> None:
    found = contend(cluster.conninfo(database), url, kind, classic=2, ours=2, seconds=3.0)
    assert found.lost == {}
    assert min(found.made.values()) > 0
    assert found.made["g0"] * 10 >= found.made["g1"], found
    assert found.made["g1"] * 10 >= found.made["g0"], found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["timestamptz", "bigint"])
def test_nobody_loses_a_change_for_a_minute(
    cluster: Cluster, database: str, url: str, kind: str
) -> None:
    found = contend(cluster.conninfo(database), url, kind, classic=4, ours=4, seconds=60.0)
    assert found.lost == {}
    assert min(found.made.values()) > 0


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["theirs", "their tombstone", *sorted(STATEMENTS), "insert", "compact"]),
        st.integers(1, 2),
        st.sampled_from([-2 * HOUR, -HOUR, -1, 0, 1, SECOND, 5 * SECOND, HOUR]),
        st.booleans(),
    ),
    max_size=8,
)


@pytest.mark.long
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_STEPS, st.sampled_from(["refuse", "allow"]))
def test_gateway_and_view_show_the_same(
    connect: Callable[..., Connection],
    admin: Any,
    steps: list[tuple[str, int, int, bool]],
    stale_writes: str,
) -> None:
    """Whatever both write: what the gateway acknowledges is there, and both show the same rows."""
    con = connect()
    if con.execute("SHOW TABLES").fetchall():
        eject(con.session, "t", run=True)
    admin.execute("DROP TABLE IF EXISTS t, t_journal, t_history CASCADE")
    admin.execute(
        "CREATE TABLE t_journal (k INTEGER NOT NULL, v TEXT, version_number timestamptz NOT"
        " NULL, subsequent_version_number timestamptz)"
    )
    _write(admin, "timestamptz", 1, "theirs", -HOUR)
    _adopt(con, stale_writes)
    for what, key, ahead, explicit in steps:
        _step(con, admin, what, key, ahead, explicit)
        _both(con, admin)
    con.close()


def _step(con: Connection, admin: Any, what: str, key: int, ahead: int, explicit: bool) -> None:
    if what.startswith("their"):
        try:
            _write(admin, "timestamptz", key, "theirs", ahead, ends="tombstone" in what)
        except psycopg.errors.SerializationFailure:
            return
        return
    if what == "compact":
        con.execute("CALL system.compact('t')")
        return
    sql = f"INSERT INTO t VALUES ({key}, 'new')" if what == "insert" else STATEMENTS[what]
    sql = sql.replace("k = 1", f"k = {key}").replace("VALUES (1,", f"VALUES ({key},")
    sql = sql.replace("SELECT 1 AS", f"SELECT {key} AS")
    try:
        count = _run(con, sql, explicit=explicit)
    except gateway.Error as error:
        if error.sqlstate not in {"55000", "23505"}:
            raise
        return
    rows = dict(con.execute("SELECT k, v FROM t").fetchall())
    if what == "delete":
        assert key not in rows
    elif what == "update all":
        assert set(rows.values()) <= {"ours"}
    elif count and what != "insert":
        assert rows[key] == "ours"


@pytest.mark.parametrize("compacts", [False, True])
def test_what_others_write_past_constraints_is_told(
    con: Connection, admin: psycopg.Connection[Any], compacts: bool
) -> None:
    admin.execute(
        "CREATE TABLE t_journal (k INTEGER, v TEXT, n INTEGER, version_number BIGINT,"
        " subsequent_version_number BIGINT, PRIMARY KEY (k, version_number))"
    )
    steps = adopt(con.session, "t", ("k",), CLASSIC, run=True)
    assert any("UNIQUE, CHECK and NOT NULL that are added" in step for step in steps)
    con.execute("ALTER TABLE t ADD CONSTRAINT one_v UNIQUE (v)")
    con.execute("ALTER TABLE t ADD CONSTRAINT some_n CHECK (n > 0)")
    con.execute("ALTER TABLE t ALTER COLUMN n SET NOT NULL")
    con.execute("CREATE UNIQUE INDEX small_v ON t (lower(v))")
    con.execute("INSERT INTO t VALUES (1, 'a', 1)")
    if compacts:
        con.execute("UPDATE t SET n = 2")
        con.execute("CALL system.compact('t')")
    assert not any("not kept" in step for step in eject(con.session, "t", run=False))
    admin.execute(
        "INSERT INTO t_journal VALUES (2, 'a', 1, 1), (3, 'b', -1, 1), (4, 'c', NULL, 1),"
        " (5, 'd', -1, 1), (5, 'd', 1, 2)"
    )
    lost = []
    for run in (False, True):
        steps = eject(con.session, "t", run=run)
        lost.append(sorted(s.partition(", since")[0] for s in steps if "not kept" in s))
        if not run:
            assert any("values a stand in several rows" in step for step in steps)
            found = con.session.executor.upkeep.verify().problems
            assert {p.kind for p in found} == {"unique", "check"}
    assert lost[0] == lost[1]
    assert lost[0] == [
        "not kept: NOT NULL of n",
        'not kept: constraint "one_v"',
        'not kept: constraint "some_n"',
        "not kept: index small_v",
    ]
    assert con.session.executor.upkeep.verify().is_clean
