"""Sealing beside reads and writes: no answer changes, nothing waits long, nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

import gateway
from journal.model.errors import PalimpsestError
from journal.model.segment import Tier
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.sealing import seal
from journal.stores.embedded.verification import verify
from tests.support.client import Client
from tests.support.positions import always_by_position


def _journal(run: Client) -> Journal:
    return run.connection.session.journal


def test_heads_become_segments_of_their_layout(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR)")
    run("INSERT INTO t VALUES (2, 'b'), (1, 'a')")
    run("ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 3")
    run("UPDATE t SET b = 4 WHERE k = 1")
    found = run("CALL system.flush('t')")
    assert [row[1] for row in found] == [2, 2]
    manifest = _journal(run).state.tables[1].manifest
    assert [s.tier for s in manifest.segments] == [Tier.BASE, Tier.DELTA]
    assert [len(s.fields) for s in manifest.segments] == [2, 3]
    assert len(manifest.heads) == 1
    assert all(s.min_version <= s.max_version for s in manifest.segments)
    assert run.sorted("SELECT * FROM t") == [(1, "a", 4), (2, "b", 3)]
    assert run("CALL system.flush('t')") == []


def test_an_interrupted_seal_is_taken_up(run: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run("INSERT INTO t VALUES (1), (2)")
    journal = _journal(run)
    folder = run.root / "main"
    folder.write_text("in the way of the segment's folder")
    with pytest.raises(PalimpsestError, match="PAL-504"):
        seal(journal, 1)
    assert run.sorted("SELECT * FROM t") == [(1,), (2,)]
    assert len(journal.state.tables[1].manifest.heads) == 2
    run("INSERT INTO t VALUES (3)")
    folder.unlink()
    (sealed,) = seal(journal, 1)
    assert sealed.counts.open == 3
    assert run.sorted("SELECT * FROM t") == [(1,), (2,), (3,)]
    assert verify(journal).is_clean


def test_killed_between_the_steps_heads_are_read_on(
    connect: Callable[..., Client], tmp_path: Path
) -> None:
    run = connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run("INSERT INTO t VALUES (1)")
    (run.root / "main").write_text("in the way of the segment's folder")
    with pytest.raises(gateway.OperationalError):
        run("CALL system.flush('t')")
    run("INSERT INTO t VALUES (2)")
    run.close()
    (run.root / "main").unlink()
    run = connect()
    assert run.sorted("SELECT * FROM t") == [(1,), (2,)]
    assert run("CALL system.flush('t')")[0][1] == 2
    assert run.sorted("SELECT * FROM t") == [(1,), (2,)]


def test_full_heads_are_sealed_in_the_background(run: Client) -> None:
    run("SET flush_rows = 100")
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run("INSERT INTO t SELECT * FROM range(60)")
    assert run.files() == []
    run("INSERT INTO t SELECT * FROM range(60, 120)")
    assert run.connection.session.executor.upkeep.wait(30)
    assert len(run.files()) == 1
    assert run("SELECT count(*), sum(k) FROM t") == [(120, 7140)]


def test_manifests_do_not_pile_up(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    for k in range(20):
        run("INSERT INTO t VALUES (?)", k)
        run("CALL system.flush('t')")
    with _journal(run).reading_session() as session:
        assert session.text("SELECT count(*) FROM _palimpsest.manifests") == [(1,)]
        heads = session.text(
            "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 't1_head%'"
        )
        assert heads == [(1,)]
    assert run("SELECT count(*) FROM t") == [(20,)]


def _transfer(client: Client, number: int, done: threading.Event, errors: list[str]) -> None:
    step = 0
    while not done.is_set():
        step += 1
        one, two = (number * 7 + step) % 40, (number * 13 + step * 3) % 40
        if one == two:
            continue
        try:
            client("BEGIN")
            client("UPDATE accounts SET balance = balance - 1 WHERE id = ?", one)
            client("UPDATE accounts SET balance = balance + 1 WHERE id = ?", two)
            client("COMMIT")
        except gateway.Error as error:
            client("ROLLBACK")
            if error.sqlstate != "40001":
                errors.append(str(error))
                return


def _read(client: Client, done: threading.Event, errors: list[str]) -> None:
    while not done.is_set():
        found = client("SELECT sum(balance), count(*), count(DISTINCT id) FROM accounts")
        if found != [(4000, 40, 40)]:
            errors.append(f"read {found}")
            return


def _flush(client: Client, done: threading.Event, errors: list[str]) -> None:
    while not done.is_set():
        try:
            client("CALL system.flush('accounts')")
        except gateway.Error as error:
            errors.append(str(error))
            return
        time.sleep(0.02)


@pytest.mark.first(1)
@pytest.mark.parametrize("ways", [nullcontext, always_by_position])
def test_seal_beside_writers_and_readers(
    connect: Callable[..., Client], ways: Callable[[], AbstractContextManager[None]]
) -> None:
    with ways():
        _seal_beside_writers_and_readers(connect)


def _seal_beside_writers_and_readers(connect: Callable[..., Client]) -> None:
    run = connect()
    run("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)")
    run("INSERT INTO accounts SELECT i, 100 FROM range(40) r(i)")
    done, errors = threading.Event(), list[str]()
    threads = [
        threading.Thread(target=_transfer, args=(connect(), n, done, errors)) for n in range(3)
    ]
    threads += [threading.Thread(target=_read, args=(connect(), done, errors)) for _ in range(2)]
    threads.append(threading.Thread(target=_flush, args=(connect(), done, errors)))
    for thread in threads:
        thread.start()
    # Long enough for a few segments, also where many programs share the machine.
    deadline = time.monotonic() + 60
    time.sleep(4)
    while len(run.files()) <= 3 and not errors and time.monotonic() < deadline:
        time.sleep(0.2)
    done.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert run("SELECT sum(balance), count(*) FROM accounts") == [(4000, 40)]
    report = verify(_journal(run))
    assert report.problems == []
    assert report.segments > 3
