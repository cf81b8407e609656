"""Erasures in a Hive store: nested values, adopted tables, lists of keys, and what is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.model.errors import PalimpsestError
from journal.records.erasure_rows import AuditRow, load_audit
from journal.stores.hive import row_upload
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning, maintenance
from spark_compaction.contract import silent
from spark_compaction.erasure.access import gather
from tests.hive.conftest import ThriftServer
from tests.hive.test_adopted_tables import CLASSIC

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]
WHO = "zaphod.beeblebrox@example.org"


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    return server.url(f"p{uuid.uuid4().hex[:8]}_", tmp_path / "catalog.db")


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    with gateway.connect(url, autocommit=True) as found:
        yield found


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def traces(con: Connection, catalog: Path, *more: Path) -> list[str]:
    """The files of the store, its views and its catalog in which the name can be read."""
    names = _journal(con).names
    places = [catalog.parent / "catalog.db", *catalog.parent.glob("catalog.db-*")]
    with _journal(con).store.connection() as connection:
        for database in (names.journal_database, names.schema("main")):
            rows = connection.run(f"DESCRIBE DATABASE {database}")
            told = [str(value) for row in rows for value in row if str(value).startswith("file:")]
            folder = Path(told[0].removeprefix("file:"))
            places += [p for p in folder.rglob("*") if p.is_file()]
    for folder in more:
        places += [p for p in folder.rglob("*") if p.is_file()]
    assert any(map(_is_parquet, places))
    return [str(p) for p in places if _says(p)]


def _is_parquet(place: Path) -> bool:
    """True for what Spark or Hive wrote, who name their files otherwise."""
    with place.open("rb") as file:
        return file.read(4) == b"PAR1"


def _says(place: Path) -> bool:
    if _is_parquet(place) and WHO in str(pq.read_table(place).to_pylist()):
        return True
    return WHO.encode() in place.read_bytes()


def test_no_row_depends_on_an_erased_one(con: Connection) -> None:
    """There are no foreign keys, so whatever is to become of dependents becomes of none."""
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    with pytest.raises(gateway.NotSupportedError, match="foreign key"):
        con.execute("CREATE TABLE c (k INTEGER PRIMARY KEY, t INTEGER REFERENCES t)")
    con.execute("INSERT INTO t VALUES (1), (2), (3), (4)")
    for number, word in enumerate(("REPORT", "REFUSE", "CASCADE"), 1):
        sql = f"ERASE FROM t WHERE k = {number} ON DEPENDENTS {word}"
        assert con.execute(sql).fetchall()[0][1] == "COMPLETED"
    assert con.execute("SELECT k FROM t").fetchall() == [(4,)]


def test_people_are_found_by_name_in_every_version(con: Connection, tmp_path: Path) -> None:
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, email VARCHAR, at STRUCT(home VARCHAR),"
        " more VARCHAR[]) WITH (erasure = 'email LOWER, at.home AS email, more[] AS email')"
    )
    con.execute(
        "CREATE TABLE visits (n INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')"
    )
    con.execute("CREATE TABLE other (n INTEGER PRIMARY KEY)")
    con.execute(
        f"INSERT INTO t VALUES (1, '{WHO.upper()}', NULL, NULL),"
        f" (2, 'b', {{'home': '{WHO}'}}, NULL), (3, 'c', {{'home': 'x'}}, ['y']),"
        f" (4, 'd', NULL, ['{WHO}'])"
    )
    con.execute("UPDATE t SET email = 'new' WHERE k = 1")
    con.execute(f"INSERT INTO visits VALUES (7, '{WHO}'), (8, 'b')")
    con.execute("ALTER TABLE visits DROP COLUMN email")
    con.execute("INSERT INTO visits VALUES (9)")
    erasure = erasure_of(con.session)
    wanted = ErasureSpec(subjects={"email": [WHO]})
    tried = {t.table: t.keys for t in erasure.dry_run(wanted).targets}
    assert tried == {"main.t": 3, "main.visits": 1, "main.other": 0}
    con.execute("CALL system.hold('t', where => 'k = 2', reason => 'matter 1')")
    _, told = gather(erasure.backend, wanted.subjects)
    assert {f.table: f.rows for f in told} == {"main.t": 4, "main.visits": 1, "main.other": 0}
    request = erasure.accept(wanted, "me")
    outcomes = {t.table: (t.outcome.value, t.keys) for t in request.targets}
    assert outcomes["main.t"] == ("PENDING", 3)
    assert outcomes["main.visits"] == ("PENDING", 1)
    (held,) = erasure.purge(None, "me", [request.id], silent).requests
    assert (held.state.value, "hold" in held.waits_for) == ("ON_HOLD", True)
    assert con.execute("SELECT k FROM t ORDER BY k").fetchall() == [(2,), (3,)]
    (hold,) = con.execute("SELECT id FROM system.holds").fetchall()
    con.execute(f"CALL system.release('{hold[0]}')")
    (done,) = erasure.purge(None, "me", [request.id], silent).requests
    assert done.state.value == "COMPLETED", done.waits_for
    assert traces(con, tmp_path / "catalog.db") == []
    assert con.execute("SELECT k FROM t").fetchall() == [(3,)]
    assert con.execute("SELECT n FROM visits ORDER BY n").fetchall() == [(8,), (9,)]
    with pytest.raises(gateway.IntegrityError):
        con.execute(f"INSERT INTO t VALUES (5, '{WHO}', NULL, NULL)")
    con.execute("INSERT INTO t VALUES (5, 'e', NULL, NULL)")
    found = [row.action for row in _audit(con) if row.action.startswith("erase.")]
    assert found[-5:] == [
        "erase.accept",
        *(f"erase.{w}" for w in ("hold", "release", "purge", "complete")),
    ]
    with pytest.raises(PalimpsestError, match="purged already"):
        erasure.cancel(done, "me")


def _audit(con: Connection) -> list[AuditRow]:
    with _journal(con).reading_session() as session:
        return load_audit(session)


@pytest.mark.parametrize("kind", ["managed", "external"])
def test_adopted_tables_forget_too(con: Connection, tmp_path: Path, kind: str) -> None:
    journal = _journal(con)
    database, lake = journal.names.schema("main"), tmp_path / "lake"
    with journal.store.connection() as connection:
        connection.execute(f"CREATE DATABASE IF NOT EXISTS {database}")
        place = f"LOCATION '{lake}'" if kind == "external" else ""
        connection.execute(
            f"CREATE TABLE {database}.people (k INT, mail STRING, city STRING) USING PARQUET"
            f" PARTITIONED BY (city) {place}"
        )
        connection.execute(
            f"INSERT INTO {database}.people VALUES (1, '{WHO}', 'Oslo'), (2, 'b', 'Rome')"
        )
    adopt(con.session, "people", ("k",), CLASSIC, run=True)
    assert traces(con, tmp_path / "catalog.db", tmp_path)
    shown = con.execute(f"ERASE FROM people WHERE mail = '{WHO}'").fetchall()
    assert shown[0][1] == "COMPLETED"
    assert traces(con, tmp_path / "catalog.db", tmp_path) == []
    assert con.execute("SELECT * FROM people").fetchall() == [(2, "b", "Rome")]


def test_what_cannot_be_compared_is_removed_by_the_next_purge(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1), (2)")
    wrong = iter(range(100))
    monkeypatch.setattr(
        maintenance, "fingerprints", lambda *_: [(next(wrong), 7) for _ in range(3)]
    )
    with pytest.raises(gateway.Error, match="would change other rows"):
        con.execute("ERASE FROM t WHERE k = 1")
    monkeypatch.undo()
    assert con.execute("SELECT * FROM t").fetchall() == [(2,)]
    assert "COMPLETED" in str(con.execute("CALL system.purge('t')").fetchall())
    assert con.session.executor.upkeep.verify().is_clean


def test_rows_that_may_be_somebodys_keep_a_request_open(con: Connection) -> None:
    journal = _journal(con)
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1), (2)")
    table = next(journal.state.catalog.tables())
    with journal.store.connection() as connection:
        with journal.new_segment(table, connection) as left:
            pass
        name, _, segment = left.partition("/")
        connection.execute(
            f"INSERT INTO {journal.names.journal_database}.{name}"
            f" PARTITION (palimpsest_segment = '{segment}')"
            " SELECT 1, CAST('1970-01-01' AS TIMESTAMP), NULL"
        )
    shown = con.execute("ERASE FROM t WHERE k = 1").fetchall()
    assert shown[0][1] == "PURGED"
    assert left in shown[0][-1]
    journal.drop_segments([left])
    done = con.execute("CALL system.purge('t')").fetchall()
    assert "COMPLETED" in str(done)


def test_rows_are_hidden_at_once_and_shown_again_when_a_request_is_cancelled(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_upload, "INLINE_ROWS_MAX", 10)
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, mail VARCHAR) WITH (erasure = 'mail')")
    con.execute(f"INSERT INTO t SELECT i, '{WHO}' FROM range(100) r(i)")
    con.execute("INSERT INTO t VALUES (100, 'b'), (101, 'c')")
    then = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
    con.execute("UPDATE t SET mail = 'new' WHERE k = 3")
    asked = (
        "SELECT * FROM t ORDER BY k",
        f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {then} ORDER BY k",
        "SELECT * FROM t_journal ORDER BY k, version_number, subsequent_version_number",
        "SELECT count(*), max(mail) FROM t WHERE k = 3",
    )
    before = [con.execute(sql).fetchall() for sql in asked]
    erasure = erasure_of(con.session)
    request = erasure.accept(ErasureSpec(subjects={"mail": [WHO]}), "me")
    assert (request.state.value, request.targets[0].keys) == ("ACCEPTED", 100)
    hidden = [con.execute(sql).fetchall() for sql in asked]
    assert [len(rows) for rows in hidden] == [2, 2, 2, 1]
    assert hidden[3] == [(0, None)]
    assert _outside(con) == [(100, "b"), (101, "c")]
    con.execute("CALL system.compact('t')")
    assert con.execute(asked[0]).fetchall() == hidden[0]
    with pytest.raises(gateway.IntegrityError):
        con.execute("INSERT INTO t VALUES (3, 'back')")
    cancelled = erasure.cancel(request, "me")
    assert (cancelled.state.value, cancelled.masks) == ("CANCELLED", [])
    assert [con.execute(sql).fetchall() for sql in asked[:2]] == before[:2]
    assert _outside(con) == before[0]
    con.execute("UPDATE t SET mail = 'changed' WHERE k = 3")
    assert con.session.executor.upkeep.verify().is_clean
    again = erasure.accept(ErasureSpec(subjects={"mail": [WHO]}), "me")
    (done,) = erasure.purge(None, "me", [again.id], silent).requests
    assert (done.state.value, done.targets[0].keys) == ("COMPLETED", 100)
    assert con.execute(asked[0]).fetchall() == [(100, "b"), (101, "c")]
    assert _outside(con) == [(100, "b"), (101, "c")]
    assert traces(con, tmp_path / "catalog.db") == []
    journal = _journal(con)
    with journal.store.connection() as connection:
        for name in connection.tables_of(journal.names.journal_database, f"{journal.names.masks}*"):
            assert connection.partitions_of(journal.names.journal_database, name) == []


def _outside(con: Connection) -> list[tuple[object, ...]]:
    """What others read through the view."""
    con.execute("CALL system.flush('t')")
    journal = _journal(con)
    with journal.store.connection() as connection:
        found = connection.run(f"SELECT * FROM {journal.names.schema('main')}.t ORDER BY k")
    return [tuple(row) for row in found]


def test_a_purge_that_was_killed_is_finished_by_the_next(
    con: Connection, url: str, tmp_path: Path
) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, mail VARCHAR) WITH (erasure = 'mail')")
    con.execute(f"INSERT INTO t VALUES (1, '{WHO}'), (2, 'b')")
    erasure = erasure_of(con.session)
    request = erasure.accept(ErasureSpec(subjects={"mail": [WHO]}), "me")
    for step in ("swap", "after swap"):
        words = [sys.executable, "-m", "tests.hive.killed_purge", url, step]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert con.execute("SELECT * FROM t").fetchall() == [(2, "b")]
        assert con.session.executor.upkeep.verify().is_clean
    (finished,) = erasure.purge(None, "me", [request.id], silent).requests
    assert finished.state.value == "PURGED", "what the killed ones wrote may be somebody's"
    with _journal(con).store.connection() as connection:
        cleaning.remove_forsaken(_journal(con), connection, 0)
    (finished,) = erasure.purge(None, "me", [request.id], silent).requests
    assert finished.state.value == "COMPLETED"
    assert traces(con, tmp_path / "catalog.db") == []
