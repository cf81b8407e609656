"""The product as an engine behind its PostgreSQL server: each session is a client of psycopg.

Statements with parameters are prepared from the first time on, and run again as such.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.support.gateway_engine import GatewayEngine
from tests.support.postgres_oracle import PlainSession
from tests.support.served import serving


class WireEngine(GatewayEngine):
    """A warehouse that a server of this process serves."""

    def __init__(self, warehouse: Path | str) -> None:
        """Serve a warehouse."""
        super().__init__(warehouse, "postgres")
        self._ends = ExitStack()
        place = parse_qs(urlsplit(self._ends.enter_context(serving(self.url))).query)
        self._conninfo = f"host={place['host'][0]} port={place['port'][0]} dbname=w user=me"

    def close(self) -> None:
        """End the server."""
        super().close()
        self._ends.close()

    def _opened(self, name: str) -> PlainSession:
        return PlainSession(self._conninfo, prepared_from=0)
