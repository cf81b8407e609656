"""The owner's side of a worker: started with the first task, warm for the next, gone with it.

Loads no pyspark. A worker that dies fails the tasks it had and is started anew for the next one.
"""

from __future__ import annotations

import hmac
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import IO, Any

from journal.local_engine.scratch import Scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from spark_compaction.contract import Json, Progress

_START_LIMIT_S = 120.0
_CANCEL_LIMIT_S = 10.0
_TELL_S = 0.5
"""How often ``progress`` is told while the worker says nothing, so that it can stop the task."""
_TAIL_BYTES = 4000
_TOKEN = "PALIMPSEST_WORKER_TOKEN"
_SCRATCH = ("SPARK_LOCAL_DIRS", "TMPDIR")
"""Where Spark spills, and where its Python processes have temporary files."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How the worker is started. With ``submit`` it goes through spark-submit with these words.

    On one machine a unit whose process dies is tried three times, as it is on a cluster.
    """

    master: str = "local[*,3]"
    conf: Mapping[str, str] = field(default_factory=dict)
    submit: tuple[str, ...] = ()
    idle_s: float = 600.0
    host: str = "127.0.0.1"
    shares_files: bool = False
    """Whether other accounts read what it writes, as those of a metastore's tables."""

    @property
    def spills_in(self) -> Path | None:
        """Where a worker on this machine has a folder for what it spills; None is where all do."""
        given = os.environ.get("SPARK_LOCAL_DIRS") or self.conf.get("spark.local.dir")
        return Path(given.split(",")[0]) if given else None

    def command(self, port: int) -> list[str]:
        """The worker's command line."""
        own = ["--connect", f"{self.host}:{port}", "--idle-s", str(self.idle_s)]
        settings = [word for k, v in self.conf.items() for word in ("--conf", f"{k}={v}")]
        if self.submit:
            script = str(Path(__file__).with_name("worker.py"))
            return [*self.submit, "--master", self.master, *settings, script, *own]
        module = [sys.executable, "-m", "spark_compaction.engines.worker"]
        return [*module, "--master", self.master, *settings, *own]


class SparkEngine:
    """An engine whose units run on Spark; safe to use from several threads."""

    def __init__(self, options: SparkOptions | None = None) -> None:
        self._options = options or SparkOptions()
        self._lock = threading.Lock()
        self._process: _Process | None = None

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit on the executors; results in order."""
        found: list[Json] = self._ask({"map": function, "units": list(units)}, progress)
        return found

    def run(self, function: str, task: Mapping[str, Json], progress: Progress) -> Json:
        """``function(cluster, task, progress)`` beside the Spark session."""
        return self._ask({"run": function, "task": dict(task)}, progress)

    @property
    def is_warm(self) -> bool:
        """True while the worker is there, so that nothing waits for its start."""
        process = self._process
        return process is not None and process.is_alive

    def start(self) -> int:
        """Have the worker running; its process id."""
        return self._running().pid

    def close(self) -> None:
        """End the worker at once."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def _ask(self, message: dict[str, Json], progress: Progress) -> Json:
        return self._running().ask(message, progress)

    def _running(self) -> _Process:
        with self._lock:
            if self._process is None or not self._process.is_alive:
                if self._process is not None:
                    self._process.end()
                self._process = _Process(self._options)
            return self._process


def _answer(
    answers: queue.Queue[Mapping[str, Any]], begun: Sequence[Any], progress: Progress
) -> Mapping[str, Any]:
    """The answer to a task; ``progress`` is told what the worker says, and again meanwhile."""
    told = begun
    while True:
        try:
            answer = answers.get(timeout=_TELL_S)
        except queue.Empty:
            progress(*told)
            continue
        if "progress" not in answer:
            return answer
        told = answer["progress"]
        progress(*told)


class _Process:
    """One worker process and the thread that reads its messages."""

    def __init__(self, options: SparkOptions) -> None:
        check_java()
        self._waiting: dict[str, queue.Queue[Mapping[str, Any]]] = {}
        self._lock = threading.Lock()
        self._burial = threading.Lock()
        self._is_buried = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process.
        self._scratch: Scratch | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._stream: IO[str] | None = None
        try:
            stream = self._stream = self._start(options)
            if "ready" not in stream.readline():
                raise self._not_started()
        except BaseException:
            self.kill()
            self._close()
            raise
        self._reader = threading.Thread(
            target=self._read, args=(stream,), name="palimpsest-worker", daemon=True
        )
        self._reader.start()

    def _start(self, options: SparkOptions) -> IO[str]:
        token = secrets.token_hex(16)
        with socket.create_server((options.host, 0)) as server:
            server.settimeout(1.0)
            command = options.command(server.getsockname()[1])
            environment = {**os.environ, _TOKEN: token}
            if not options.submit and options.master.startswith("local"):
                self._scratch = Scratch(options.spills_in)
                environment |= dict.fromkeys(_SCRATCH, str(self._scratch.path))
            if "PYSPARK_PYTHON" not in environment:
                # spark-submit would take the first python3 there is, which may lack what we need.
                environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
            package_root = str(Path(__file__).resolve().parent.parent)
            known = environment.get("PYTHONPATH")
            environment["PYTHONPATH"] = f"{package_root}:{known}" if known else package_root
            try:
                child = subprocess.Popen(  # noqa: S603 - the command is ours, or the operator's.
                    command,
                    stdin=subprocess.PIPE,
                    stdout=self._log,
                    stderr=self._log,
                    env=environment,
                    start_new_session=True,
                    # What it puts aside on this machine is nobody else's; -1 leaves it be.
                    umask=-1 if options.submit or options.shares_files else 0o077,
                )
            except OSError as error:
                raise PalimpsestError(
                    Code.JOB_ENGINE,
                    f"the Spark worker could not be started: {error}",
                    advice="check the command in the settings of jobs",
                ) from error
            self._child = child
            return self._accept(server, token)

    def _accept(self, server: socket.socket, token: str) -> IO[str]:
        """The worker's connection; others that know no token are turned away."""
        for _ in range(int(_START_LIMIT_S)):
            if not self._is_running:
                raise self._not_started()
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(_START_LIMIT_S)
            stream = connection.makefile("rw", encoding="utf-8")
            if hmac.compare_digest(stream.readline().strip(), token):
                # Spark itself takes seconds to start; reading waits for as long as it may.
                connection.settimeout(None)
                # The stream keeps the socket open for as long as it is itself.
                connection.close()
                return stream
            stream.close()
            connection.close()
        raise self._not_started()

    def _not_started(self) -> PalimpsestError:
        return PalimpsestError(
            Code.JOB_ENGINE,
            f"the Spark worker did not start: {self._tail()}",
            advice="check `java -version` (17 or later) and that pyspark is installed",
        )

    def _tail(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _TAIL_BYTES))
        return self._log.read().decode(errors="replace").strip()

    @property
    def pid(self) -> int:
        """The worker's process id."""
        assert self._child is not None
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """False once the process or its connection has ended."""
        return self._is_running and self._reader.is_alive()

    @property
    def _is_running(self) -> bool:
        """Asks without taking leave of it: its number, and its group's, stay its own till then."""
        if self._child is None or self._is_buried:
            return False
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._child.pid, how) is None

    def ask(self, message: dict[str, Json], progress: Progress) -> Json:
        """Send a task and wait for its answer; where ``progress`` raises, the task is stopped."""
        task_id = uuid.uuid4().hex
        answers: queue.Queue[Mapping[str, Any]] = queue.Queue()
        begun = (message.get("map") or message["run"], 0, len(message.get("units", "1")))
        # The worker may just have been started, which takes a while.
        progress(*begun)
        with self._lock:
            self._waiting[task_id] = answers
        try:
            self._send({"id": task_id, **message})
            answer = _answer(answers, begun, progress)
        except PalimpsestError:
            self._stop(task_id, answers)
            raise
        except BaseException:
            # Nobody waits any more (say, Ctrl-C): so nothing may go on writing.
            self.kill()
            raise
        finally:
            with self._lock:
                del self._waiting[task_id]
        if "result" not in answer:
            raise PalimpsestError(
                Code.JOB_FAILED,
                f"the job failed in Spark: {answer['error']}",
                advice="nothing was changed; fix the cause and run it again",
            )
        return answer["result"]

    def _stop(self, task_id: str, answers: queue.Queue[Mapping[str, Any]]) -> None:
        """Cancel a task and wait until it has ended; kill a worker that does not obey soon."""
        limit, has_ended = time.monotonic() + _CANCEL_LIMIT_S, False
        try:
            self._send({"cancel": task_id})
            while not has_ended:
                left_s = max(0.0, limit - time.monotonic())
                has_ended = "progress" not in answers.get(timeout=left_s)
        except queue.Empty:
            pass
        finally:
            if not has_ended:
                self.kill()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._stream is not None
        try:
            with self._lock:
                self._stream.write(json.dumps(message) + "\n")
                self._stream.flush()
        except (OSError, ValueError):
            self._fail_all()

    def _read(self, stream: IO[str]) -> None:
        try:
            for line in stream:
                message = json.loads(line)
                with self._lock:
                    waiting = self._waiting.get(message.get("id", ""))
                if waiting is not None:
                    waiting.put(message)
        except (OSError, ValueError):
            pass
        self._fail_all()
        self._close()

    def _close(self) -> None:
        """Close what leads to a process that is gone."""
        with suppress(OSError):
            if self._stream is not None:
                self._stream.close()
        with suppress(OSError):
            if self._child is not None and self._child.stdin is not None:
                self._child.stdin.close()
        self._log.close()

    def _fail_all(self) -> None:
        """The worker is gone: make sure of it, and tell everyone who waits."""
        self.kill()
        with self._lock:
            for answers in self._waiting.values():
                answers.put({"error": "the worker process ended"})

    def end(self) -> None:
        """Kill the worker and wait until everyone who waited for it was told."""
        self.kill()
        self._reader.join(_CANCEL_LIMIT_S)

    def kill(self) -> None:
        """End the worker's process group; the JVM's executors end with the JVM.

        If the worker itself has been killed, the JVM is still there for a while.
        """
        with self._burial:
            if self._child is None or self._is_buried:
                return
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
            self._is_buried = True
            if self._scratch is not None:
                self._scratch.close()


def check_java() -> None:
    """Raise JOB_ENGINE where no Java is found."""
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise PalimpsestError(
        Code.JOB_ENGINE,
        "Spark needs Java 17 or later, and none was found",
        advice="apt-get install openjdk-17-jre-headless, or set JAVA_HOME",
    )
