"""The shell proper: takes statements and backslash commands, from wherever they come, and answers.

It knows nothing of the terminal's editing (``prompt``); scripts and ``-c`` use it the same way.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TextIO

from gateway import errors
from gateway.dbapi.connection import Connection
from gateway.shell import backslash
from gateway.shell.copy_streams import copies_in, copies_out, copy_in, copy_out
from gateway.shell.formats import write_result
from gateway.shell.options import Options, WrongOption
from gateway.shell.render_error import render_error
from gateway.shell.result import ShownResult
from gateway.shell.running import run_cancellable
from gateway.shell.splitting import SplitStatement, split_statements
from gateway.shell.table import screen_width, style_for
from journal.model.failures import file_error


class ExitShell(Exception):
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
        self.data: Iterable[str] = sys.stdin
        """What a COPY .. FROM STDIN reads: the lines behind it in a script."""

    def run_input(self, text: str) -> None:
        """Run one input: a backslash command, or statements and what follows them."""
        stripped = text.strip()
        if stripped.startswith("\\"):
            self.run_backslash(stripped)
            return
        for piece in split_statements(text, self.connection.client_session.dialect):
            self.run_guarded(lambda p=piece: self.run_statement(p), piece)  # type: ignore[misc]

    def run_script(self, text: str) -> None:
        """Run a script: statements, with backslash commands on lines of their own between them."""
        outer = self.data
        lines = enumerate(line.rstrip("\r\n") for line in io.StringIO(text))
        self.data = (line for _, line in lines)
        try:
            self._run_lines(lines)
        finally:
            self.data = outer

    def _run_lines(self, lines: Iterator[tuple[int, str]]) -> None:
        pending: list[str] = []
        first = 0
        for number, line in lines:
            starts = not pending or not "".join(pending).strip()
            if starts and line.lstrip().startswith("\\"):
                self.run_backslash(line.strip())
                pending = []
                continue
            if not pending:
                first = number
            pending.append(line + "\n")
            joined = "".join(pending)
            if (
                ";" in line
                and split_statements(joined, self._dialect)[-1:]
                and self._is_complete(joined)
            ):
                self._run_statements(joined, first)
                pending = []
        if pending:
            self._run_statements("".join(pending), first)

    def _is_complete(self, text: str) -> bool:
        return split_statements(text, self._dialect)[-1].complete

    @property
    def _dialect(self) -> str:
        return self.connection.client_session.dialect

    def _run_statements(self, text: str, first: int) -> None:
        for piece in split_statements(text, self._dialect):
            placed = replace(piece, line=piece.line + first)
            self.run_guarded(lambda p=placed: self.run_statement(p), placed)  # type: ignore[misc]

    def run_guarded(self, action: Callable[[], None], piece: SplitStatement | None = None) -> None:
        """Do something whose errors are shown; with ON_ERROR_STOP they end the script."""
        try:
            action()
            return
        except errors.Error as error:
            self._show_error(error, piece)
        except (WrongOption, backslash.WrongCommand) as error:
            self.write_message(f"{error}", error=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._show_error(errors.mapped(file_error(error)), piece)
        except KeyboardInterrupt:
            self.write_message("cancelled", error=True)
        self.failures += 1
        if self.options.stop_on_error:
            raise ExitShell(1)

    def run_statement(self, piece: SplitStatement) -> None:
        """Run one statement and show its result."""
        started = time.perf_counter()
        if copies_in(piece.text):
            self.write_message(copy_in(self.connection, piece.text, self.data))
            return
        if copies_out(piece.text):
            copy_out(self.connection, piece.text, self.out)
            return
        parameters = self._parameters(piece.text)
        cursor = self.connection.cursor()
        try:
            run_cancellable(self.connection, lambda: cursor.execute(piece.text, parameters))
            result = ShownResult.of(cursor, self.connection)
            self.show(result)
            for notice in result.notices:
                self.write_message(f"NOTICE: {notice}", error=True)
        finally:
            cursor.close()
        if self.options.timing:
            self.write_message(f"Time: {(time.perf_counter() - started) * 1000:.1f} ms")

    def _parameters(self, text: str) -> dict[str, str] | None:
        if not self.options.variables:
            return None
        with errors.mapping():
            parsed = self.connection.client_session.parse(text)
        wanted = [p for one in parsed for p in one.parameters if isinstance(p, str)]
        known = self.options.variables
        return {name: known[name] for name in wanted if name in known} if wanted else None

    def show(self, result: ShownResult) -> None:
        """Write a result in the chosen format to the current output."""
        style = self.options.style(style_for(self.out))
        write_result(result, self.out, self.options.form, style)
        self.out.flush()

    def show_facts(self, result: ShownResult) -> None:
        """Write what a backslash command found: always a table, on the screen or in the file."""
        style = self.options.style(style_for(self.out))
        if style.expanded == "auto":
            style = replace(style, expanded="off")
        write_result(result, self.out, "table", style)
        self.out.flush()

    def write_message(self, text: str, *, error: bool = False) -> None:
        """Tell the person at the shell something."""
        stream = sys.stderr if error else self.screen
        stream.write(text + "\n")
        stream.flush()

    def run_backslash(self, line: str) -> None:
        """Run a backslash command."""
        self.run_guarded(lambda: backslash.run_backslash(self, line))

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

    def _show_error(self, error: errors.Error, piece: SplitStatement | None) -> None:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        text, line = (piece.text, piece.line) if piece is not None else ("", 0)
        self.write_message(
            render_error(error, text, width=screen_width(), color=color, line=line), error=True
        )
