"""Other programs that use a warehouse: Python processes that run what a test tells them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.support.urls import url_of_folder
from tests.support.warm_python import warm_python

_CHILD = """
import json, os, sys
import gateway
from journal.model.errors import PalimpsestError
connection, cursors = None, {}
def answer(value):
    sys.stdout.write(json.dumps(value, default=str) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    what, *given = json.loads(line)
    try:
        if what == "connect":
            connection = gateway.connect(given[0], autocommit=given[1])
            answer([type(connection.client_session).__name__, os.getpid()])
        elif what == "execute":
            cursor = connection.execute(*given)
            rows = None if cursor.description is None else cursor.fetchall()
            answer({"rows": rows, "count": cursor.rowcount})
        elif what == "python":
            found = {}
            exec(given[0], {"connection": connection, "gateway": gateway, "found": found})
            answer(found.get("value"))
        else:
            answer(getattr(connection, what)())
    except gateway.Error as error:
        answer({"error": error.code, "sqlstate": error.sqlstate, "message": str(error)})
"""


class Program:
    """A Python process with a connection to a warehouse; commands go one by one."""

    def __init__(self, root: Path, *, autocommit: bool = True, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [warm_python(), "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )
        self.kind, self.pid = self.ask("connect", url_of_folder(root), autocommit)

    def ask(self, *command: Any) -> Any:
        """What the program answers to a command."""
        self.tell(*command)
        return self.answer()

    def tell(self, *command: Any) -> None:
        """Give a command, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """The next answer."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def rows(self, sql: str, parameters: list[Any] | None = None) -> Any:
        """The rows of a query, as JSON has them; the error where it fails."""
        found = self.ask("execute", sql, parameters)
        return found.get("rows", found)

    def kill(self) -> None:
        """End it as if the machine had."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        """Let it end by itself, as at the end of a script; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
