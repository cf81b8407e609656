"""A relay between a gateway and a server that tests cut. It knows nothing of what passes."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Relay:
    """A relay between gateway and server that can be cut, at once or at a word of the client's."""

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self._target = target
        self._listener = socket.create_server((host, 0))
        self.port = int(self._listener.getsockname()[1])
        self.word = b""
        self.then = b""
        """The word to be cut at, where ``word`` only says from when on it counts."""
        self.passes_first = 0
        """How many times the word passes before the relay is cut at it."""
        self.passes_word = False
        self.loses_answer = False
        """Whether what the server says to a word that passes reaches nobody."""
        self.refuses = False
        self.hushes = b""
        """A word of the client's that no server hears, though every connection stays."""
        self.has_cut = threading.Event()
        """Set once it was cut at the word."""
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                if self.refuses:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._pairs.append((client, server))
            for source, sink, watched in ((client, server, True), (server, client, False)):
                worker = threading.Thread(
                    target=self._pump, args=(source, sink, watched), daemon=True
                )
                worker.start()

    def _pump(self, source: socket.socket, sink: socket.socket, watched: bool) -> None:
        with source, suppress(OSError):
            while data := source.recv(65536):
                if watched and self.hushes and self.hushes in data:
                    continue
                if watched and self.word and self.word in data and self.then:
                    self.word, self.then = self.then, b""
                elif watched and self.word and self.word in data and self.passes_first:
                    self.passes_first -= 1
                elif watched and self.word and self.word in data:
                    # Whoever is cut off speaks anew at once: that is not cut again.
                    self.word = b""
                    pairs = self.taken()
                    if self.passes_word:
                        if self.loses_answer:
                            source.shutdown(socket.SHUT_RDWR)
                        sink.sendall(data)
                        time.sleep(0.5)
                    _cut(pairs)
                    self.has_cut.set()
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Cut every connection there is."""
        _cut(self.taken())

    def taken(self) -> list[tuple[socket.socket, socket.socket]]:
        """The connections that will be cut now; those that come later stay."""
        pairs, self._pairs = self._pairs, []
        return pairs

    def close(self) -> None:
        """Cut, and take no more."""
        self._listener.close()
        self.cut()


def _cut(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    for end in (end for pair in pairs for end in pair):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
