"""The worker process: a warm Spark session that takes tasks as JSON lines until its owner is gone.

    python -m spark_compaction.engines.worker [--master local[2]] [--conf k=v ..]
        [--connect host:port]
    spark-submit --master .. worker.py --connect host:port

Lines come over a socket to the owner (``--connect``, with the token in PALIMPSEST_WORKER_TOKEN), or
over stdin and stdout. It opens no warehouse. In: ``{"id", "map"|"run", "units"|"task"}``,
``{"cancel": id}``. Out: ``{"ready"}``, ``{"id", "progress": [step, done, total]}``,
``{"id", "result"}``, ``{"id", "error", "trace"}``. It ends at the end of its input, at once.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

from spark_compaction.engines.functions import load_function
from spark_compaction.engines.session import SparkCluster, kill_jvm, open_session

TOKEN = "PALIMPSEST_WORKER_TOKEN"
_TASKS_MAX = 16
_TOLD = ("journal.", "spark_", "OSError", "PermissionError", "FileNotFoundError", "_duckdb.")
"""What errors begin with that say enough: ours, and those of a disk of the executor."""


class Lines:
    """Messages out, one line each, from any thread."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        with self._lock:
            self._out.write(json.dumps(message) + "\n")
            self._out.flush()


class Worker:
    """Runs tasks side by side in threads; Spark queues what its cores cannot take."""

    def __init__(self, spark: Any, lines: Lines) -> None:
        self._spark = spark
        self._lines = lines
        self._running: dict[str, SparkCluster] = {}
        self._lock = threading.Lock()
        self.last_used = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """True when no task runs."""
        with self._lock:
            return not self._running

    def take(self, message: Mapping[str, Any]) -> None:
        """Start a task, or cancel one."""
        self.last_used = time.monotonic()
        if "cancel" in message:
            with self._lock:
                running = self._running.get(message["cancel"])
            if running is not None:
                running.cancel()
            return
        cluster = SparkCluster(self._spark, message["id"])
        with self._lock:
            busy = len(self._running) >= _TASKS_MAX
            if not busy:
                self._running[message["id"]] = cluster
        if busy:
            error = f"more than {_TASKS_MAX} tasks at once"
            self._lines.send({"id": message["id"], "error": error, "trace": ""})
            return
        threading.Thread(target=self._work, args=(cluster, message), daemon=True).start()

    def _work(self, cluster: SparkCluster, message: Mapping[str, Any]) -> None:
        task_id = message["id"]

        def progress(step: str, done: int, total: int) -> None:
            self._lines.send({"id": task_id, "progress": [step, done, total]})

        try:
            cluster.begin(message.get("map") or message["run"])
            if "map" in message:
                result = cluster.map(message["map"], message["units"], progress)
            else:
                result = load_function(message["run"])(cluster, message["task"], progress)
            answer = {"id": task_id, "result": result}
        except Exception as error:  # noqa: BLE001 - whatever a task raises is its answer.
            answer = {"id": task_id, "error": _root(error), "trace": traceback.format_exc()}
        with self._lock:
            del self._running[task_id]
            self.last_used = time.monotonic()
        self._lines.send(answer)


def _root(error: BaseException) -> str:
    """The line that says what went wrong; a Python error of an executor is deep in a JVM trace."""
    text = str(error)
    raised = [line for line in text.splitlines() if line.startswith(_TOLD)]
    known = [line for line in raised if "Error" in line]
    return known[-1] if known else f"{type(error).__name__}: {text[:2000]}"


def _end_when_idle(worker: Worker, idle_s: float) -> None:
    while True:
        time.sleep(min(idle_s, 1.0))
        if worker.is_idle and time.monotonic() - worker.last_used > idle_s:
            _end()


def _take_in(source: IO[str], into: queue.SimpleQueue[str]) -> None:
    """Pass lines on till the owner is gone, which may be while Spark still starts."""
    with suppress(OSError):  # A connection that is reset has ended, too.
        for line in source:
            into.put(line)
    _end()


def _end() -> None:
    """End this process and its JVM at once."""
    if not kill_jvm() and os.getpgrp() == os.getpid():
        # Spark is still starting: its JVM, which is not known yet, is in this process's group.
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _streams(connect: str | None) -> tuple[IO[str], IO[str]]:
    if connect is None:
        out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        # Whatever else writes to stdout must not be taken for a message.
        os.dup2(2, 1)
        return sys.stdin, out
    host, _, port = connect.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    stream = connection.makefile("rw", encoding="utf-8")
    stream.write(os.environ.get(TOKEN, "") + "\n")
    stream.flush()
    return stream, connection.makefile("w", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Take tasks; never returns, for the end of the input ends the process."""
    parser = argparse.ArgumentParser(prog="python -m spark_compaction.engines.worker")
    parser.add_argument("--master", help="Spark master; leave it out under spark-submit")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--connect", metavar="HOST:PORT", help="where the owner listens")
    parser.add_argument("--idle-s", type=float, default=600.0, help="end when idle for so long")
    options = parser.parse_args(arguments)
    source, out = _streams(options.connect)
    lines = Lines(out)
    taken: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_take_in, args=(source, taken), daemon=True).start()
    conf = dict(one.partition("=")[::2] for one in options.conf)
    worker = Worker(open_session(options.master, conf), lines)
    lines.send({"ready": os.getpid()})
    threading.Thread(target=_end_when_idle, args=(worker, options.idle_s), daemon=True).start()
    while True:
        worker.take(json.loads(taken.get()))


if __name__ == "__main__":
    main()
