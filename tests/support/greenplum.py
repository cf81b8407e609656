"""A Greenplum server that stands already, for the tests that otherwise start PostgreSQL themselves.

``PALIMPSEST_GREENPLUM=postgresql://user@host:port/postgres`` names its coordinator; the user may
create databases. They get names of the tests' own and are dropped at the end; the server is never
stopped, so tests that have to stop theirs are skipped, with that as the reason.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.postgres import Cluster

ASKED = "PALIMPSEST_GREENPLUM"


@dataclass
class Given(Cluster):
    """See the module's head."""

    user: str = ""
    host: str = ""
    _made: list[str] = field(default_factory=list)

    def conninfo(self, database: str) -> str:
        """The client library's URL of a database."""
        return f"postgresql://{self.user}@{self.host}:{self.port}/{database}"

    def database(self, *, template: str = "template1") -> str:
        """A new database: its name."""
        name = super().database(template=template)
        self._made.append(name)
        return name

    def require_ownership(self) -> NoReturn:
        """Skip the test: the server is not to be stopped, and its files are out of reach."""
        pytest.skip(f"the server of {ASKED} is not to be stopped or looked into")

    def remove(self) -> None:
        """Drop the databases."""
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as admin:
            for name in self._made:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    [name],
                )
                with suppress(psycopg.Error):
                    admin.execute(f"DROP DATABASE {name}")


def given() -> Given | None:
    """The server that was asked for; None if none was."""
    asked = os.environ.get(ASKED)
    if not asked:
        return None
    known = conninfo_to_dict(asked)
    host, port = str(known.get("host", "localhost")), int(known.get("port") or 5432)
    return Given(Path(), port, None, Path(), user=str(known.get("user", "")), host=host)
