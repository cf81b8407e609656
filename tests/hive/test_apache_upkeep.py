"""Jobs on Apache Hive: what is erased and what is past its time goes, and all else stays."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.stores.hive.journal import HiveJournal
from spark_compaction.contract import silent
from tests.hive.test_erasure import WHO, con, traces
from tests.hive.test_erasure import (
    test_a_purge_that_was_killed_is_finished_by_the_next as test_a_killed_purge,
)
from tests.hive.test_erasure import (
    test_rows_are_hidden_at_once_and_shown_again_when_a_request_is_cancelled as test_hiding,
)
from tests.hive.test_erasure import (
    test_rows_that_may_be_somebodys_keep_a_request_open as test_an_open_request,
)
from tests.hive.test_erasure import (
    test_what_cannot_be_compared_is_removed_by_the_next_purge as test_an_uncompared_purge,
)
from tests.support import aged
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.timeout(3600)
CLASSIC = ("_journal", "version_number", "subsequent_version_number")
__all__ = [
    "con",
    "test_a_killed_purge",
    "test_an_open_request",
    "test_an_uncompared_purge",
    "test_hiding",
]


@pytest.fixture
def server(apache: ThriftServer) -> ThriftServer:
    return apache


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    return server.url(f"p{uuid.uuid4().hex[:8]}_", tmp_path / "catalog.db")


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def test_people_are_found_in_every_version(con: Connection, tmp_path: Path) -> None:
    """By an identifier with blanks and capitals, in a dropped column, and held by their name."""
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, email VARCHAR, note VARCHAR, at TIMESTAMPTZ)"
        " WITH (erasure = 'email LOWER')"
    )
    at = "TIMESTAMPTZ '2024-01-01 12:00:00+02'"
    con.execute(f"INSERT INTO t VALUES (1, ' {WHO.upper()} ', 'x', {at}), (2, 'b', NULL, {at})")
    con.execute("UPDATE t SET email = 'new' WHERE k = 1")
    con.execute("ALTER TABLE t DROP COLUMN note")
    con.execute(f"CALL system.hold(subject => 'email={WHO}', reason => 'matter 1')")
    erasure = erasure_of(con.session)
    request = erasure.accept(ErasureSpec(subjects={"email": [WHO]}), "me")
    then = datetime(2024, 1, 1, 10, tzinfo=UTC)
    assert con.execute("SELECT k, at FROM t ORDER BY k").fetchall() == [(1, then), (2, then)]
    (held,) = erasure.purge(None, "me", [request.id], silent).requests
    assert (held.state.value, "hold" in held.waits_for) == ("ON_HOLD", True)
    ((hold,),) = con.execute("SELECT id FROM system.holds").fetchall()
    con.execute(f"CALL system.release('{hold}')")
    assert con.execute("SELECT k, at FROM t").fetchall() == [(2, then)]
    (done,) = erasure.purge(None, "me", [request.id], silent).requests
    assert done.state.value == "COMPLETED", done.waits_for
    assert [p for p in traces(con, tmp_path / "catalog.db") if WHO in p] == []
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.parametrize("kind", ["", "EXTERNAL"])
def test_adopted_tables_forget_too(con: Connection, tmp_path: Path, kind: str) -> None:
    journal, lake = _journal(con), tmp_path / "lake"
    database = journal.names.schema("main")
    with journal.store.connection() as connection:
        connection.execute(f"CREATE DATABASE IF NOT EXISTS {database}")
        place = f"LOCATION 'file://{lake}'" if kind else ""
        connection.execute(
            f"CREATE {kind} TABLE {database}.people (k INT, mail STRING) PARTITIONED BY"
            f" (city STRING) STORED AS PARQUET {place}"
        )
        for city, row in (("Oslo", f"1, '{WHO}'"), ("Rome", "2, 'b'")):
            into = f"{database}.people PARTITION (city = '{city}')"
            connection.execute(f"INSERT INTO {into} VALUES ({row})")
    adopt(con.session, "people", ("k",), CLASSIC, run=True)
    shown = con.execute(f"ERASE FROM people WHERE mail = '{WHO}'").fetchall()
    assert shown[0][1] == "COMPLETED"
    assert traces(con, tmp_path / "catalog.db", tmp_path) == []
    assert con.execute("SELECT * FROM people").fetchall() == [(2, "b", "Rome")]


def test_dates_that_are_text(con: Connection) -> None:
    """What is no date stays; what may be one, but not to Hive, stops the job."""
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, ds VARCHAR)")
    con.execute(
        "INSERT INTO t VALUES (1, '2024-01-05'), (2, '2024-03-31'), (3, 'never'), (4, NULL),"
        " (5, '2024-01-05 10:00:00.5'), (6, '')"
    )
    aged.set_policy(con, "RETENTION = 30 DAYS ON COLUMN ds")
    con.execute("CALL system.hold('t', where => 'id = 5', reason => 'matter 1')")
    assert aged.retain(con)[3] == "SUCCEEDED"
    assert aged.rows(con, "SELECT id FROM t ORDER BY id") == [(2,), (3,), (4,), (5,), (6,)]
    con.execute("INSERT INTO t VALUES (7, '2024-01-05 some time')")
    with pytest.raises(gateway.Error):
        aged.retain(con)
    assert aged.rows(con, "SELECT count(*) FROM t") == [(6,)]
