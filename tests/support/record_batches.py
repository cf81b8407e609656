"""Rows fetched as a stream of Arrow batches, which every store must do alike."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from gateway.errors import InterfaceError

ROWS = 5_000


def check_record_batches(con: Connection) -> None:
    """Fetch many rows, none, and what RETURNING gives; and refuse a result that was begun."""
    con.execute("CREATE TABLE streamed (k INTEGER, s VARCHAR)")
    con.executemany("INSERT INTO streamed VALUES (?, ?)", [(n, f"r{n}") for n in range(ROWS)])
    cursor = con.execute("SELECT k, s FROM streamed ORDER BY k")
    batches = list(cursor.fetch_record_batches(1_000))
    assert len(batches) > 1
    assert [k for b in batches for k in b.column("k").to_pylist()] == list(range(ROWS))
    assert cursor.rownumber == ROWS
    assert cursor.fetchall() == []

    (empty,) = con.execute("SELECT k, s FROM streamed WHERE k < 0").fetch_record_batches()
    assert (empty.num_rows, empty.schema.names) == (0, ["k", "s"])

    found = con.execute("INSERT INTO streamed VALUES (-1, 'x') RETURNING k, s")
    assert [b.to_pylist() for b in found.fetch_record_batches()] == [[{"k": -1, "s": "x"}]]

    begun = con.execute("SELECT k FROM streamed")
    begun.fetchone()
    with pytest.raises(InterfaceError):
        next(begun.fetch_record_batches())
