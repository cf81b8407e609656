"""Large messages of an owner lie in memory that its client sees, and in the socket without room."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

from gateway.dbapi.connection import Connection
from gateway.sharing import wire
from gateway.sharing.arrow_batches import send_batch
from gateway.sharing.shared_memory import PLACES, IncomingPlaces, OutgoingPlaces
from tests.sharing.programs import Program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memfd_create")


def _batch(rows: int) -> pa.RecordBatch:
    return pa.record_batch({"a": range(rows), "b": [f"text {n}" for n in range(rows)]})


def _sent(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """What a client reads of one answer with these batches."""
    ours, theirs = socket.socketpair()
    places, seen = OutgoingPlaces(), IncomingPlaces()
    with ours, theirs:
        places.begin_answer()

        def send() -> None:
            for batch in batches:
                send_batch(ours, places, batch)

        sender = Thread(target=send)
        sender.start()
        raw = [wire.receive(theirs, places=seen) for _ in batches]
        sender.join()
    return [pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch() for data in raw]


def test_batches_of_every_size_and_number_come_as_they_were() -> None:
    for sizes in ([10], [50_000] * PLACES, [100_000, 10, 60_000] + [50_000] * PLACES):
        given = [_batch(rows) for rows in sizes]
        assert _sent(given) == given


def test_a_place_is_made_once_and_again_when_it_is_too_small() -> None:
    places = OutgoingPlaces()
    made: list[bool] = []
    for size in (1 << 20, 1 << 20, 1 << 22):
        places.begin_answer()
        found = places.take(size)
        assert found is not None
        number, memory, file = found
        assert number == 0
        assert len(memory) >= size
        made.append(file is not None)
        if file is not None:
            with pytest.raises(PermissionError):
                os.ftruncate(file, 1)
            os.close(file)
    assert made == [True, False, True]
    assert places.take(10) is None, "what is small goes through the socket"
    places.close()


@pytest.mark.long
def test_what_a_client_holds_stays_as_it_is(root: Path, owner: Connection) -> None:
    query = "SELECT i, i * 2 AS b, 'text ' || i AS c FROM range({0}, {0} + 700000) r(i) ORDER BY i"
    texts = [query.format(n) for n in (0, 1)]
    with Program(root) as other:
        code = f"held = [connection.execute(text).fetch_arrow() for text in {texts!r}]; "
        sums = "[str(pa.compute.sum(table[name])) for table in held for name in ('i', 'b')]"
        found = other.ask(
            "python", f"import pyarrow as pa, pyarrow.compute; {code}found['value'] = {sums}"
        )
    totals = "SELECT sum(i)::TEXT, sum(b)::TEXT FROM ({0})"
    assert found == [
        sum_ for text in texts for sum_ in owner.execute(totals.format(text)).fetchone() or ()
    ]
