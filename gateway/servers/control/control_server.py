"""The control port: uvicorn in a thread of its own, on a socket that listens already."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Any

import uvicorn

from gateway.servers.control.app import control_app
from gateway.servers.control.door import ControlDoor
from gateway.servers.tls import ServerTls, TlsFiles

_KEEP_ALIVE_S = 30
_HEAD_BYTES_MAX = 64 << 10
_BACKLOG = 128


class ControlServer:
    """Answers requests until ``close``, which gives those that run what is left of the end."""

    def __init__(self, listener: socket.socket, door: ControlDoor, tls: TlsFiles | None) -> None:
        self._door = door
        self._listener = listener
        more: dict[str, Any] = {}
        if tls is not None:
            context = _context(ServerTls(tls, ("http/1.1",)))
            more["ssl_context_factory"] = lambda _config, _default: context
        config = uvicorn.Config(
            control_app(door),
            lifespan="off",
            loop="asyncio",
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            # Whoever a header says that it came from, it came from its peer.
            proxy_headers=False,
            server_header=False,
            limit_concurrency=door.limits.connections,
            timeout_keep_alive=_KEEP_ALIVE_S,
            h11_max_incomplete_event_size=_HEAD_BYTES_MAX,
            backlog=_BACKLOG,
            **more,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="palimpsest-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more requests; those that run may end within the time that is left."""
        left_s = self._door.ending.left_s
        self._server.config.timeout_graceful_shutdown = max(1, round(left_s))
        self._server.should_exit = True
        self._thread.join(left_s + 5.0)
        self._listener.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])


def _context(tls: ServerTls) -> ssl.SSLContext:
    """A context whose connections get the certificate of now, also after its files changed."""
    first = tls.context()

    def renew(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = tls.context()

    first.sni_callback = renew
    return first
