"""Small commits in the catalog: nobody but a reader past the gateway tells them from others."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.shell.describing import catalog_of, facts_of
from journal.model.schema import TableName
from journal.model.segment import Segment
from journal.records.schema import INLINED_ROWS
from journal.records.statements import execute, select
from journal.stores.hive import inlining
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.thrift_connection import ThriftConnection
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.row_upload import write_held
from journal.transactions.state import TableState
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]
ROWS = "SELECT * FROM t ORDER BY k"


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    return server.new_store(tmp_path, inline_commits="on", inline_age="600")


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    with gateway.connect(url, autocommit=True) as found:
        found.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, n DECIMAL(9, 2))")
        yield found


@pytest.fixture
def other(con: Connection, url: str) -> Iterator[Connection]:
    """Another gateway, as its URL differs."""
    with gateway.connect(f"{url}&lease=14", autocommit=True) as found:
        yield found


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def _state(con: Connection) -> TableState:
    (state,) = _journal(con).read_committed()[1].tables.values()
    return state


def _inlined(con: Connection) -> int:
    return _state(con).inlined.counts.total


def _payload(con: Connection) -> list[str]:
    with _journal(con).catalog.reading() as connection:
        return [str(text) for (text,) in execute(connection, select(INLINED_ROWS, ["rows"]))]


def _rows(con: Connection, sql: str = ROWS) -> list[Any]:
    return con.execute(sql).fetchall()


STORY = (
    "INSERT INTO t VALUES (1, 'one', 1.25), (2, NULL, NULL), (3, 'it''s', 3)",
    "UPDATE t SET v = 'two', n = n WHERE k = 2",
    "DELETE FROM t WHERE k = 3",
    "INSERT INTO t VALUES (3, 'back', 4)",
    "UPDATE t SET k = 4 WHERE k = 3",
    "UPDATE t SET n = coalesce(n, 0) + 1",
    (
        "MERGE INTO t USING (SELECT 1 AS k UNION ALL SELECT 9) s ON t.k = s.k"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 'new')"
    ),
)


def _tell(con: Connection) -> dict[int, list[Any]]:
    """The rows after each commit of the story, by version."""
    found: dict[int, list[Any]] = {}
    for statement in STORY:
        con.execute(statement)
        ((version,),) = _rows(con, "SELECT max(version) FROM system.transactions")
        found[version] = _rows(con)
    return found


def _check(con: Connection, told: dict[int, list[Any]]) -> None:
    for version, rows in told.items():
        past = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {version} ORDER BY k"
        assert _rows(con, past) == rows
    assert _rows(con) == list(told.values())[-1]
    assert con.session.executor.upkeep.verify().is_clean


def test_every_state_reads_the_same_inlined_flushed_and_compacted(
    con: Connection, server: ThriftServer, tmp_path: Path
) -> None:
    told = _tell(con)
    assert _inlined(con) > 10
    assert not _state(con).manifest.segments
    with gateway.connect(server.new_store(tmp_path), autocommit=True) as plain:
        plain.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, n DECIMAL(9, 2))")
        assert list(_tell(plain).values()) == list(told.values())
    for version, rows in told.items():
        past = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {version} ORDER BY k"
        assert _rows(con, past) == rows
    total, current = _state(con).rows, _state(con).current_rows
    con.execute("CALL system.flush()")
    assert _inlined(con) == 0
    assert _payload(con) == []
    assert [s.counts.total for s in _state(con).manifest.segments] == [total]
    assert _state(con).current_rows == current
    _check(con, told)
    con.execute("INSERT INTO t VALUES (70, 'later', 7)")
    con.execute("CALL system.compact('t')")
    con.execute("DELETE FROM t WHERE k = 70")
    assert _inlined(con) == 2
    _check(con, told)


def test_a_key_that_is_inlined_is_found_without_the_server(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2)")
    con.execute("DELETE FROM t WHERE k = 2")
    asked: list[str] = []
    execute = ThriftConnection.execute

    def listening(self: ThriftConnection, *given: Any, **more: Any) -> list[list[Any]]:
        asked.append(str(given[0]))
        return execute(self, *given, **more)

    monkeypatch.setattr(ThriftConnection, "execute", listening)
    assert _rows(con, "SELECT v FROM t WHERE k = 1") == [("one",)]
    assert _rows(con, "SELECT v FROM t WHERE k = 2") == []
    con.execute("UPDATE t SET v = 'new' WHERE k = 1")
    con.execute("INSERT INTO t VALUES (2, 'again', 2)")
    with pytest.raises(gateway.IntegrityError):
        con.execute("INSERT INTO t VALUES (1, 'taken', 2)")
    assert asked == []
    assert _rows(con, "SELECT v FROM t WHERE k = 1") == [("new",)]


def test_two_gateways_see_and_flush_the_rows_of_each_other(
    con: Connection, other: Connection
) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1)")
    other.execute("BEGIN")
    assert _rows(other) == [(1, "one", 1)]
    con.execute("UPDATE t SET v = 'uno' WHERE k = 1")
    con.execute("CALL system.flush()")
    con.execute("INSERT INTO t VALUES (2, 'two', 2)")
    assert [v for _, v, _ in _rows(other)] == ["one"]
    other.execute("COMMIT")
    assert [v for _, v, _ in _rows(other)] == ["uno", "two"]
    other.execute("CALL system.flush()")
    other.execute("UPDATE t SET v = 'deux' WHERE k = 2")
    assert [v for _, v, _ in _rows(con)] == ["uno", "deux"]
    assert len(_state(con).manifest.segments) == 2


@pytest.mark.parametrize("many", [False, True], ids=["by claims", "by rows"])
def test_who_changes_an_inlined_row_second_has_lost(
    con: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2)")
    if many:
        monkeypatch.setattr("journal.transactions.conflicts._FEW_ROWS", 0)
    for gateway_ in (con, other):
        gateway_.execute("BEGIN")
        gateway_.execute("UPDATE t SET n = n + 1 WHERE k = 1")
    con.execute("COMMIT")
    with pytest.raises(gateway.Error) as raised:
        other.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    other.execute("UPDATE t SET n = n + 1 WHERE k = 1")
    assert [n for *_, n in _rows(con)] == [3, 2]
    assert _inlined(con) == 6


def test_a_commit_that_is_too_large_takes_inlined_rows_along(
    server: ThriftServer, tmp_path: Path
) -> None:
    """What others read has each key once, and is a state that there was."""
    url = server.new_store(tmp_path, inline_commits="on", inline_rows="5", views="on")
    database = f"{url.partition('prefix=')[2].partition('&')[0]}default"
    outside = ThriftConnection(Server(server.host, server.port, "other", "default", "NOSASL"))
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, n DECIMAL(9, 2))")
        con.execute("INSERT INTO t SELECT i, 'v', i FROM range(20) r(i)")
        con.execute("UPDATE t SET v = 'w' WHERE k = 3")
        assert _inlined(con) == 2
        con.execute("UPDATE t SET v = v || '!' WHERE k <> 5")
        assert _inlined(con) == 0
        assert _payload(con) == []
        con.execute("CALL system.flush()")
        con.execute("UPDATE t SET v = 'x' WHERE k = 3")
        shown = outside.run(f"SELECT k, v FROM {database}.t")
        assert sorted(shown) == [
            (k, "v" if k == 5 else "w!" if k == 3 else "v!") for k in range(20)
        ]
    # Who ends flushes what it has inlined, and the views follow.
    with gateway.connect(url, autocommit=True) as con:
        assert _inlined(con) == 0
        con.execute("CALL system.flush()")
        assert outside.run(f"SELECT v FROM {database}.t WHERE k = 3") == [("x",)]
    outside.close()


def test_rows_are_flushed_when_they_are_old(server: ThriftServer, tmp_path: Path) -> None:
    url = server.new_store(tmp_path, inline_age="1")
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY) TBLPROPERTIES (inline_commits = 'on')")
        con.execute("INSERT INTO t VALUES (1)")
        assert _inlined(con) == 1
        deadline = time.monotonic() + 120
        while _inlined(con):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [s.counts.total for s in _state(con).manifest.segments] == [1]
        con.execute("ALTER TABLE t SET TBLPROPERTIES (inline_commits = 'off')")
        con.execute("INSERT INTO t VALUES (2)")
        assert len(_state(con).manifest.segments) == 2


@pytest.mark.parametrize("step", ["before", "append", "list", "keep"])
def test_a_killed_flush_has_happened_or_not(con: Connection, url: str, step: str) -> None:
    told = _tell(con)
    before = _inlined(con)
    command = [sys.executable, "-m", "tests.hive.killed_flush", f"{url}&lease=3", step]
    died = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert _inlined(con) == (0 if step == "keep" else before)
    _check(con, told)
    assert _inlined(con) == 0
    assert sum(s.counts.total for s in _state(con).manifest.segments) == before


def test_a_flush_that_comes_second_leaves_nothing(
    con: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1)")

    class Beaten(Segment):
        @staticmethod
        def of_changes(*given: Any) -> Segment:
            # The rows are in a partition, and nobody has the lease of the table yet.
            monkeypatch.undo()
            other.execute("CALL system.flush()")
            return Segment.of_changes(*given)

    monkeypatch.setattr(inlining, "Segment", Beaten)
    assert inlining.flush(_journal(con), next(iter(_journal(con).state.tables))) == []
    assert _rows(con) == [(1, "one", 1)]
    assert [s.counts.total for s in _state(con).manifest.segments] == [1]


def test_rows_that_come_during_a_flush_stay_inlined(
    con: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1)")

    def beside(*given: Any) -> None:
        write_held(*given)
        for writer, key in ((other, 2), (con, 3)):
            writer.execute(f"INSERT INTO t VALUES ({key}, 'late', 2)")
            writer.execute(f"UPDATE t SET n = {key} WHERE k = 1")

    monkeypatch.setattr(inlining, "write_held", beside)
    (segment,) = inlining.flush(_journal(con), next(iter(_journal(con).state.tables)))
    monkeypatch.undo()
    assert segment.counts.total == 1
    for reader in (con, other):
        assert _rows(reader) == [(1, "one", 3), (2, "late", 2), (3, "late", 2)]
        assert _inlined(reader) == 6
    assert con.session.executor.upkeep.verify().is_clean
    assert _inlined(other) == 0


def test_it_is_said_by_how_much_others_may_lag(con: Connection, url: str) -> None:
    table = catalog_of(con).get(TableName("main", "t"))
    assert table is not None
    facts = facts_of(con, table)
    assert "Small commits are inlined: readers past the gateway lag by at most 600 s" in facts
    con.execute("CREATE TABLE at_once (k INTEGER) WITH (inline_commits = 'off')")
    lags = 'SELECT "table", lag_ms FROM system.journals ORDER BY 1'
    assert _rows(con, lags) == [("at_once", None), ("t", 600_000)]
    run = CliRunner().invoke(main, ["status"], env={"PALIMPSEST_WAREHOUSE": url})
    assert run.stdout.count("readers past the gateway lag by at most 600 s") == 1


def test_large_rows_are_not_inlined(con: Connection) -> None:
    con.execute("INSERT INTO t VALUES (1, 'small', 1)")
    con.execute("INSERT INTO t VALUES (2, ?, 2)", ["x" * (1 << 20)])
    assert _inlined(con) == 0
    assert [s.counts.total for s in _state(con).manifest.segments] == [2]


def test_definitions_change_on_flushed_tables(con: Connection) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1)")
    con.execute("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7")
    assert _inlined(con) == 0
    con.execute("INSERT INTO t VALUES (2, 'two', 2, 3)")
    con.execute("ALTER TABLE t RENAME COLUMN v TO name")
    con.execute("INSERT INTO t (k, name) VALUES (3, 'three')")
    assert [(k, w) for k, _, _, w in _rows(con)] == [(1, 7), (2, 3), (3, 7)]
    con.execute("ALTER TABLE t DROP COLUMN n")
    con.execute("DROP TABLE t")
    con.execute("UNDROP TABLE t")
    assert _rows(con) == [(1, "one", 7), (2, "two", 3), (3, "three", 7)]
    assert con.session.executor.upkeep.verify().is_clean


def test_backups_and_restores_have_inlined_rows(con: Connection) -> None:
    con.execute("INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2)")
    con.execute("CALL system.backup('t', name => 'first')")
    con.execute("UPDATE t SET v = 'changed' WHERE k = 1")
    con.execute("INSERT INTO t VALUES (3, 'three', 3)")
    con.execute("CALL system.restore('t', backup => 'first')")
    assert _rows(con) == [(1, "one", 1), (2, "two", 2)]
    assert con.session.executor.upkeep.verify().is_clean


def test_retention_counts_and_removes_inlined_rows(con: Connection) -> None:
    con.execute("CREATE TABLE old (k INTEGER PRIMARY KEY, ds DATE)")
    con.execute("ALTER TABLE old SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    con.execute("INSERT INTO old VALUES (1, DATE '2001-01-01'), (2, current_date)")
    con.execute("CALL system.retain('old')")
    assert _rows(con, "SELECT k FROM old") == [(2,)]


def test_an_erasure_finds_inlined_rows_and_leaves_none(
    con: Connection, other: Connection, tmp_path: Path
) -> None:
    con.execute("INSERT INTO t VALUES (1, 'Zaphod', 1), (2, 'Ford', 2)")
    payload = _payload(con)
    con.execute("PLACE HOLD ON t WHERE k = 1 REASON 'matter 1'")
    con.execute("INSERT INTO t VALUES (3, 'Zaphod', 3)")
    payload += _payload(con)
    con.execute("ERASE FROM t WHERE v = 'Zaphod'")
    assert [k for k, *_ in _rows(other)] == [1, 2]
    # While keys are hidden, commits go the other way.
    con.execute("UPDATE t SET n = 9 WHERE k = 2")
    con.execute("CALL system.purge('t')")
    assert [k for k, *_ in _rows(other)] == [1, 2]
    ((hold,),) = _rows(con, "SELECT id FROM system.holds")
    con.execute(f"RELEASE HOLD '{hold}'")
    con.execute("CALL system.purge('t')")
    assert _rows(other) == [(2, "Ford", 9)]
    assert con.session.executor.upkeep.verify().is_clean
    catalogs = [p for p in tmp_path.iterdir() if "catalog.db" in p.name]
    assert catalogs
    written = b"".join(p.read_bytes() for p in catalogs)
    assert payload
    assert not any(text[-80:].encode() in written for text in payload)
