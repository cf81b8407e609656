"""Requests accepted by a server's store while a copy of a backup is out of reach."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure import audit_check
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import ErasureRequest, State
from journal.model.errors import PalimpsestError
from journal.records import deferred_subjects as postgres_sought
from journal.records import deferred_subjects as sql_sought
from journal.stores.hive.journal import HiveJournal
from journal.stores.postgres.journal import DatabaseJournal
from tests.elsewhere.copied_texts import spell, texts_in
from tests.elsewhere.server_stores import (
    LONG_ON_HIVE,
    Connect,
    connect,
    new_store,
    url,
)
from tests.support.kept import call, is_whole, rows

__all__ = ["connect", "new_store", "url"]

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]
WHO = "qz7-unmistakable-xk9"


@pytest.fixture
def table(connect: Connect) -> Connection:
    """A small table, as each statement takes a server like Spark long."""
    con = connect()
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR) WITH (erasure = 'b')")
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (1000, 'kept')")
    return con


@pytest.fixture
def vault(table: Connection, tmp_path: Path) -> Path:
    """Where a copy lies that alone tells of one row whose it is; of another every place does."""
    place = tmp_path / "vault"
    call(table, f"backup('t', name => 'far', to => '{place}')")
    spell(place, "kept", WHO)
    table.execute(f"INSERT INTO t VALUES (2000, '{WHO}')")
    return place


def _away(place: Path) -> Path:
    """Let a folder be gone, as behind a disk that is not mounted; where it is meanwhile."""
    return place.rename(place.with_name("unmounted"))


def _back(away: Path, place: Path) -> None:
    if place.exists():
        assert [p for p in place.rglob("*") if p.is_file()] == []
        shutil.rmtree(place)
    away.rename(place)


def _request(con: Connection) -> ErasureRequest:
    return requests(erasure_of(con.session).journal)[-1]


def _states(con: Connection) -> list[str]:
    return [t.outcome.value for t in _request(con).targets]


def _accept(con: Connection, by: str, who: str = WHO) -> None:
    if by == "name":
        erasure_of(con.session).accept(ErasureSpec({"b": [who]}), "tester")
    else:
        shown = con.execute("ERASE FROM t WHERE b = ?", [who]).fetchall()
        assert {row[1] for row in shown} == {"ACCEPTED"}


@pytest.mark.parametrize(
    ("new_store", "by"),
    [
        *(("postgresql", by) for by in ("name", "condition")),
        ("hive", "name"),
        pytest.param("hive", "condition", marks=pytest.mark.slow),
    ],
    indirect=["new_store"],
)
def test_a_request_is_accepted_while_a_copy_is_out_of_reach(
    table: Connection, connect: Connect, vault: Path, by: str
) -> None:
    """What is known here is hidden at once, and goes; the copy is searched when it is back."""
    away = _away(vault)
    _accept(table, by)
    found = "SELECT count(*) FROM t WHERE a >= 1000"
    assert rows(table, found) == [(1,)], "only the copy tells whose the other is"
    assert _states(table)[-1] == "NOT_SEARCHED"
    assert "is not in" in _request(table).targets[-1].why
    with pytest.raises(gateway.Error, match=r"cannot be searched.*drop => true"):
        table.execute("CALL system.purge('t')")
    request = _request(table)
    assert request.state is State.ACCEPTED
    assert request.targets[0].versions_removed == 1, "gone here"
    with pytest.raises(PalimpsestError, match="purged already"):
        erasure_of(table.session).cancel(request, "tester")
    _back(away, vault)
    other = connect()
    (folder,) = vault.glob("*/far")
    for name in ("backup => 'far'", f"\"from\" => '{folder}'"):
        with pytest.raises(gateway.Error, match="has not yet searched"):
            other.execute(f"CALL system.restore('t', {name})")
    call(other, "purge('t')")
    request = _request(other)
    assert request.state is State.COMPLETED
    live, copy = request.targets[0], request.targets[-1]
    assert (live.outcome, live.versions_removed, live.copies_removed) == ("ERASED", 1, 0)
    assert (copy.outcome, copy.keys, copy.copies_removed) == ("ERASED", 1, 1)
    assert WHO.encode() not in texts_in(vault)
    assert rows(other, found) == rows(table, found) == [(0,)]
    assert audit_check.verify(erasure_of(other.session).journal).problems == ()
    other.execute("DELETE FROM t WHERE a = 1")
    assert call(other, "restore('t', backup => 'far')")["written"]["rows"] == 1
    assert rows(other, found) == [(0,)]
    assert is_whole(other)
    assert _kept_aside(other) == set()


def _kept_aside(con: Connection) -> set[str]:
    """The requests of which identifiers are written down."""
    journal = erasure_of(con.session).journal
    if isinstance(journal, HiveJournal):
        with journal.catalog.reading() as connection:
            return sql_sought.names(connection)
    assert isinstance(journal, DatabaseJournal)
    with journal.reading_session() as session:
        return postgres_sought.names(session)


@LONG_ON_HIVE
def test_a_request_that_waits_for_a_copy(
    table: Connection, connect: Connect, vault: Path, tmp_path: Path
) -> None:
    """It finds nobody there, is cancelled, or the copy is given up: nothing is kept of it."""
    away = _away(vault)
    _accept(table, "name", "nobody")
    assert _states(table)[-2:] == ["SEARCHED_NONE", "NOT_SEARCHED"]
    assert _kept_aside(table) == {_request(table).id}
    _back(away, vault)
    call(table, "purge('t')")
    assert _request(table).state is State.COMPLETED
    assert _states(table)[-1] == "SEARCHED_NONE"
    away = _away(vault)
    _accept(table, "name")
    erasure_of(table.session).cancel(_request(table), "tester")
    assert _kept_aside(table) == set()
    assert rows(table, "SELECT a FROM t WHERE a >= 1000 ORDER BY a") == [(1000,), (2000,)]
    _accept(table, "name")
    call(table, "backup('t', name => 'far', drop => true)")
    call(connect(), "purge('t')")
    assert _request(table).state is State.COMPLETED
    assert "given up" in _request(table).targets[-1].why
    assert _kept_aside(table) == set()
    for path in tmp_path.glob("*.db*"):
        assert WHO.encode() not in path.read_bytes(), path
