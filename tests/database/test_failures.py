"""What can go wrong between gateway and server: each has a code, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.errors import Code, PalimpsestError
from tests.support.postgres import Cluster, free_port
from tests.support.relay import Relay
from tests.support.repeatedly import repeatedly

_ALSO = {"SELECT 1": b'{"two"}', "CREATE TABLE u (a INTEGER)": b"COMMIT\0"}
"""What the commit of few rows sends, all in one trip, and that of definitions as its last word."""


@pytest.fixture
def relay(cluster: Cluster) -> Iterator[Relay]:
    """A relay to the server."""
    found = Relay(cluster.port)
    found.loses_answer = True
    yield found
    found.close()


@pytest.fixture
def far(relay: Relay, database: str) -> Iterator[Connection]:
    """A connection through the relay, with a table."""
    url = f"palimpsest+postgresql://tester@127.0.0.1:{relay.port}/{database}"
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'one')")
        yield con


def _state(con: Connection, sql: str) -> str:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return raised.value.code


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("palimpsest+postgresql://nobody_here@127.0.0.1:{port}/postgres", "PAL-521 createuser"),
        ("palimpsest+postgresql://tester@127.0.0.1:{port}/nothing_here", "PAL-521 createdb"),
        ("palimpsest+postgresql://tester@127.0.0.1:{free}/postgres", "PAL-520"),
        ("palimpsest+postgresql://tester@host.invalid/postgres", "PAL-520"),
        ("palimpsest+postgresql://tester@127.0.0.1:{port}/postgres?nonsense=1", "PAL-603"),
    ],
)
def test_what_keeps_from_connecting(cluster: Cluster, url: str, told: str) -> None:
    code, _, advice = told.partition(" ")
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url.format(port=cluster.port, free=free_port()))
    assert raised.value.code == code
    assert advice in raised.value.advice
    assert "Multiple connection attempts" not in str(raised.value)


def test_a_wrong_password_is_never_shown(cluster: Cluster, database: str) -> None:
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        admin.execute("CREATE ROLE locked_out NOLOGIN PASSWORD 'secret-1'")
    try:
        url = f"palimpsest+postgresql://locked_out:secret-2@127.0.0.1:{cluster.port}/{database}"
        with pytest.raises(gateway.Error) as raised:
            gateway.connect(url)
        assert raised.value.code == "PAL-521"
        assert "secret" not in str(raised.value)
    finally:
        with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
            admin.execute("DROP ROLE locked_out")


def test_a_wrong_password_is_refused(cluster: Cluster, database: str) -> None:
    cluster.require_ownership()
    rules = cluster.folder / "data" / "pg_hba.conf"
    known = rules.read_text()
    role = f"guarded_{database}"
    url = f"palimpsest+postgresql://{role}{{}}@127.0.0.1:{cluster.port}/{database}"
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        admin.execute("SET password_encryption = 'scram-sha-256'")
        admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret-1'")
        admin.execute(f"GRANT CREATE ON DATABASE {database} TO {role}")
        try:
            rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{known}")
            admin.execute("SELECT pg_reload_conf()")
            for given in (":secret-2", ""):
                with pytest.raises(gateway.Error) as raised:
                    gateway.connect(url.format(given))
                assert raised.value.code == "PAL-521"
                assert "secret" not in str(raised.value)
            gateway.connect(url.format(":secret-1")).close()
        finally:
            rules.write_text(known)
            admin.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize("also", _ALSO)
@pytest.mark.parametrize("arrives", [True, False])
def test_a_connection_cut_during_commit_tells_what_became(
    far: Connection, relay: Relay, arrives: bool, also: str
) -> None:
    far.execute("BEGIN")
    far.execute("INSERT INTO t VALUES (2, 'two')")
    far.execute(also)
    relay.passes_word = arrives
    relay.word = _ALSO[also]
    if arrives:
        far.execute("COMMIT")
        assert far.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
    else:
        assert _state(far, "COMMIT") == "PAL-522"
        assert far.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize("also", _ALSO)
def test_the_outcome_is_unknown_where_nobody_can_be_asked(
    far: Connection, relay: Relay, monkeypatch: pytest.MonkeyPatch, also: str
) -> None:
    monkeypatch.setattr("journal.stores.postgres.journal.PATIENCE_S", 0.5)
    far.execute("BEGIN")
    far.execute("INSERT INTO t VALUES (2, 'two')")
    far.execute(also)
    relay.word = _ALSO[also]
    relay.refuses = True
    assert _state(far, "COMMIT") == "PAL-525"


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET n = n + 1 WHERE a = 1",
        "UPDATE t SET n = n + 1",
        "INSERT INTO t SELECT a + 1, n FROM t",
        "ALTER TABLE t ADD COLUMN c INTEGER",
    ],
)
def test_an_autocommit_statement_cut_during_commit_happens_once_or_not_at_all(
    con: Connection, relay: Relay, database: str, sql: str, arrives: bool
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, n INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 0)")
    url = f"palimpsest+postgresql://tester@127.0.0.1:{relay.port}/{database}"
    with gateway.connect(url, autocommit=True) as far:
        far.execute("UPDATE t SET n = 0 WHERE a = 1")
        before = far.execute("SELECT * FROM t").fetchall()
        relay.passes_word = arrives
        relay.word = b"COMMIT\0"
        if arrives:
            far.execute(sql)
        else:
            assert _state(far, sql) == "PAL-522"
        assert relay.has_cut.wait(30)
        after = far.execute("SELECT * FROM t ORDER BY a").fetchall()
        assert (after != before) == arrives
        assert after in ([(1, 0)], [(1, 1)], [(1, 0), (2, 0)], [(1, 0, None)])
        assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == after
        assert far.session.executor.upkeep.verify().is_clean


def test_connections_that_an_administrator_ends(
    con: Connection, cluster: Cluster, database: str
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("BEGIN")
    con.execute("INSERT INTO t VALUES (1)")
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        ended = (
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE datname = '{database}' AND pid <> pg_backend_pid()"
        )
        admin.execute(ended)
        con.execute("COMMIT")
        stop = threading.Timer(0.5, lambda: admin.execute(ended))
        stop.start()
        assert _state(con, "SELECT pg_sleep(30)") == "PAL-522"
        stop.join()
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]


@pytest.mark.long
def test_a_server_that_goes_down_and_comes_back(con: Connection, cluster: Cluster) -> None:
    cluster.require_control()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    cluster.stop(how="immediate")
    try:
        assert _state(con, "SELECT * FROM t") == "PAL-520"
        assert _state(con, "INSERT INTO t VALUES (2)") == "PAL-520"
    finally:
        cluster.launch()
    con.execute("INSERT INTO t VALUES (3)")
    assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1,), (3,)]


def test_cancel_reaches_the_server(con: Connection, cluster: Cluster, database: str) -> None:
    started = time.monotonic()
    with repeatedly(con.cancel, 0.5):
        assert _state(con, "SELECT pg_sleep(30)") == "PAL-407"
    assert time.monotonic() - started < 10
    with psycopg.connect(cluster.conninfo(database)) as admin:
        running = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%'"
            " AND state = 'active' AND pid <> pg_backend_pid()"
        ).fetchall()
    assert running == [(0,)]


def test_missing_grants(
    connect: Callable[..., Connection], cluster: Cluster, database: str
) -> None:
    connect().execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    role = f"reader_{database}"
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute(f"GRANT USAGE ON SCHEMA _palimpsest TO {role}")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA _palimpsest TO {role}")
    url = f"palimpsest+postgresql://{role}@127.0.0.1:{cluster.port}/{database}"
    with gateway.connect(url, autocommit=True) as con:
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
        with pytest.raises(gateway.Error, match="GRANT that role TO <role>"):
            con.execute("INSERT INTO t VALUES (1)")
        assert _state(con, "CREATE TABLE u (a INTEGER)") == "PAL-523"
        assert _state(con, "SELECT * FROM t TIMESTAMP AS OF now()") == "PAL-523"
        with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
            admin.execute(f"GRANT UPDATE (settled) ON _palimpsest.state TO {role}")
        assert con.execute("SELECT count(*) FROM t TIMESTAMP AS OF now()").fetchall() == [(0,)]
        assert _state(con, "INSERT INTO t VALUES (1)") == "PAL-523"
    assert connect().execute("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_a_server_that_takes_no_writes(con: Connection, cluster: Cluster, database: str) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.close()
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    with gateway.connect(cluster.url(database), autocommit=True) as again:
        assert again.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
        assert _state(again, "INSERT INTO t VALUES (1)") == "PAL-524"


def test_a_connection_that_the_server_has_ended_is_not_used(
    con: Connection, cluster: Cluster, database: str
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    con.execute("OPTIMIZE t")
    others = f"FROM pg_stat_activity WHERE datname = '{database}' AND pid <> pg_backend_pid()"
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        for sql in ("OPTIMIZE t", "CALL system.verify('t')", "CREATE TABLE u (a INTEGER)"):
            # As often as it takes until they are gone, as older servers do not wait themselves.
            while admin.execute(f"SELECT pg_terminate_backend(pid) {others}").fetchall():
                time.sleep(0.01)
            con.execute(sql)
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_a_check_that_is_cut_says_nothing_of_the_journal(far: Connection, relay: Relay) -> None:
    relay.word = b"COUNT("
    with pytest.raises(PalimpsestError) as raised:
        far.session.executor.upkeep.verify()
    assert raised.value.code is Code.STORE_LOST
    assert relay.has_cut.wait(30)
    assert far.session.executor.upkeep.verify().is_clean


def _ended(con: Connection, sql: str) -> str:
    """The code a statement ends with; empty if it succeeds."""
    try:
        con.execute(sql).fetchall()
    except gateway.Error as error:
        return str(error.code)
    return ""


_JOBS = (
    "OPTIMIZE t",
    "CALL system.backup('t', name => 'kept{turn}')",
    "CALL system.verify('t')",
    "ERASE FROM t WHERE b = 'gone' SCOPE KEY",
)


_CUT = [
    # A kind of job commits in one way; whether the word arrives is asked of the shortest one.
    pytest.param(sql, arrives, marks=() if arrives or "OPTIMIZE" in sql else pytest.mark.slow)
    for sql in _JOBS
    if "CALL system.verify" not in sql
    for arrives in (True, False)
]


@pytest.mark.first(1)
@pytest.mark.parametrize(("sql", "arrives"), _CUT)
@pytest.mark.timeout(300)
def test_a_job_that_is_cut_at_any_commit_tells_what_became(
    con: Connection, relay: Relay, database: str, sql: str, arrives: bool
) -> None:
    """At each of its commits in turn, until it makes no more."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'b')")
    url = f"palimpsest+postgresql://tester@127.0.0.1:{relay.port}/{database}"
    for turn in range(40):
        con.execute("INSERT INTO t VALUES (?, 'one'), (?, 'gone')", [2 * turn, 2 * turn + 1])
        con.execute("UPDATE t SET b = 'two' WHERE a = ?", [2 * turn])
        relay.has_cut.clear()
        relay.passes_word, relay.passes_first = arrives, turn
        with gateway.connect(url, autocommit=True) as far:
            relay.word = b"COMMIT\0"
            assert _ended(far, sql.format(turn=turn)) in {"", "PAL-522"}
            if not relay.word:
                assert relay.has_cut.wait(30)
            relay.word = b""
            rows = far.execute("SELECT b, count(*) FROM t WHERE b <> 'gone' GROUP BY b").fetchall()
            assert rows == [("two", turn + 1)]
        if not relay.has_cut.is_set():
            break
    else:
        raise AssertionError("it never came to an end")
    for again in _JOBS:
        con.execute(again.format(turn="again"))
    assert con.session.executor.upkeep.verify().is_clean
