"""A commit whose connection was cut: what is told while the server is not done, or was killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.errors import Code, PalimpsestError
from journal.stores.postgres.outcome import ASK, Outcomes
from journal.stores.postgres.pool import PostgresStore
from tests.support.postgres import Cluster
from tests.support.relay import Relay

pytestmark = pytest.mark.stores

_CUT = PalimpsestError(Code.OUTCOME_UNKNOWN, "cut by the test", advice="")


@pytest.fixture
def store(cluster: Cluster, database: str) -> Iterator[PostgresStore]:
    """Connections to the database that are not cut."""
    with closing(PostgresStore(cluster.conninfo(database), {})) as found:
        yield found


@pytest.fixture
def standby(cluster: Cluster) -> Iterator[Callable[[str], None]]:
    """Names the standby that commits wait for; nobody has that name."""
    cluster.require_ownership()
    probes: list[threading.Thread] = []

    def name(wanted: str) -> None:
        with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as admin:
            admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{wanted}'")
            admin.execute("SELECT pg_reload_conf()")
            # The server takes it up later: when a commit waits.
            while wanted and admin.execute(_WAITING).fetchall() == [(0,)]:
                if not any(probe.is_alive() for probe in probes):
                    probes.append(threading.Thread(target=_commit_something, args=(cluster,)))
                    probes[-1].start()

    yield name
    name("")
    for probe in probes:
        probe.join()


_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def _commit_something(cluster: Cluster) -> None:
    with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as other:
        other.execute("SELECT pg_logical_emit_message(true, '', '')")


@contextmanager
def _committing(conninfo: str, sql: str) -> Iterator[str]:
    """The number of a transaction that is being committed."""
    with psycopg.connect(conninfo, autocommit=True) as other:
        other.execute("BEGIN")
        other.execute(sql)
        ((number,),) = other.execute("SELECT txid_current()::text").fetchall()
        commit = threading.Thread(target=other.execute, args=("COMMIT",))
        commit.start()
        yield number
        commit.join()


def test_what_is_told_to_be_committed_is_seen(
    cluster: Cluster, database: str, store: PostgresStore
) -> None:
    """Also on Greenplum, where the coordinator marks it committed before the segments have it."""
    with store.lent() as session:
        session.text("CREATE TABLE plain (a INTEGER)")
        for turn in range(1, 61):
            rows = "INSERT INTO plain SELECT generate_series(1, 20)"
            with _committing(cluster.conninfo(database), rows) as number:
                while session.text(ASK, [number, number]) != [("committed",)]:
                    continue
                assert session.text("SELECT count(*) FROM plain") == [(20 * turn,)]


def test_a_commit_that_waits_for_a_standby_is_waited_for(
    cluster: Cluster,
    database: str,
    store: PostgresStore,
    standby: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = Outcomes(store.lent, store.forget_idle)
    with store.lent() as session:
        session.text("CREATE TABLE plain (a INTEGER)")
    standby("absent")
    with _committing(cluster.conninfo(database), "INSERT INTO plain VALUES (1)") as number:
        with monkeypatch.context() as patched:
            patched.setattr("journal.stores.postgres.outcome.PATIENCE_S", 0.5)
            with pytest.raises(PalimpsestError, match="has not ended the transaction"):
                outcomes.of(number, _CUT)
        threading.Timer(0.5, standby, [""]).start()
        assert outcomes.of(number, _CUT)


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_cut_commit_that_waits_for_a_standby(
    con: Connection,
    cluster: Cluster,
    database: str,
    standby: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    comes_back: bool,
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    with closing(Relay(cluster.port)) as relay:
        relay.passes_word = relay.loses_answer = True
        url = f"palimpsest+postgresql://tester@127.0.0.1:{relay.port}/{database}"
        with gateway.connect(url) as far:
            far.execute("INSERT INTO t VALUES (1)")
            standby("absent")
            relay.word = b"COMMIT\0"
            if comes_back:
                threading.Timer(1.0, standby, [""]).start()
                far.commit()
            else:
                monkeypatch.setattr("journal.stores.postgres.journal.PATIENCE_S", 0.5)
                with pytest.raises(gateway.Error) as raised:
                    far.commit()
                assert raised.value.code == "PAL-525"
                assert "pg_stat_activity" in raised.value.advice
                assert con.execute("SELECT * FROM t").fetchall() == []
                standby("")
            con.execute("INSERT INTO t VALUES (2)")
            assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1,), (2,)]


def test_a_number_is_not_taken_for_the_transaction_that_got_it_after_a_crash(
    cluster: Cluster, database: str
) -> None:
    cluster.require_control()
    with (
        closing(Relay(cluster.port)) as relay,
        closing(PostgresStore(f"host=127.0.0.1 port={relay.port} dbname={database}"
                              " user=tester", {})) as far,
    ):  # fmt: skip
        session, idle = far.acquire(), far.acquire()
        session.text("CREATE TABLE plain (a INTEGER)")
        far.release(idle)
        session.begin()
        session.text("INSERT INTO plain VALUES (1)")
        relay.word, relay.refuses = b"COMMIT", True
        ended: list[PalimpsestError] = []

        def commit() -> None:
            try:
                session.commit()
            except PalimpsestError as error:
                ended.append(error)

        asking = threading.Thread(target=commit)
        asking.start()
        assert relay.has_cut.wait(30)
        cluster.kill()
        cluster.launch()
        with psycopg.connect(cluster.conninfo(database), autocommit=True) as others:
            for _ in range(5):
                others.execute("SELECT txid_current()")
            relay.refuses = False
            asking.join()
            assert [error.code for error in ended] == [Code.STORE_LOST]
            assert others.execute("SELECT * FROM plain").fetchall() == []
