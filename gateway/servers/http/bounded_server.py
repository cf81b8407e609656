"""An HTTP server that answers so many requests at a time; who dawdles makes room for others."""

from __future__ import annotations

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any

_ROOM_S = 1.0
"""How long a connection waits for the room that another one makes."""


class BoundedHttpServer(ThreadingHTTPServer):
    """Answers on a socket that listens already, by a thread for each connection.

    Where ``at_once`` connections are there already, the one that has waited longest without sending
    a whole request is closed for the next. A handler says ``begin_answer`` when it has a request.
    """

    daemon_threads = True

    def __init__(
        self, listener: socket, handler: type[BaseHTTPRequestHandler], at_once: int
    ) -> None:
        super().__init__(listener.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._free = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._unheard: dict[Any, None] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection, or close it where all that are there are being answered."""
        if not self._free.acquire(blocking=False):
            self._close_slowest()
            if not self._free.acquire(timeout=_ROOM_S):
                self.shutdown_request(request)
                return
        with self._lock:
            self._unheard[request] = None
        super().process_request(request, client_address)

    def begin_answer(self, request: Any) -> None:
        """A connection has sent its request, and is closed for no other one."""
        with self._lock:
            self._unheard.pop(request, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.begin_answer(request)
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or speaks no HTTP, is no event."""

    def _close_slowest(self) -> None:
        with self._lock:
            slowest = next(iter(self._unheard), None)
            if slowest is not None:
                del self._unheard[slowest]
                # Its thread reads an end, and goes.
                with suppress(OSError):
                    slowest.shutdown(SHUT_RDWR)
