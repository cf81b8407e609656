"""Arrow batches as messages: each an IPC stream of its own, with its schema and dictionaries."""

from __future__ import annotations

import socket

import pyarrow as pa

from gateway.sharing import wire


def batch_to_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch as a message."""
    sink = pa.BufferOutputStream()
    _write(batch, sink)
    return bytes(sink.getvalue())


def send_batch(peer: socket.socket, batch: pa.RecordBatch) -> None:
    """Send a batch from where its columns lie, without a copy of them; raises PeerGone."""
    measured = pa.MockOutputStream()
    _write(batch, measured)
    wire.send_header(peer, measured.size())
    with pa.PythonFile(_Socket(peer), mode="w") as sink:
        _write(batch, sink)


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
