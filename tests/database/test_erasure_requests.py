"""Requests to erase in a database: what comes meanwhile, kill at each step, and a forged log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from journal.erasure import audit_check
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import ErasureRequest, State
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.maintenance import compact
from spark_compaction.contract import JobRequest
from spark_compaction.erasure import acceptance, purging
from spark_compaction.erasure.purge_sql import PurgeInSql
from tests.support.erasures import backend_of
from tests.support.postgres import Cluster
from tests.support.traces import everything

TOKEN = "qz7-unmistakable-xk9"
MAIL = f"{TOKEN}@example.org"


@pytest.fixture
def people(con: Connection) -> Connection:
    """Id 7 goes by the token in a base and in history, 8 did once, 9 in a column that is gone."""
    con.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, n INTEGER, other VARCHAR)"
        " WITH (erasure = 'email LOWER, other AS email')"
    )
    con.execute("INSERT INTO people SELECT i, 'u' || i || '@x.example', i, '' FROM range(60) r(i)")
    con.execute(f"UPDATE people SET email = ' {MAIL.upper()} ' WHERE id = 7")
    compact(_journal(con), JobRequest(next(iter(_journal(con).state.catalog.tables())), "first"))
    con.execute(f"UPDATE people SET email = '{MAIL}' WHERE id = 8")
    con.execute("UPDATE people SET email = 'new@x.example' WHERE id IN (7, 8)")
    con.execute(f"UPDATE people SET other = '{MAIL}' WHERE id = 9")
    con.execute("ALTER TABLE people DROP COLUMN other")
    con.execute("DELETE FROM people WHERE id = 10")
    return con


def _journal(con: Connection) -> DatabaseJournal:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal


def _submit(con: Connection, *values: str, **options: Any) -> ErasureRequest:
    return acceptance.accept(
        backend_of(con), ErasureSpec({"email": list(values)}, **options), "tester"
    )


def _purge(con: Connection) -> list[ErasureRequest]:
    done = purging.purge(backend_of(con), "tester")
    assert done.failures == {}
    return done.requests


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _others(con: Connection) -> list[list[tuple[Any, ...]]]:
    versions = [v for (v,) in _rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = ["SELECT * FROM people WHERE id NOT IN (7, 8, 9) ORDER BY id"]
    asked += [
        f"SELECT id, email, n FROM people VERSION AS OF {v} WHERE id NOT IN (7, 8, 9) ORDER BY id"
        for v in versions[1:7]
    ]
    asked.append("SELECT count(*) FROM people_journal WHERE id NOT IN (7, 8, 9)")
    return [_rows(con, sql) for sql in asked]


def test_rows_that_come_while_it_is_accepted_are_found(
    people: Connection, monkeypatch: pytest.MonkeyPatch, connect: Callable[..., Connection]
) -> None:
    other, search = connect(), acceptance._search

    def slow(*arguments: Any, **more: bool) -> Any:
        found = search(*arguments, **more)
        other.execute(f"UPDATE people SET email = '{MAIL}' WHERE id = 20")
        other.execute("CALL system.compact('people')")
        other.execute(f"INSERT INTO people VALUES (500, '{MAIL}', 1)")
        return found

    monkeypatch.setattr(acceptance, "_search", slow)
    assert _submit(people, MAIL).targets[0].keys == 5
    monkeypatch.undo()
    assert _rows(people, "SELECT id FROM people WHERE id IN (7, 20, 500)") == []
    (done,) = _purge(people)
    assert done.state is State.COMPLETED


@pytest.mark.long
def test_a_run_that_was_killed_is_simply_run_again(
    people: Connection, monkeypatch: pytest.MonkeyPatch, cluster: Cluster, database: str
) -> None:
    before = _others(people)
    _submit(people, MAIL)

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for place, name in (
        (PurgeInSql, "stage"),
        (segment_swap, "swap"),
        (purging, "record_purged"),
        (purging, "record_completed"),
    ):
        monkeypatch.setattr(place, name, die)
        with pytest.raises(KeyboardInterrupt):
            _purge(people)
        monkeypatch.undo()
        assert _rows(people, "SELECT * FROM people WHERE id IN (7, 8, 9)") == []
        assert _others(people) == before
    (done,) = _purge(people)
    assert done.state is State.COMPLETED
    assert TOKEN not in everything(cluster, database).lower()
    assert audit_check.verify(_journal(people)).problems == ()


def test_a_forged_audit_log_is_noticed(people: Connection, cluster: Cluster, database: str) -> None:
    _submit(people, MAIL)
    head = audit_check.verify(_journal(people)).head
    _purge(people)
    with psycopg.connect(cluster.conninfo(database)) as admin:
        admin.execute("UPDATE _palimpsest.audit SET actor = 'nobody' WHERE seq = 1")
    assert audit_check.verify(_journal(people)).problems == ("entry 1 was altered",)
    with psycopg.connect(cluster.conninfo(database)) as admin:
        admin.execute("UPDATE _palimpsest.audit SET actor = 'tester' WHERE seq = 1")
        admin.execute("DELETE FROM _palimpsest.audit WHERE seq = 3")
    short, cut = audit_check.verify(_journal(people), head).problems
    assert short == "the log lacks entry 3, the newest on record: its end was removed"
    assert cut.endswith("is COMPLETED, and the log has no erase.complete of it")
    lost = audit_check.verify(_journal(people), "0" * 63 + "1").problems
    assert "the noted hash is not in the log: entries at its end were removed" in lost
