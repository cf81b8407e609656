"""Who has the commit lock does not wait for who seals, since that one waits for the commit lock."""

from __future__ import annotations

import threading
from typing import Any

import gateway
from journal.transactions.group_commit import UNWATCHED

WAIT_S = 20


def test_a_writer_that_has_its_turn_does_not_wait_for_sealing() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t SELECT * FROM range(100)")
        journal: Any = con.session.journal
        upkeep = con.session.executor.upkeep
        table = next(iter(journal.state.tables))
        done = threading.Event()

        def write_in_turn() -> None:
            with journal.commit_turn(UNWATCHED):
                upkeep.request(table, 1)
            done.set()

        with journal.sealing_lock(table):
            threading.Thread(target=write_in_turn, daemon=True).start()
            assert done.wait(WAIT_S)
        assert con.execute("SELECT count(*) FROM t").fetchone() == (100,)


def test_a_batch_reader_that_is_forgotten_inside_the_store_gives_its_session_back() -> None:
    """The garbage collector may close it anywhere, also while its thread holds the store's lock."""
    with gateway.connect("palimpsest://", autocommit=True) as con:
        rows = con.session.execute("SELECT * FROM range(100)").rows
        assert rows is not None
        journal: Any = con.session.journal
        batches = [rows.batches(10)]
        next(batches[0])
        done = threading.Event()

        def collect() -> None:
            with journal.store._lock:
                batches.clear()
            done.set()

        threading.Thread(target=collect, daemon=True).start()
        assert done.wait(WAIT_S)
        assert con.execute("SELECT 1").fetchone() == (1,)
