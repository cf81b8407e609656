"""A Spark Thrift Server for tests: the one in pyspark, its metastore in a folder of its own.

Starting it takes long, so the workers of one test run share one: whoever needs it first starts it,
whoever ends last stops it. ``PALIMPSEST_THRIFT_SERVER=host:port`` names one that runs already.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.support.postgres import free_port
from tests.support.spark import why_no_spark
from tests.support.tied import end_with, run_of_tests

RUNNING = "PALIMPSEST_THRIFT_SERVER"
REQUIRED = "PALIMPSEST_REQUIRE_HIVE"
OPTIONS = "PALIMPSEST_HIVE_OPTIONS"
"""Options of the URL, as ``inline_commits=on``, with which whole suites run once more."""
_START_S, _STOP_S = 600.0, 60.0
_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_CONF = {
    # Tests ask many small questions: what pays off for long queries only is left out.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.hive.caseSensitiveInferenceMode": "NEVER_INFER",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.enabled": "false",
    # A cancelled statement that was asking the metastore leaves connections of its pool lent for
    # ever; once all eight are, everybody waits. So it gets none: they are cheap within a process.
    "spark.hadoop.datanucleus.connectionPoolingType": "NONE",
    "spark.log.level": "WARN",
}
_SETTINGS = {
    # Each statement goes to a thread of its own until there are so many, and each new thread of
    # theirs opens the metastore anew, which takes longer than most statements.
    "hive.server2.async.exec.threads": "12",
    "hive.server2.async.exec.keepalive.time": "3600s",
}
# With one compiler Java has little room for compiled code, and sweeps it again and again.
_JAVA = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    " -XX:-UseCodeCacheFlushing -XX:MetaspaceSize=256m -Xmn256m -Dderby.system.durability=test"
)


class Missing(Exception):
    """Why no server can be had here."""


@dataclass
class ThriftServer:
    """A running server, or one that was."""

    folder: Path
    port: int
    host: str = "127.0.0.1"
    pid: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of HiveServer2, besides those it always has."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Of Spark, likewise."""
    java: str = ""
    """Options of Java, likewise."""
    memory: str = "1g"
    """The heap, as Java writes it."""
    user: str | None = None
    """Who runs it, if not whoever runs the tests; that takes root."""

    @staticmethod
    def start(
        settings: Mapping[str, str] = MappingProxyType({}),
        user: str | None = None,
        conf: Mapping[str, str] = MappingProxyType({}),
        java: str = "",
        memory: str = "1g",
    ) -> ThriftServer:
        """Start a server; raises Missing where that cannot be."""
        reason = why_no_spark() or _why_no_jar()
        if reason is not None:
            raise Missing(reason)
        folder = Path(tempfile.mkdtemp(prefix="palimpsest-hive-"))
        server = ThriftServer(
            folder,
            free_port(),
            settings=settings,
            conf=conf,
            java=java,
            memory=memory,
            user=user,
        )
        if user is not None:
            shutil.chown(folder, user)
        server.launch()
        return server

    def launch(self) -> None:
        """Start it; also after it was stopped or killed."""
        home = spark_home()
        folder = self.folder
        java = f"{_JAVA} {self.java} -Dderby.system.home={folder}"
        java += f" -Dderby.stream.error.file={folder}/derby.log"
        conf = {
            **_CONF,
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.driver.extraJavaOptions": java,
            "spark.local.dir": f"{folder}/local",
            **self.conf,
        }
        settings = {
            "hive.server2.thrift.port": str(self.port),
            "hive.server2.thrift.bind.host": self.host,
            "hive.server2.authentication": "NOSASL",
            "hive.metastore.warehouse.dir": f"{folder}/warehouse",
            **_SETTINGS,
            **self.settings,
        }
        command = [str(home / "bin" / "spark-submit"), "--class", _CLASS, "--master", "local[2]"]
        command += ["--driver-memory", self.memory]
        command += [part for k, v in conf.items() for part in ("--conf", f"{k}={v}")]
        command += [part for k, v in settings.items() for part in ("--hiveconf", f"{k}={v}")]
        with (folder / "server.log").open("ab") as log:
            started = subprocess.Popen(
                [*command, "spark-internal"],
                cwd=folder,
                env={**os.environ, "SPARK_HOME": str(home)},
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.user,
            )
        self.pid = started.pid
        end_with(run_of_tests(), self.pid, "KILL", whole_group=True)
        deadline = time.monotonic() + _START_S
        while not self.answers():
            if time.monotonic() > deadline or started.poll() is not None:
                said = (folder / "server.log").read_text()[-300:]
                raise Missing(f"the server does not start: {said}")
            time.sleep(0.2)
        # It is waited for by whoever stops it, which may be another process.
        started.returncode = 0

    def answers(self) -> bool:
        """True when the server takes connections."""
        with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), 1):
            return True
        return False

    def stop(self, *, how: signal.Signals = signal.SIGKILL) -> None:
        """Stop the server as a crash would, or politely with SIGTERM."""
        pid, self.pid = self.pid, None
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, how)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        deadline = time.monotonic() + _STOP_S
        while self.answers() and time.monotonic() < deadline:
            time.sleep(0.05)

    def remove(self) -> None:
        """Stop it and remove everything."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, prefix: str, catalog: Path | str, **options: str) -> str:
        """The gateway's URL of a store of its own on this server."""
        where = catalog if isinstance(catalog, str) else f"sqlite:///{catalog}"
        # A cold server on a busy machine takes long over its first session.
        told = {"auth": "NOSASL", "prefix": prefix, "catalog": where, "connect_timeout": "120"}
        told |= options
        query = "&".join(f"{k}={v}" for k, v in told.items())
        return f"palimpsest+hive://tester@{self.host}:{self.port}/default?{query}"

    def new_store(self, folder: Path, **options: str) -> str:
        """The URL of a new, empty store with its catalog in a folder; without views for others.

        Whether partitions are there is asked once, as nobody takes them away but tests of that.
        """
        name = f"p{uuid.uuid4().hex[:8]}_"
        suite = dict(parse_qsl(os.environ.get(OPTIONS, "")))
        told = {"views": "off", "presence": "3600", **suite, **options}
        return self.url(name, folder / f"{name}catalog.db", **told)


def spark_home() -> Path:
    """Where the pyspark package keeps Spark."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _why_no_jar() -> str | None:
    if importlib.util.find_spec("pyhive") is None:
        return "pyhive is not installed: pip install 'palimpsest-gateway[hive]'"
    if not list((spark_home() / "jars").glob("spark-hive-thriftserver_*.jar")):
        return "this pyspark has no Thrift Server"
    return None


@contextlib.contextmanager
def own(
    settings: Mapping[str, str] = MappingProxyType({}),
    user: str | None = None,
    conf: Mapping[str, str] = MappingProxyType({}),
    java: str = "",
    memory: str = "1g",
) -> Iterator[ThriftServer]:
    """A server that a test may stop, as the shared one has other users. Skips where none is."""
    try:
        server = ThriftServer.start(settings, user, conf, java, memory)
    except Missing as reason:
        if os.environ.get(REQUIRED):
            raise
        pytest.skip(f"no Spark Thrift Server here: {reason}")
    try:
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def shared(folder: Path) -> Iterator[ThriftServer]:
    """The server of a test run; ``folder`` is the run's own. Skips where none can be had."""
    running = os.environ.get(RUNNING)
    if running:
        host, _, port = running.partition(":")
        yield ThriftServer(folder, int(port), host)
        return
    place = folder / "thrift-server.json"
    with _locked(folder):
        try:
            told = json.loads(place.read_text()) if place.exists() else _started()
        except Missing as reason:
            if os.environ.get(REQUIRED):
                raise
            pytest.skip(f"no Spark Thrift Server here: {reason}")
        told["users"] += 1
        place.write_text(json.dumps(told))
    server = ThriftServer(Path(told["folder"]), told["port"], pid=told["pid"])
    try:
        yield server
    finally:
        with _locked(folder):
            told = json.loads(place.read_text())
            told["users"] -= 1
            place.write_text(json.dumps(told))
            if told["users"] == 0:
                place.unlink()
                server.remove()


def _started() -> dict[str, Any]:
    server = ThriftServer.start()
    return {"folder": str(server.folder), "port": server.port, "pid": server.pid, "users": 0}


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "thrift-server.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
