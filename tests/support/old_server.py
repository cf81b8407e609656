"""A server that says it is an old one: it greets, knows not every setting, and tells its age.

It speaks as much of PostgreSQL's protocol as a client needs to ask one question, and answers every
question with the same row. It holds nothing, and never says what an old server would do with SQL.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO

_TLS, _GSS = 80877103, 80877104
_BOOLEAN, _INTEGER, _TEXT = 16, 23, 25


class OldServer:
    """Listens while it is open, on ``port`` of 127.0.0.1; ``unknown`` is a setting it has not."""

    def __init__(self, version: str, number: int, unknown: str, *, distributes: bool) -> None:
        self._version, self._number, self._distributes = version, number, distributes
        self._unknown = unknown
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.refused = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> OldServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with suppress(ConnectionError), client, client.makefile("rb") as said:
                if self._greet(client, said):
                    self._answer(client, said)

    def _greet(self, client: socket.socket, said: BinaryIO) -> bool:
        """Let a client in, unless it wants a setting that there is not."""
        while True:
            length, number = struct.unpack("!ii", _read(said, 8))
            wanted = _read(said, length - 8)
            if number not in {_TLS, _GSS}:
                break
            client.sendall(b"N")
        if self._unknown.encode() in wanted:
            self.refused += 1
            text = f'unrecognized configuration parameter "{self._unknown}"'
            client.sendall(_message(b"E", f"SFATAL\0C42704\0M{text}\0\0".encode()))
            return False
        version = self._version.split()[1]
        told = f"server_version\0{version}\0".encode()
        ready = _message(b"R", struct.pack("!i", 0)) + _message(b"S", told)
        ready += _message(b"S", b"client_encoding\0UTF8\0")
        client.sendall(ready + _message(b"Z", b"I"))
        return True

    def _answer(self, client: socket.socket, said: BinaryIO) -> None:
        row = (
            (_BOOLEAN, "t" if self._distributes else "f"),
            (_INTEGER, str(self._number)),
            (_TEXT, self._version),
        )
        columns = b"".join(
            b"c\0" + struct.pack("!ihihih", 0, 0, kind, -1, -1, 0) for kind, _ in row
        )
        values = b"".join(struct.pack("!i", len(v)) + v.encode() for _, v in row)
        count = struct.pack("!h", len(row))
        result = _message(b"T", count + columns) + _message(b"D", count + values)
        result += _message(b"C", b"SELECT 1\0")
        while True:
            kind = _read(said, 1)
            _read(said, struct.unpack("!i", _read(said, 4))[0] - 4)
            if kind == b"X":
                return
            if kind == b"Q":
                client.sendall(result + _message(b"Z", b"I"))
            elif kind == b"S":
                client.sendall(_message(b"1", b"") + _message(b"2", b"") + result)
                client.sendall(_message(b"Z", b"I"))


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _read(said: BinaryIO, count: int) -> bytes:
    found = said.read(count)
    if len(found) < count:
        raise ConnectionError("the client went away")
    return found
