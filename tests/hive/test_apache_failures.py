"""What can go wrong between gateway and Apache Hive: each has a code, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from tests.support import apache_hive
from tests.support.directory import Directory
from tests.support.relay import Relay
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.timeout(1800)
PASSWORD = "right-s3cret"
_CLASSES = "org.apache.hadoop.hive.ql.security"
AUTHORIZED = {
    "hive.server2.authentication": "NONE",
    "hive.security.authorization.enabled": "true",
    "hive.security.authorization.manager": (
        f"{_CLASSES}.authorization.plugin.sqlstd.SQLStdHiveAuthorizerFactory"
    ),
    "hive.security.authenticator.manager": f"{_CLASSES}.SessionStateUserAuthenticator",
}
ALLOWED = {
    "hive.security.authorization.sqlstd.confwhitelist.append": (
        r"hive\.default\.nulls\.last|hive\.local\.time\.zone|spark\.sql\..*"
    )
}
"""What docs/hive.md says is to be allowed."""


def _refused(con: Connection, sql: str) -> gateway.Error:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return raised.value


@pytest.fixture
def relay(apache: ThriftServer) -> Iterator[Relay]:
    found = Relay(apache.port)
    yield found
    found.close()


@pytest.fixture
def far(apache: ThriftServer, relay: Relay, tmp_path: Path) -> Iterator[Connection]:
    """A connection through the relay, to a table of three rows that Hive reads."""
    url = apache.new_store(tmp_path, held_rows="0").replace(f":{apache.port}/", f":{relay.port}/")
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1), (2), (3)")
        yield con


def test_a_server_lost_within_a_statement_and_back_again(far: Connection, relay: Relay) -> None:
    relay.word = b"COUNT("
    relay.passes_word = True
    assert _refused(far, "SELECT count(*) FROM t WHERE k > 1").code == "PAL-522"
    assert relay.has_cut.wait(60)
    assert far.execute("SELECT count(*) FROM t").fetchall() == [(3,)]


@pytest.mark.parametrize("passes", ["nothing", "the append", "the append without its answer"])
def test_a_server_lost_within_a_commit_keeps_nothing_of_it(
    far: Connection, relay: Relay, passes: str
) -> None:
    far.execute("BEGIN")
    far.execute("INSERT INTO t VALUES (100)")
    relay.word = b"INSERT INTO"
    relay.passes_word = passes != "nothing"
    relay.loses_answer = passes.endswith("answer")
    assert _refused(far, "COMMIT").code == "PAL-522"
    assert far.execute("SELECT count(*) FROM t").fetchall() == [(3,)]
    far.execute("INSERT INTO t VALUES (100)")
    assert far.execute("SELECT count(*) FROM t").fetchall() == [(4,)]


def test_rows_that_others_write_to_a_journal_are_not_read(
    apache: ThriftServer, tmp_path: Path
) -> None:
    with gateway.connect(apache.new_store(tmp_path, held_rows="0"), autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
        journal = con.session.journal
        assert isinstance(journal, HiveJournal)
        (state,) = journal.state.tables.values()
        name = state.manifest.segments[0].files[0].path.partition("/")[0]
        with journal.store.connection() as other:
            where = f"{journal.names.journal_database}.{name}"
            where += " PARTITION (palimpsest_segment = 'theirs')"
            moment = "CAST('2024-01-01' AS TIMESTAMP)"
            other.execute(f"INSERT INTO {where} VALUES (2, {moment}, NULL)")
        assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
        con.execute("CALL system.compact('t')")
        assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
        assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.slow
def test_a_password_that_is_wrong(tmp_path: Path) -> None:
    directory = Directory("uid=ann,dc=example", PASSWORD)
    settings = {
        "hive.server2.authentication": "LDAP",
        "hive.server2.authentication.ldap.url": f"ldap://127.0.0.1:{directory.port}",
        "hive.server2.authentication.ldap.baseDN": "dc=example",
    }
    with apache_hive.own(settings) as server:
        url = server.new_store(tmp_path, auth="LDAP")
        with pytest.raises(gateway.Error) as raised:
            gateway.connect(url.replace("tester@", "ann:wrong-s3cret@"))
        assert raised.value.code == "PAL-521"
        assert "s3cret" not in str(raised.value)
        with gateway.connect(url.replace("tester@", f"ann:{PASSWORD}@"), autocommit=True) as con:
            con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
            con.execute("INSERT INTO t VALUES (1)")
            assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
    directory.close()


@pytest.mark.slow
def test_settings_that_a_server_does_not_allow(tmp_path: Path) -> None:
    with apache_hive.own(AUTHORIZED) as server:
        with pytest.raises(gateway.Error, match="allowed to be modified") as raised:
            gateway.connect(server.new_store(tmp_path, auth="NONE"))
        assert (raised.value.code, raised.value.sqlstate) == ("PAL-523", "42501")
        assert "confwhitelist.append" in raised.value.advice


@pytest.mark.slow
def test_a_user_without_grants(tmp_path: Path) -> None:
    with apache_hive.own(AUTHORIZED | ALLOWED) as server:
        url = server.new_store(tmp_path, auth="NONE", held_rows="0")
        with gateway.connect(url.replace("tester@", "ann@"), autocommit=True) as ann:
            ann.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
            ann.execute("INSERT INTO t VALUES (1)")
            with gateway.connect(url.replace("tester@", "bob@"), autocommit=True) as bob:
                for sql in (
                    "SELECT k FROM t",
                    "INSERT INTO t SELECT k + 1 FROM (VALUES (1)) q(k)",
                    "UPDATE t SET k = 2 WHERE k = 1",
                    "CALL system.compact('t')",
                ):
                    error = _refused(bob, sql)
                    assert (error.code, error.sqlstate) == ("PAL-523", "42501"), sql
                    assert "name=bob" in str(error), sql
                    assert "[SELECT] on Object" in str(error), sql
            assert ann.execute("SELECT k FROM t").fetchall() == [(1,)]
            assert ann.session.executor.upkeep.verify().is_clean
