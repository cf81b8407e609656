"""The shell proper: takes statements and backslash commands, from wherever they come, and answers.

It knows nothing of the terminal's editing (``prompt``); scripts and ``-c`` use it the same way.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

from gateway import errors
from gateway.dbapi.connection import Connection
from gateway.shell import backslash
from gateway.shell.formats import write
from gateway.shell.options import Options, WrongOption
from gateway.shell.render_error import complaint
from gateway.shell.result import ShownResult
from gateway.shell.running import cancellable
from gateway.shell.splitting import SplitStatement, split
from gateway.shell.table import screen_width, style_for
from journal.model.failures import file_error


class Leave(Exception):
    r"""``\q``, or an error while ON_ERROR_STOP is set."""

    def __init__(self, code: int = 0) -> None:
        super().__init__()
        self.code = code


class Shell:
    """One connection, its options, and where its output goes."""

    def __init__(
        self, connection: Connection, *, interactive: bool, out: TextIO | None = None
    ) -> None:
        self.connection = connection
        self.interactive = interactive
        self.options = Options(rows=100 if interactive else 0, stop_on_error=False)
        self.screen: TextIO = out if out is not None else sys.stdout
        self.out: TextIO = self.screen
        self.depth = 0
        self.failures = 0

    def take(self, text: str) -> None:
        """Run one input: a backslash command, or statements and what follows them."""
        stripped = text.strip()
        if stripped.startswith("\\"):
            self.backslash(stripped)
            return
        for piece in split(text, self.connection.session.dialect):
            self.guarded(lambda p=piece: self.statement(p), piece)  # type: ignore[misc]

    def script(self, text: str) -> None:
        """Run a script: statements, with backslash commands on lines of their own between them."""
        pending: list[str] = []
        first = 0
        for number, line in enumerate(text.splitlines()):
            starts = not pending or not "".join(pending).strip()
            if starts and line.lstrip().startswith("\\"):
                self.backslash(line.strip())
                pending = []
                continue
            if not pending:
                first = number
            pending.append(line + "\n")
            joined = "".join(pending)
            if ";" in line and split(joined, self._dialect)[-1:] and self._done(joined):
                self._pieces(joined, first)
                pending = []
        if pending:
            self._pieces("".join(pending), first)

    def _done(self, text: str) -> bool:
        return split(text, self._dialect)[-1].complete

    @property
    def _dialect(self) -> str:
        return self.connection.session.dialect

    def _pieces(self, text: str, first: int) -> None:
        for piece in split(text, self._dialect):
            placed = replace(piece, line=piece.line + first)
            self.guarded(lambda p=placed: self.statement(p), placed)  # type: ignore[misc]

    def guarded(self, action: Callable[[], None], piece: SplitStatement | None = None) -> None:
        """Do something whose errors are shown; with ON_ERROR_STOP they end the script."""
        try:
            action()
            return
        except errors.Error as error:
            self._complain(error, piece)
        except (WrongOption, backslash.WrongCommand) as error:
            self.say(f"{error}", error=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._complain(errors.mapped(file_error(error)), piece)
        except KeyboardInterrupt:
            self.say("cancelled", error=True)
        self.failures += 1
        if self.options.stop_on_error:
            raise Leave(1)

    def statement(self, piece: SplitStatement) -> None:
        """Run one statement and show what it gives."""
        started = time.perf_counter()
        parameters = self._parameters(piece.text)
        cursor = self.connection.cursor()
        try:
            cancellable(self.connection, lambda: cursor.execute(piece.text, parameters))
            self.show(ShownResult.of(cursor, self.connection))
        finally:
            cursor.close()
        if self.options.timing:
            self.say(f"Time: {(time.perf_counter() - started) * 1000:.1f} ms")

    def _parameters(self, text: str) -> dict[str, str] | None:
        if not self.options.variables:
            return None
        with errors.mapping():
            parsed = self.connection.session.parse(text)
        wanted = [p for one in parsed for p in one.parameters if isinstance(p, str)]
        known = self.options.variables
        return {name: known[name] for name in wanted if name in known} if wanted else None

    def show(self, result: ShownResult) -> None:
        """Write a result in the chosen form to where output goes."""
        style = self.options.style(style_for(self.out))
        write(result, self.out, self.options.form, style)
        self.out.flush()

    def show_facts(self, result: ShownResult) -> None:
        """Write what a backslash command found: always a table, on the screen or in the file."""
        style = self.options.style(style_for(self.out))
        if style.expanded == "auto":
            style = replace(style, expanded="off")
        write(result, self.out, "table", style)
        self.out.flush()

    def say(self, text: str, *, error: bool = False) -> None:
        """Tell the person at the shell something."""
        stream = sys.stderr if error else self.screen
        stream.write(text + "\n")
        stream.flush()

    def backslash(self, line: str) -> None:
        """Run a backslash command."""
        self.guarded(lambda: backslash.run(self, line))

    def redirect(self, path: str | None) -> None:
        """Send results to a file, or back to the screen."""
        if self.out is not self.screen:
            self.out.close()
        self.out = self.screen
        if path is not None:
            self.out = open(os.path.expanduser(path), "w", encoding="utf-8")  # noqa: SIM115, PTH111, PTH123

    def close(self) -> None:
        """Let go of an output file."""
        self.redirect(None)

    def _complain(self, error: errors.Error, piece: SplitStatement | None) -> None:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        text, line = (piece.text, piece.line) if piece is not None else ("", 0)
        self.say(complaint(error, text, width=screen_width(), color=color, line=line), error=True)
