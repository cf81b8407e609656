"""A standalone Spark cluster on this machine, from the pyspark package: a master and a worker."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.postgres import free_port
from tests.support.thrift_server import spark_home
from tests.support.tied import end_with

_START_S = 120.0


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Run a cluster with two cores in the block; its master's URL. Logs lie in ``folder``."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    web = ["--webui-port", "0"]
    with contextlib.ExitStack() as stack:
        _start(stack, folder, "master.Master", ["--host", "127.0.0.1", "--port", str(port), *web])
        _wait(lambda: _answers(port))
        log = _start(
            *(stack, folder, "worker.Worker"),
            ["--host", "127.0.0.1", "--cores", "2", "--memory", "1g", *web, master],
        )
        _wait(lambda: "Successfully registered" in log.read_text(errors="replace"))
        yield master


def _start(stack: contextlib.ExitStack, folder: Path, name: str, words: list[str]) -> Path:
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words],
            cwd=folder,
            env={**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_WORKER_DIR": str(folder)},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    end_with(os.getpid(), process.pid, "KILL", whole_group=True)
    stack.callback(process.wait)
    stack.callback(os.killpg, process.pid, signal.SIGKILL)
    return log


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _wait(is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_S
    while not is_ready():
        assert time.monotonic() < deadline, "the cluster does not start"
        time.sleep(0.2)
