"""The HTTP port of a server: a few threads, each for one short request."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler
from socket import socket
from typing import Any

from gateway.servers.http.answers import OperatorPages
from gateway.servers.http.bounded_server import BoundedHttpServer

_REQUEST_S = 5.0
_AT_ONCE = 16
"""How many requests are answered at a time; the next one takes the place of a slow client."""


class OperatorServer:
    """Answers requests on a socket that listens already, until ``close``."""

    def __init__(self, listener: socket, pages: OperatorPages) -> None:
        self._server = _Server(listener, pages)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="palimpsest-http", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(BoundedHttpServer):
    def __init__(self, listener: socket, pages: OperatorPages) -> None:
        super().__init__(listener, _Handler, _AT_ONCE)
        self.pages = pages


class _Handler(BaseHTTPRequestHandler):
    timeout = _REQUEST_S
    server: _Server
    server_version = "palimpsest"
    sys_version = ""

    def do_GET(self) -> None:
        self.server.begin_answer(self.connection)
        headers = {name.lower(): value for name, value in reversed(self.headers.items())}
        found = self.server.pages.answer(self.command, self.path, headers)
        self.send_response(found.status)
        for name, value in found.headers:
            self.send_header(name, value)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(found.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Probes come every second; nobody reads of each."""
