"""A directory that answers LDAP's simple bind and nothing else: right for one name and password."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

_BIND, _OK, _INVALID_CREDENTIALS = 0x60, 0, 49


class Directory:
    """Listens on ``port`` of this machine until it is closed."""

    def __init__(self, name: str, password: str) -> None:
        self._name, self._password = name.encode(), password.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, IndexError):
            while message := client.recv(4096):
                _, body, _ = _element(message)
                _, number, rest = _element(body)
                tag, asked, _ = _element(rest)
                if tag != _BIND:
                    return
                _, _, rest = _element(asked)
                _, name, rest = _element(rest)
                _, password, _ = _element(rest)
                right = (name, password) == (self._name, self._password)
                code = _OK if right else _INVALID_CREDENTIALS
                answer = bytes([0x61, 7, 0x0A, 1, code, 4, 0, 4, 0])
                told = bytes([2, len(number)]) + number + answer
                client.sendall(bytes([0x30, len(told)]) + told)

    def close(self) -> None:
        """Take no more."""
        self._listener.close()


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and content of the first element of BER, and what comes after it."""
    size, start = data[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[2:start], "big")
    return data[0], data[start : start + size], data[start + size :]
