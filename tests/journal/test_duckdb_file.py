"""The database file closes whatever its sessions are doing."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from sqlglot import parse_one

from journal.local_engine.database_file import DuckDBStore
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query

LONG = "SELECT count(*) FROM range(3000000) AS a(i), range(3000000) AS b(j) WHERE i * j % 7 = 3"


def test_closing_interrupts_what_other_threads_do(tmp_path: Path) -> None:
    store = DuckDBStore(tmp_path / "x.duckdb", {})
    session = store.acquire()
    session.begin()
    caught: list[PalimpsestError] = []

    def work() -> None:
        try:
            session.execute(Query(parse_one(LONG, dialect="duckdb"), ()), {})
        except PalimpsestError as error:
            caught.append(error)
        session.rollback()
        store.release(session)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    store.close()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert [error.code for error in caught] == [Code.CANCELLED]
    DuckDBStore(tmp_path / "x.duckdb", {}).close()
