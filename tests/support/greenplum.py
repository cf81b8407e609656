"""A Greenplum server that stands already, for the tests that otherwise start PostgreSQL themselves.

``PALIMPSEST_GREENPLUM=postgresql://user@host:port/postgres`` names its coordinator; the user may
create databases. They get names of the tests' own and are dropped at the end. With
``PALIMPSEST_GREENPLUM_CONTROL=program`` it is a cluster of this machine that tests may stop and
kill: ``program stop`` stops it at once, ``program start`` starts what of it does not run. Without,
tests that have to stop their server are skipped, with that as the reason.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.postgres import Cluster, kill_family

ASKED = "PALIMPSEST_GREENPLUM"
CONTROL = "PALIMPSEST_GREENPLUM_CONTROL"
_START_S = 120.0


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
        """Skip the test: the server's settings and files are not for tests."""
        pytest.skip(f"the server of {ASKED} is not to be changed or looked into")

    def require_control(self) -> None:
        """Skip the test if no program is named that stops and starts the server."""
        if CONTROL not in os.environ:
            pytest.skip(f"the server of {ASKED} is not to be stopped; {CONTROL} would say how")

    def mortal(self) -> Given:
        """Itself, since there is no other; ``remove`` drops its databases."""
        self.require_control()
        return self

    def stop(self, *, how: str = "immediate") -> None:
        """Stop coordinator and segments; never politely."""
        self._control("stop")

    def launch(self) -> None:
        """Start what does not run, and wait until statements reach all segments."""
        self._control("start")
        deadline = time.monotonic() + _START_S
        while True:
            with suppress(psycopg.OperationalError), self._admin() as admin:
                admin.execute("SELECT count(*) FROM gp_dist_random('gp_id')")
                return
            assert time.monotonic() < deadline, "the cluster does not start"
            time.sleep(0.2)

    def _control(self, what: str) -> None:
        subprocess.run([os.environ[CONTROL], what], check=True, stdout=subprocess.DEVNULL)

    def _admin(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.conninfo("postgres"), autocommit=True)

    @cached_property
    def _folders(self) -> dict[str, Path]:
        """Where the files of coordinator and segments lie; asked while all of them run."""
        with self._admin() as admin:
            found = admin.execute(
                "SELECT content, datadir FROM gp_segment_configuration WHERE role = 'p'"
            ).fetchall()
        return {f"segment {c}" if c != -1 else "coordinator": Path(str(d)) for c, d in found}

    @property
    def parts(self) -> Sequence[str]:
        """Coordinator and segments."""
        return sorted(self._folders)

    def kill(self, part: str = "coordinator") -> None:
        """Kill one of the parts, as ``kill_family`` does."""
        kill_family(int((self._folders[part] / "postmaster.pid").read_text().split()[0]))

    def remove(self) -> None:
        """Drop the databases."""
        with self._admin() as admin:
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
