"""``palimpsest`` and ``python`` whose modules are loaded already, for tests that run many commands.

Tests that start a Python program of their own take ``warm_python`` instead, see there.

    sh --> warm_command.py --arguments, environment, files 0 to 2--> this server --fork--> command

Each command is a process of its own, with its own arguments, environment, folder and files, and
ends as it would otherwise; only the start of Python and the loading of modules are not repeated,
which take longer than most commands. Nothing is run in the server: it loads modules and forks.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

_SOCKET = "socket"
_CLIENT = Path(__file__).with_name("warm_command.py")
_MODULES = (
    "gateway.cli",
    "gateway.commands.connecting",
    "gateway.commands.entity_lineage",
    "gateway.commands.failure",
    "gateway.commands.privacy",
    "gateway.commands.progress",
    "gateway.commands.queried_people",
    "gateway.commands.query",
    "gateway.dbapi.connection",
    "gateway.dbapi.cursor",
    "gateway.governance.entity_scheduling",
    "gateway.jobs.runs",
    "gateway.lineage.questions",
    "gateway.opening.folders",
    "gateway.opening.open_warehouse",
    "gateway.privacy_desk.running",
    "gateway.procedures.erasing",
    "gateway.procedures.procedures",
    "gateway.procedures.view_refresh",
    "gateway.shell.prompt",
    "gateway.shell.result",
    "journal.erasure.audit_check",
    "journal.erasure.package",
    "pandas",
    "psycopg",
    "pyarrow.dataset",
    "pyarrow.pandas_compat",
    "pytz",
    "rewriter.own.create_macro",
    "rewriter.own.create_policy",
    "rewriter.own.create_schema",
    "rewriter.own.create_sequence",
    "rewriter.own.create_type",
    "spark_compaction.backends.embedded.programs",
    "spark_compaction.erasure.program",
    "ssl",
)
"""What a sixth of the commands loads, and the shell; what fewer load, they load themselves."""


@contextlib.contextmanager
def running(environment: dict[str, str]) -> Iterator[Path]:
    """A server for the block; the folder that goes before others in PATH.

    ``environment`` is the one in which the modules are loaded.
    """
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-warm-"))
    try:
        for name in ("palimpsest", "python", "warm-python"):
            made = folder / name
            made.write_text(f"#!{sys.executable} -ISE\n{_CLIENT.read_text(encoding='utf-8')}")
            made.chmod(0o755)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / _SOCKET))
            listening.listen(64)
            command = [sys.executable, "-m", "tests.support.warm_commands"]
            with subprocess.Popen(
                [*command, str(listening.fileno())],
                env=environment,
                pass_fds=[listening.fileno()],
                stdin=subprocess.PIPE,
            ) as server:
                # Who asks a server that has ended is refused, and does not wait.
                listening.close()
                yield folder
                assert server.stdin is not None
                server.stdin.close()
    finally:
        shutil.rmtree(folder)


def main(listening: socket.socket) -> NoReturn:
    """Serve until standard input is closed; then end the commands that still run, and this one."""
    for name in _MODULES:
        importlib.import_module(name)
    gc.freeze()
    running: dict[int, socket.socket] = {}
    signal.signal(signal.SIGCHLD, lambda *_: None)
    woken, waking = socket.socketpair()
    for end in (woken, waking):
        end.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    with selectors.DefaultSelector() as ready:
        for source in (listening, woken, sys.stdin):
            ready.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                source = key.fileobj
                if source is sys.stdin:
                    for pid in running:
                        os.kill(pid, signal.SIGKILL)
                    # DuckDB's module would list all objects that live until a process ends.
                    os._exit(0)
                if source is listening:
                    _take(listening.accept()[0], running, ready)
                elif source is woken:
                    woken.recv(4096)
                    _bury(running, ready)
                elif isinstance(source, socket.socket):
                    _end_abandoned(source, running, ready)


def _take(
    client: socket.socket, running: dict[int, socket.socket], ready: selectors.BaseSelector
) -> None:
    request, files = _received(client)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ready.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
        _become(request)
    for file in files:
        os.close(file)
    with contextlib.suppress(BrokenPipeError):
        client.sendall(b"%d\n" % pid)
    running[pid] = client
    ready.register(client, selectors.EVENT_READ)


def _received(client: socket.socket) -> tuple[dict[str, object], list[int]]:
    """A request and its three files."""
    text, files, _, _ = socket.recv_fds(client, 65536, 3)
    while not text.endswith(b"\n"):
        text += client.recv(65536)
    return json.loads(text), files


def _become(request: dict[str, object]) -> NoReturn:
    """Run the command in this process, which was forked for it."""
    words, environment = request["words"], request["environment"]
    assert isinstance(words, list)
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(request["folder"]))
    time.tzset()
    if os.isatty(0):
        # Its Ctrl-C, and the size of its lines, are those of this terminal.
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # What was read and is yet to be written belongs to the server.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    if environment.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(line_buffering=True)
    sys.argv = words
    if request["program"] == "python":
        sys.argv = words[1:]
        sys.path[0] = str(Path(words[1]).resolve().parent)
        runpy.run_path(words[1], run_name="__main__")
    elif request["program"] == "warm-python":
        _run_words(words[1:])
    else:
        from gateway.cli import run

        run()
    sys.exit(0)


def _run_words(words: list[str]) -> None:
    """Do what Python does when it is given a module or a program in words."""
    sys.path[0] = str(Path.cwd())
    option, what, *arguments = words
    if option == "-m":
        sys.argv = [what, *arguments]
        # One that is loaded already would be warned of.
        sys.modules.pop(what, None)
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv = ["-c", *arguments]
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(what, "<string>", "exec"), vars(program))  # noqa: S102


def _bury(running: dict[int, socket.socket], ready: selectors.BaseSelector) -> None:
    """Tell clients how their commands ended."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        client = running.pop(pid)
        with contextlib.suppress(KeyError):  # Who was killed is registered no more.
            ready.unregister(client)
        with contextlib.suppress(OSError), client:
            client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _end_abandoned(
    client: socket.socket, running: dict[int, socket.socket], ready: selectors.BaseSelector
) -> None:
    """Kill a command whose client was killed."""
    with contextlib.suppress(ConnectionResetError):
        if client.recv(1):
            return
    ready.unregister(client)
    for pid, other in running.items():
        if other is client:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
