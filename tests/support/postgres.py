"""A PostgreSQL server for tests: its own cluster in a temporary folder, stopped at the end.

Debian's binaries are used where they are found. The server refuses to run as root, so a root user's
tests start it as another account. Nothing outside the folder is touched. With the environment
variable ``PALIMPSEST_POSTGRES`` it is of another version, see ``postgres_versions``; with
``PALIMPSEST_GREENPLUM`` the tests run on a server that stands already, see ``greenplum``.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.support import postgres_versions
from tests.support.tied import end_with

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_ACCOUNTS = ("postgres", "nobody")
_START_S = 60.0
_SETTINGS = {
    "max_connections": "100",
    "log_min_messages": "warning",
    "shared_buffers": "128MB",
    # It visits each database of a run again and again, and takes more time than their tests.
    "autovacuum": "off",
}


class Missing(Exception):
    """Why no server can be had here."""


def binaries() -> Path:
    """The folder of initdb and postgres."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    for pattern in _PLACES:
        places = sorted(Path("/").glob(pattern[1:]))
        if places:
            return places[-1]
    raise Missing("PostgreSQL is not installed (on Debian: apt-get install postgresql)")


def _programs(version: str | None, folder: Path) -> Path:
    """Where the programs of a version are, or of the one that is installed."""
    if version is None:
        return binaries()
    try:
        return postgres_versions.fetch(version, folder)
    except postgres_versions.Unfetched as reason:
        raise Missing(str(reason)) from reason


def _account() -> str | None:
    """Who runs the server: another account where we are root."""
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    raise Missing("the server refuses to run as root, and there is no other account")


def _children(pid: int) -> list[int]:
    """The processes that a process has started."""
    place = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in place.read_text().split()] if place.exists() else []


def _is_dead(pid: int) -> bool:
    """True for a process that only waits to be buried, and for one that is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill_family(pid: int) -> None:
    """Kill a server and all it has started, as nobody could stop them: with signal 9."""
    family = [pid, *_children(pid)]
    for member in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)
    deadline = time.monotonic() + _START_S
    while not all(_is_dead(member) for member in family):
        assert time.monotonic() < deadline, "processes of the server outlive a kill"
        time.sleep(0.01)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Cluster:
    """A running server."""

    folder: Path
    port: int
    account: str | None
    bin: Path
    listens: str = "127.0.0.1"
    waits_for_disk: bool = False
    """Whether a commit is on disk before it is acknowledged, as with other servers."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What the server is told besides, or instead of what others are."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _databases: int = 0

    @staticmethod
    def start(
        place: Path | None = None,
        version: str | None = None,
        *,
        waits_for_disk: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> Cluster:
        """Make a cluster of a version, in a folder or in one of its own, and start it.

        Raises Missing where that cannot be.
        """
        version = version or postgres_versions.asked()
        folder = place or Path(tempfile.mkdtemp(prefix="palimpsest-pg-"))
        cluster = Cluster(folder, free_port(), None, folder, waits_for_disk=waits_for_disk)
        cluster.settings = settings or {}
        try:
            cluster.account = _account()
            cluster.bin = _programs(version, folder)
            if cluster.account is not None:
                shutil.chown(folder, cluster.account)
            cluster._run("initdb", "-D", "data", "-U", "tester", "-A", "trust", "-E", "UTF8",
                         "--lc-collate=C", "--lc-ctype=C.UTF-8", "-N")  # fmt: skip
            cluster.launch()
        except BaseException:
            cluster.remove()
            raise
        return cluster

    def _run(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.bin / command), *arguments],
            cwd=self.folder,
            user=self.account,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise Missing(f"{command} failed: {done.stderr.strip()[-300:]}")

    def launch(self) -> None:
        """Start the server; also after it was stopped or killed."""
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": "."}
        settings["listen_addresses"] = self.listens
        settings["fsync"] = "on" if self.waits_for_disk else "off"
        settings |= self.settings
        options = [part for k, v in settings.items() for part in ("-c", f"{k}={v}")]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self.bin / "postgres"), "-D", "data", *options],
                cwd=self.folder,
                user=self.account,
                stdout=log,
                stderr=log,
            )
        end_with(os.getpid(), self._process.pid, "QUIT")
        deadline = time.monotonic() + _START_S
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.conninfo("postgres")).close()
                return
            if time.monotonic() > deadline or self._process.poll() is not None:
                said = (self.folder / "server.log").read_text()[-300:]
                raise Missing(f"the server does not start: {said}")
            time.sleep(0.05)

    def listen(self, address: str) -> None:
        """Start anew, for whoever comes to another address of this machine, too."""
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {address}/24 trust\n")
        self.stop()
        self.listens = f"127.0.0.1,{address}"
        self.launch()

    def stop(self, *, how: str = "fast") -> None:
        """Stop the server: ``fast`` politely, ``immediate`` as a crash would."""
        if self._process is not None and self._process.poll() is None:
            number = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[how]
            self._process.send_signal(number)
            self._process.wait(timeout=60)
        self._process = None

    @property
    def parts(self) -> Sequence[str]:
        """What can be killed by itself."""
        return ("server",)

    def kill(self, part: str = "server") -> None:
        """Kill a part, as ``kill_family`` does."""
        assert self._process is not None
        kill_family(self._process.pid)
        self._process.wait(timeout=60)
        self._process = None

    @property
    def process_id(self) -> int:
        """The process that all others of the server are children of."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once the server has ended."""
        return self._process is not None and self._process.poll() is None

    def require_ownership(self) -> None:
        """Skip the test if the server is not the tests' own, to be changed and looked into."""

    def require_control(self) -> None:
        """Skip the test if the server may not be stopped, killed and launched."""

    def mortal(self) -> Cluster:
        """A server to be killed: one of the test's own, which the test removes."""
        return Cluster.start()

    def remove(self) -> None:
        """Stop it and remove everything."""
        self.stop(how="immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def conninfo(self, database: str) -> str:
        """The client library's URL of a database."""
        return f"postgresql://tester@127.0.0.1:{self.port}/{database}"

    def database(self, *, template: str = "template1") -> str:
        """A new database: its name. It is empty, or a copy of another that nobody has open."""
        self._databases += 1
        name = f"test_{os.getpid()}_{self._databases}_{int(time.time() * 1e6)}"
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as admin:
            # Files are copied in half the time that it takes to log each of their pages.
            copied = " STRATEGY FILE_COPY" if admin.info.server_version >= 150_000 else ""
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}{copied}")
        return name

    def url(self, database: str) -> str:
        """The gateway's URL of a database."""
        return f"palimpsest+{self.conninfo(database)}"


@contextlib.contextmanager
def running(version: str | None = None) -> Iterator[Cluster]:
    """A cluster for a while; skips the test, with the reason, where none can be had."""
    from tests.support.greenplum import given

    try:
        cluster = Cluster.start(version=version) if version else given() or Cluster.start()
    except Missing as reason:
        if os.environ.get("PALIMPSEST_REQUIRE_POSTGRES"):
            raise
        pytest.skip(f"no PostgreSQL here: {reason}")
    try:
        yield cluster
    finally:
        cluster.remove()
