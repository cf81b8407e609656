"""A port on which each client has a socket and a thread: how clients come, and how all of them go.

What is said on a connection is the affair of the servers that are built on it.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from journal.model.errors import Code, PalimpsestError

_POLL_S = 0.05
_GOODBYE_S = 0.5
_WATCH_S = 1.0
"""How often a server looks whether clients whose statements run are still there."""


class SocketClient(Protocol):
    """A client: its socket, which changes when TLS begins, and what it still does."""

    @property
    def peer(self) -> socket.socket:
        """The socket."""

    @property
    def is_busy(self) -> bool:
        """True from a request until its answer is sent, and while a transaction is open."""

    def let_go(self, why: PalimpsestError) -> None:
        """Stop what runs and read no more; the client hears why where its protocol can say it."""

    def close(self) -> None:
        """End the sessions; what was not committed is rolled back."""


Client = TypeVar("Client", bound=SocketClient)


class SocketServer(ABC, Generic[Client]):
    """Takes clients of sockets that listen already; ``close`` ends all connections."""

    def __init__(self, name: str, limits: ServerLimits, ending: Ending) -> None:
        """``name`` is that of the protocol, in names of threads and of the log."""
        self._name = name
        self._limits = limits
        self._ending = ending
        self._log = logging.getLogger(f"palimpsest.{name}")
        self._listeners: list[socket.socket] = []
        self._clients: set[Client] = set()
        self._lock = threading.Lock()
        self._closes = False
        self._start(self._watch, "watch")

    @property
    def connections(self) -> int:
        """How many clients there are."""
        with self._lock:
            return len(self._clients)

    def listen(self, listener: socket.socket) -> None:
        """Take clients of a socket from now on."""
        self._listeners.append(listener)
        self._start(self._accept, f"port-{len(self._listeners)}", listener)

    def close(self) -> None:
        """Take no new clients; statements may run for what is left of the end, then they stop."""
        self._closes = True
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        while self._ending.left_s and any(client.is_busy for client in self.clients()):
            time.sleep(_POLL_S)
        why = PalimpsestError(
            Code.TERMINATED, "the server is ending", advice="connect again in a while"
        )
        for client in self.clients():
            client.let_go(why)
        self._wait_for_clients(_GOODBYE_S)
        for client in self.clients():
            hang_up(client.peer)
        self._wait_for_clients(self._limits.login_s)

    def clients(self) -> list[Client]:
        """All that are connected now."""
        with self._lock:
            return list(self._clients)

    def _wait_for_clients(self, most_s: float) -> None:
        """Until all have gone, or for so many seconds."""
        end = time.monotonic() + most_s
        while self.connections and time.monotonic() < end:
            time.sleep(_POLL_S)

    @abstractmethod
    def _meet(self, peer: socket.socket) -> Client:
        """The client of a connection that begins; nothing has been read of it."""

    @abstractmethod
    def _talk(self, client: Client, *, is_full: bool) -> None:
        """Answer a client until it goes; raises nothing that is not a defect.

        ``is_full``: there is no room for it, and it is to be told.
        """

    @abstractmethod
    def _look_at(self, client: Client) -> None:
        """Stop what a client that has gone runs, and whatever takes too long."""

    def _start(self, work: Callable[..., None], what: str, *arguments: object) -> None:
        name = f"palimpsest-{self._name}-{what}"
        threading.Thread(target=work, args=arguments, name=name, daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                if self._closes:
                    return
                time.sleep(_POLL_S)
                continue
            if self._ending.is_begun:
                peer.close()
                continue
            if peer.family != socket.AF_UNIX:
                with suppress(OSError):
                    # An answer of several messages does not wait for word that the first came.
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = self._meet(peer)
            with self._lock:
                is_full = len(self._clients) >= self._limits.connections
                self._clients.add(client)
            self._start(self._serve, "client", client, is_full)

    def _serve(self, client: Client, is_full: bool) -> None:
        try:
            self._talk(client, is_full=is_full)
        except Exception:  # noqa: BLE001 - one client must not end the server
            self._log.exception("a connection failed")
        finally:
            try:
                client.close()
            finally:
                with self._lock:
                    self._clients.discard(client)
                _say_goodbye(client.peer)
                client.peer.close()

    def _watch(self) -> None:
        while not self._closes:
            time.sleep(_WATCH_S)
            for client in self.clients():
                self._look_at(client)


def stop_reading(peer: socket.socket) -> None:
    """Let the thread that reads from a connection find its end; what it writes still goes out."""
    with suppress(OSError):
        socket.socket.shutdown(peer, socket.SHUT_RD)


def hang_up(peer: socket.socket) -> None:
    """End a connection that another thread reads from or writes to; it finds that out itself."""
    with suppress(OSError):
        # That of TLS would let go of what another thread still reads by.
        socket.socket.shutdown(peer, socket.SHUT_RDWR)


def has_left(peer: socket.socket, goodbye: bytes = b"") -> bool:
    """True if a client has closed its connection, or has sent ``goodbye``, one byte, at last.

    Nothing is taken of what it has sent.
    """
    try:
        # Under TLS as well, what has arrived is looked at as it is.
        found = socket.socket.recv(peer, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError):
        return False
    except OSError:
        return True
    return found in (b"", goodbye)


def _say_goodbye(peer: socket.socket) -> None:
    """End TLS as clients expect it; without that they take an end for a loss."""
    if isinstance(peer, ssl.SSLSocket):
        with suppress(OSError, ValueError):
            peer.settimeout(_GOODBYE_S)
            peer.unwrap()
