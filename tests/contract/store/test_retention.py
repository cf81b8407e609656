"""Retention on every store: what goes, what stays to the row, holds, and who wrote meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.version import from_datetime, to_datetime
from tests.support import aged
from tests.support.aged import FRESH, retain, rows, set_policy
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def table(store: Store) -> Connection:
    """The table that has aged."""
    con = store.connect()
    aged.make(con)
    return con


@pytest.mark.also_on("toy")
def test_rows_past_their_date_go_and_no_other(table: Connection) -> None:
    aged.check_dates(table)


@pytest.mark.also_on("hive", "toy")
def test_versions_and_history_go_by_number_and_age(
    store: Store, table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    if Capability.REMOTE_READERS in store.capabilities:
        set_policy(table, "VERSIONS = 1")
        assert retain(table)[3] == "NOTHING", "a reader may need what was ended a moment ago"
    store.forget_readers(monkeypatch)
    aged.check_versions(table)


@pytest.mark.also_on("hive", "toy")
def test_a_clock_that_ran_ahead_once_makes_no_row_older(store: Store) -> None:
    con, today = store.connect(), datetime.now(UTC).date()
    con.execute("CREATE TABLE t (id INT PRIMARY KEY, ds DATE)")
    con.execute("INSERT INTO t VALUES (1, ?), (2, ?)", [today, today - timedelta(days=40)])
    clock = con.session.journal.clock
    clock.settle(clock.now() + from_datetime(to_datetime(0) + timedelta(days=400)))
    con.execute("INSERT INTO t VALUES (3, ?)", [today])
    ((latest,),) = rows(con, "SELECT max(version) FROM system.transactions")
    assert latest > clock.time_of_day(), "versions go on from where the clock was"
    set_policy(con, "RETENTION = 30 DAYS ON COLUMN ds")
    con.execute("CALL system.retain('t')")
    assert rows(con, "SELECT id FROM t ORDER BY id") == [(1,), (3,)]


@pytest.mark.long
@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_holds_keep_rows_and_tables(table: Connection) -> None:
    ((hold, *_),) = rows(table, "PLACE HOLD ON t WHERE n = 103 REASON 'matter 1'")
    set_policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    retain(table)
    assert rows(table, f"SELECT id FROM t WHERE NOT {FRESH}") == [(3,)]
    assert len(rows(table, "SELECT 1 FROM t FOR SYSTEM_TIME ALL WHERE id = 3")) == 2
    table.execute(f"RELEASE HOLD '{hold}'")
    ((hold, *_),) = rows(table, "PLACE HOLD ON t REASON 'matter 2'")
    held = retain(table)
    assert (held[3], "matter 2" in str(held)) == ("NOTHING", True)
    table.execute(f"RELEASE HOLD '{hold}'")
    assert retain(table)[3] == "SUCCEEDED"
    assert rows(table, f"SELECT count(*) FROM t WHERE NOT {FRESH}") == [(0,)]


@pytest.mark.long
@pytest.mark.needs(Capability.WRITES_DURING_RETENTION)
def test_a_row_that_is_ended_meanwhile_goes_in_the_end(
    store: Store, table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    other, before = store.connect(), store.connect()
    before.execute("BEGIN")
    before.execute("UPDATE t SET n = 5 WHERE id = 1")
    end = partial(other.execute, "UPDATE t SET n = n + 1 WHERE id = 2")
    store.during(monkeypatch, "retain", end)
    assert retain(table)[3] == "SUCCEEDED"
    retain(table)
    assert rows(table, f"SELECT count(*) FROM t_journal WHERE NOT {FRESH}") == [(0,)]
    with pytest.raises(gateway.Error) as raised:
        before.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    store.drop_retired(table)
    assert table.session.executor.upkeep.verify().is_clean


@pytest.mark.long
@pytest.mark.needs(Capability.WRITES_DURING_RETENTION)
@pytest.mark.drifts(embedded="the row waits for the next run, as its plan says")
def test_a_row_that_is_ended_meanwhile_goes_with_the_same_run(
    store: Store, table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    end = partial(store.connect().execute, "UPDATE t SET n = n + 1 WHERE id = 2")
    store.during(monkeypatch, "retain", end)
    assert retain(table)[3] == "SUCCEEDED"
    assert rows(table, f"SELECT count(*) FROM t_journal WHERE NOT {FRESH}") == [(0,)]


@pytest.mark.first(1)
@pytest.mark.also_on("hive")
@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"])
def test_dates_of_other_types(store: Store, kind: str) -> None:
    con = store.connect()
    con.execute(f"CREATE TABLE t (id INT PRIMARY KEY, ds {kind})")
    con.execute(
        "INSERT INTO t VALUES (1, '2024-03-01 23:59:59'), (2, '2024-03-02 00:00:00'), (3, NULL)"
    )
    if kind == "VARCHAR":
        con.execute("INSERT INTO t VALUES (4, 'never')")
    set_policy(con, "RETENTION = 30 DAYS ON COLUMN ds")
    retain(con)
    left = [row[0] for row in rows(con, "SELECT id FROM t ORDER BY id")]
    assert left == [2, 3, *([4] if kind == "VARCHAR" else [])]


@pytest.mark.also_on("hive")
def test_without_a_policy_there_is_nothing_to_do(table: Connection) -> None:
    assert retain(table)[3] == "NOTHING"
