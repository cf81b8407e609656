"""Apache Hive's own HiveServer2 for tests: fetched by Maven, run by Java, with Tez in its process.

``PALIMPSEST_APACHE_HIVE=1`` asks for it, as it fetches some 400 MB once (into Maven's repository);
``PALIMPSEST_APACHE_HIVE=host:port`` names one that runs already, with NOSASL. A server has a Derby
metastore and a warehouse in a folder of its own, and is stopped by whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from xml.sax.saxutils import escape

import pytest

from tests.support.postgres import free_port
from tests.support.thrift_server import REQUIRED, Missing, ThriftServer
from tests.support.tied import end_with, run_of_tests

ASKED = "PALIMPSEST_APACHE_HIVE"
_POM = Path(__file__).with_name("pom.xml")
_FETCH_S, _START_S = 1200.0, 300.0
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:2.8:build-classpath"
_PACKAGES = (
    *("lang", "lang.reflect", "util", "util.concurrent", "util.concurrent.atomic", "util.regex"),
    *("net", "nio", "io", "time", "text"),
)
_LOG = """status=error
appender.c.type=Console
appender.c.name=c
appender.c.target=SYSTEM_ERR
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %c{2}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.c.ref=c
"""
_SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.server2.enable.doAs": "false",
    "hive.server2.authentication": "NOSASL",
    "hive.server2.thrift.bind.host": "127.0.0.1",
    "hive.server2.webui.port": "0",
    "hive.server2.logging.operation.enabled": "false",
    "hive.server2.tez.initialize.default.sessions": "false",
    "hive.server2.materializedviews.registry.impl": "DUMMY",
    "hive.notification.event.poll.interval": "0s",
    "hive.execution.engine": "tez",
    "hive.stats.autogather": "false",
    "tez.local.mode": "true",
    "tez.runtime.optimize.local.fetch": "true",
    "tez.ignore.lib.uris": "true",
    # Statements that join many partitions count more than Tez allows by itself.
    "tez.counters.max": "1000",
    "fs.defaultFS": "file:///",
}


def _class_path(folder: Path) -> str:
    """Everything the server needs; raises Missing where it cannot be fetched."""
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("there is no mvn: apt install maven")
    told = folder / "class-path.txt"
    options = ["-q", "-B", "-f", str(_POM), "-DincludeScope=runtime"]
    command = [maven, *options, _GOAL, f"-Dmdep.outputFile={told}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_S)
    except subprocess.TimeoutExpired as error:
        raise Missing(f"Maven was not done after {_FETCH_S:.0f} s") from error
    if done.returncode or not told.exists():
        raise Missing(f"Maven cannot fetch it: {done.stdout.strip()[:300]}")
    return told.read_text().strip()


@dataclass
class ApacheHive(ThriftServer):
    """Apache Hive's own server, or one that was; ``conf`` is that of Hadoop."""

    class_path: str = ""

    def launch(self) -> None:
        """Start it; also after it was stopped or killed."""
        folder, found = self.folder, self.class_path
        self._configure()
        opens = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _PACKAGES]
        opens += [f"--add-opens=java.base/sun.{n}=ALL-UNNAMED" for n in ("nio.ch", "util.calendar")]
        options = ["-Xmx1g", "-XX:+UseSerialGC", f"-Dderby.stream.error.file={folder}/derby.log"]
        options += [
            f"-Dlog4j.configurationFile={folder}/hive-log4j2.properties",
            *self.java.split(),
        ]
        main = ["-cp", f"{folder}:{found}", "org.apache.hive.service.server.HiveServer2"]
        with (folder / "server.log").open("ab") as log:
            started = subprocess.Popen(
                ["java", *opens, *options, *main],
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.pid = started.pid
        end_with(run_of_tests(), self.pid, "KILL", whole_group=True)
        deadline = time.monotonic() + _START_S
        while not self.answers():
            if time.monotonic() > deadline or started.poll() is not None:
                said = (folder / "server.log").read_text()[-300:]
                raise Missing(f"the server does not start: {said}")
            time.sleep(0.5)
        started.returncode = 0

    def _configure(self) -> None:
        folder = self.folder
        place = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/s;create=true",
            "hive.server2.thrift.port": str(self.port),
            "hive.metastore.warehouse.dir": f"{folder}/warehouse",
            "hive.metastore.warehouse.external.dir": f"{folder}/external",
            "hive.exec.scratchdir": f"{folder}/scratch",
            "hive.exec.local.scratchdir": f"{folder}/local",
            "hive.downloaded.resources.dir": f"{folder}/resources",
            "hive.querylog.location": f"{folder}/querylog",
            "tez.staging-dir": f"{folder}/tez",
        }
        hive = _SETTINGS | place | dict(self.settings)
        for name, told in (("hive-site.xml", hive), ("core-site.xml", self.conf)):
            lines = [
                f"<property><name>{key}</name><value>{escape(value)}</value></property>"
                for key, value in told.items()
            ]
            text = "\n".join(("<configuration>", *lines, "</configuration>"))
            (folder / name).write_text(text)
        (folder / "hive-log4j2.properties").write_text(_LOG)


def start(
    settings: Mapping[str, str] = MappingProxyType({}),
    conf: Mapping[str, str] = MappingProxyType({}),
    java: str = "",
) -> ApacheHive:
    """Start a server; raises Missing where that cannot be."""
    if shutil.which("java") is None:
        raise Missing("there is no java")
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-apache-hive-"))
    server = ApacheHive(folder, free_port(), settings=settings, conf=conf, java=java)
    try:
        server.class_path = _class_path(folder)
        server.launch()
    except BaseException:
        server.remove()
        raise
    return server


def _asked() -> str:
    """What the environment asks for; skips the test if that is nothing."""
    asked = os.environ.get(ASKED)
    if not asked:
        pytest.skip(f"Apache Hive was not asked for: {ASKED}=1 fetches some 400 MB with Maven")
    return asked


@contextlib.contextmanager
def own(
    settings: Mapping[str, str] = MappingProxyType({}),
    conf: Mapping[str, str] = MappingProxyType({}),
    java: str = "",
) -> Iterator[ApacheHive]:
    """A server that a test may stop, where one is asked for and can be had; else skips."""
    _asked()
    try:
        server = start(settings, conf, java)
    except Missing as reason:
        if os.environ.get(REQUIRED):
            raise
        pytest.skip(f"no Apache Hive here: {reason}")
    try:
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def running() -> Iterator[ThriftServer]:
    """A server, where it is asked for and can be had; else skips, with the reason."""
    host, _, port = _asked().partition(":")
    if port:
        yield ThriftServer(Path(tempfile.gettempdir()), int(port), host)
        return
    with own() as server:
        yield server
