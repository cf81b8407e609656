"""An HTTP server that answers so many requests at a time, and closes what is more."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any


class BoundedHttpServer(ThreadingHTTPServer):
    """Answers on a socket that listens already, by a thread for each connection."""

    daemon_threads = True

    def __init__(
        self, listener: socket, handler: type[BaseHTTPRequestHandler], at_once: int
    ) -> None:
        super().__init__(listener.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._free = threading.BoundedSemaphore(at_once)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection, or close it where too many are being answered."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or speaks no HTTP, is no event."""
