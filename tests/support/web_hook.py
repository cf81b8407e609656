"""A listener of HTTP of this process that keeps the JSON it is sent, and may refuse it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class WebHook:
    """Where it listens, what came, and with which status it answers."""

    port: int
    status: int = 200
    taken: list[Any] = field(default_factory=list)
    sent: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    """The headers and bytes of each."""
    location: str | None = None
    """Where an answer sends whoever asks."""

    @property
    def url(self) -> str:
        """Apprise's URL of it."""
        return f"json://127.0.0.1:{self.port}/hook"


@contextmanager
def web_hook() -> Iterator[WebHook]:
    """Listen inside the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.sent.append((dict(self.headers), body))
            if found.status == 200:
                found.taken.append(json.loads(body))
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            if found.location is not None:
                self.send_header("Location", found.location)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = WebHook(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
