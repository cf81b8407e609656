"""A server of this process on a warehouse, at a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.server import PostgresServer, unix_listener
from gateway.session.session import Session
from journal.model.access import Role

_PORT = 5433


@contextmanager
def serving(url: str) -> Iterator[str]:
    """Serve the warehouse of a URL to this user; the URL of the server."""
    opened = WAREHOUSES.acquire(url)

    def session(
        user: str | None, application: str | None, _given: Mapping[str, str], _role: Role | None
    ) -> Session:
        settings = Settings().with_setting("application", application)
        return opened.session(settings, dialect="postgres", autocommit=True, user=user)

    server = PostgresServer(session, ServerLimits(), Admission(os.getuid()), Ending(0.0))
    # Paths of sockets have to be short, and those of tests are not.
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    try:
        server.listen(unix_listener(folder, _PORT))
        yield f"palimpsest://?host={quote(str(folder))}&port={_PORT}"
    finally:
        server.close()
        WAREHOUSES.release(opened)
        shutil.rmtree(folder)
