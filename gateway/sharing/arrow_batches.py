"""Arrow batches as messages: each an IPC stream of its own, with its schema and dictionaries."""

from __future__ import annotations

import os
import socket

import pyarrow as pa

from gateway.sharing import wire
from gateway.sharing.shared_memory import OutgoingPlaces


def batch_to_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch as a message."""
    sink = pa.BufferOutputStream()
    _write(batch, sink)
    return bytes(sink.getvalue())


def send_batch(peer: socket.socket, places: OutgoingPlaces, batch: pa.RecordBatch) -> None:
    """Send a batch: through shared memory, or from where its columns lie; raises PeerGone."""
    measured = pa.MockOutputStream()
    _write(batch, measured)
    size = measured.size()
    place = places.take(size)
    if place is None:
        wire.send_header(peer, size)
        with pa.PythonFile(_Socket(peer), mode="w") as sink:
            _write(batch, sink)
        return
    number, memory, file = place
    try:
        with pa.FixedSizeBufferWriter(pa.py_buffer(memory)) as sink:
            _write(batch, sink)
        wire.send_shared(peer, size, number, file)
    finally:
        if file is not None:
            os.close(file)


def _write(batch: pa.RecordBatch, sink: pa.NativeFile) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)


class _Socket:
    """What Arrow needs of a file to write into."""

    closed = False

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer

    def write(self, data: pa.Buffer) -> None:
        wire.send_part(self._peer, data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The socket outlives the message."""
