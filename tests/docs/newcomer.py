"""A newcomer's machine: an empty folder, a clean environment, the servers that a text speaks of.

What a text says is run as it stands, but for one address: ``localhost:10000`` stands for the Thrift
Server of the test run. PostgreSQL's client library finds its server by PGHOST and PGPORT, S3's by
AWS_ENDPOINT_URL. It looks at no output; that is for the tests.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import postgres, s3, thrift_server
from tests.support.clean_environment import clean_environment
from tests.support.pages import Block
from tests.support.spark import why_no_spark

THRIFT = "localhost:10000"
BUCKETS = ("lake", "vault")
_PROGRAMS = {"sh": ". {}", "sql": "palimpsest query -f {}", "python": "python {}"}


@dataclass
class Surroundings:
    """Where blocks run, one after the other; what one of them exports holds for those after it."""

    folder: Path
    environment: dict[str, str]
    thrift: str = THRIFT
    blocks: int = 0

    def run(self, block: Block) -> subprocess.CompletedProcess[str]:
        """Run a block as written."""
        self.blocks += 1
        beside = self.folder.parent / "blocks"
        beside.mkdir(exist_ok=True)
        exported = beside / "exported"
        exported.touch()
        code = beside / f"block{self.blocks}.{block.language}"
        code.write_text(block.code.replace(THRIFT, self.thrift), encoding="utf-8")
        steps = [f". {exported}", _PROGRAMS[block.language].format(code), f"export -p > {exported}"]
        return subprocess.run(
            ["sh", "-eu", "-c", "\n".join(steps)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=280,
        )


@contextlib.contextmanager
def surroundings(text: str, folder: Path, run: Path, commands: Path) -> Iterator[Surroundings]:
    """What ``text`` needs; ``run`` is the folder of the test run. Skips what cannot be had.

    ``commands`` goes before all other folders of PATH.
    """
    with contextlib.ExitStack() as servers:
        home = folder / "home"
        empty = folder / "empty"
        home.mkdir()
        empty.mkdir()
        found = Surroundings(empty, clean_environment(home))
        if "job_engine = 'spark'" in text or "--engine spark" in text:
            reason = why_no_spark()
            if reason is not None:
                pytest.skip(reason)
        if "+postgresql:" in text:
            found.environment |= servers.enter_context(_postgres())
        if "+hive:" in text:
            found.thrift = servers.enter_context(_thrift(run))
        if "s3:" in text:
            found.environment |= servers.enter_context(_s3())
        found.environment["PATH"] = f"{commands}{os.pathsep}{found.environment['PATH']}"
        yield found


@contextlib.contextmanager
def _postgres() -> Iterator[dict[str, str]]:
    """A server of its own, as pages name their databases and roles alike."""
    with postgres.running() as cluster:
        cluster.require_ownership()
        path = f"{os.environ['PATH']}{os.pathsep}{cluster.bin}"
        binaries = str(Path(sys.executable).parent)
        yield {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(cluster.port),
            "PGUSER": "tester",
            "PATH": f"{binaries}{os.pathsep}{path}",
        }


@contextlib.contextmanager
def _thrift(run: Path) -> Iterator[str]:
    """The address of the shared server. One page at a time, as all of them make a schema ``hr``."""
    with thrift_server.shared(run) as server, (run / "thrift-server.pages").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _without_hr(server):
            yield f"localhost:{server.port}"


@contextlib.contextmanager
def _without_hr(server: thrift_server.ThriftServer) -> Iterator[None]:
    from pyhive import hive

    def ask(statement: str) -> list[tuple[str]]:
        with contextlib.closing(hive.connect(server.host, server.port, auth="NOSASL")) as client:
            cursor = client.cursor()
            cursor.execute(statement)
            return list(cursor.fetchall()) if statement.startswith("SHOW") else []

    if ask("SHOW DATABASES LIKE 'hr'"):
        pytest.skip("the server has a database hr, which pages make")
    try:
        yield
    finally:
        ask("DROP DATABASE IF EXISTS hr CASCADE")


@contextlib.contextmanager
def _s3() -> Iterator[dict[str, str]]:
    """A server with the buckets of the pages, and a key that it accepts."""
    with s3.running() as server:
        with contextlib.closing(server.client()) as client:
            for bucket in BUCKETS:
                client.create_bucket(Bucket=bucket)
        yield {
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ACCESS_KEY_ID": server.key,
            "AWS_SECRET_ACCESS_KEY": server.secret,
            "AWS_DEFAULT_REGION": "us-east-1",
        }
