"""The shell proper: takes statements and backslash commands, from wherever they come, and answers.

It knows nothing of the terminal's editing (``prompt``); scripts and ``-c`` use it the same way.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import Any, TextIO, cast

from gateway import connect, errors
from gateway.dbapi.connection import Connection
from gateway.shell import backslash
from gateway.shell.command_arguments import WrongCommand
from gateway.shell.command_context import ExitShell, StopScript
from gateway.shell.conditionals import COMMANDS as CONDITIONAL
from gateway.shell.conditionals import Conditionals
from gateway.shell.confirming import confirmed
from gateway.shell.copy_streams import copies_in, copies_out, copy_in, copy_out
from gateway.shell.dot_commands import as_backslash, is_dot_command
from gateway.shell.formats import write_result
from gateway.shell.input_buffer import BackslashLine, InputBuffer
from gateway.shell.options import Options, WrongOption
from gateway.shell.paging import paged
from gateway.shell.progress_line import progress_line
from gateway.shell.render_error import render_error
from gateway.shell.result import ShownResult
from gateway.shell.running import run_cancellable
from gateway.shell.splitting import SplitStatement
from gateway.shell.table import screen_width, style_for
from journal.model.failures import file_error


class Shell:
    """One connection, its options, and where its output goes."""

    def __init__(
        self,
        connection: Connection,
        *,
        interactive: bool,
        place: str = "",
        open_place: Callable[[str], Connection] = connect,
        out: TextIO | None = None,
    ) -> None:
        self.connection = connection
        self.place = place
        """The path or URL that was connected to."""
        self.open_place = open_place
        """Connects to another place, as the shell's own connection was made."""
        self.interactive = interactive
        self.options = Options(rows=100 if interactive else 0, stop_on_error=False)
        self.screen: TextIO = out if out is not None else sys.stdout
        self.out: TextIO = self.screen
        self._program: subprocess.Popen[str] | None = None
        """What results go to, where that is a program."""
        self.depth = 0
        self.failures = 0
        self.data: Iterable[str] = sys.stdin
        """What a COPY .. FROM STDIN reads: the lines behind it in a script."""
        self.buffer = InputBuffer()
        self.conditionals = Conditionals()
        self.last: SplitStatement | None = None
        """The statement that ran last, which ``\\g`` and its like run again."""
        self._running: SplitStatement | None = None
        """The statement of the command that runs, for its errors."""
        self.history: Callable[[], list[str]] = list
        """What was typed before, oldest first."""

    def run_input(self, text: str) -> None:
        """Run one input, whole: what no semicolon ends as well."""
        self.run_script(text, more=sys.stdin)

    def run_typed(self, text: str) -> str:
        """Run what a person sent from the prompt; returns the statement that has no end yet."""
        word = text.strip().rstrip(";").strip().lower() if self.conditionals.is_active else ""
        if word in {"exit", "quit"}:
            raise ExitShell
        if word.split(maxsplit=1)[:1] in (["exit"], ["quit"]):
            self.write_message("To leave, write exit, quit or \\q alone.", error=True)
            return ""
        if word == "help":
            self.run_backslash("\\?")
            return ""
        try:
            self._run_lines(text, sys.stdin)
        except StopScript:
            # As in psql, a person stays at the prompt; what is left of the input does not run.
            self.buffer = InputBuffer()
            return ""
        pending, self.buffer = self.buffer.text, InputBuffer()
        return pending if self.conditionals.is_active else ""

    def leave_condition(self) -> str:
        r"""Ctrl-C at the prompt leaves an ``\\if`` that does not run; what is typed then."""
        if self.conditionals.leave() and self.conditionals.is_active:
            return self.conditionals.kept_text
        return ""

    def run_script(self, text: str, *, more: Iterable[str] = ()) -> None:
        """Run a script: statements, and backslash commands behind them or on lines of their own.

        ``more`` is what a COPY .. FROM STDIN reads when the script has no more lines.
        """
        outer, self.buffer = (self.buffer, self.conditionals), InputBuffer()
        self.conditionals = Conditionals()
        try:
            self._run_lines(text, more)
            piece = self.buffer.take()
            if piece is not None and self.conditionals.is_active:
                self.run_guarded(lambda: self._run(piece), piece)
            if self.conditionals.depth:
                self.run_guarded(self._refuse_open_conditions)
        finally:
            self.buffer, self.conditionals = outer

    def _refuse_open_conditions(self) -> None:
        raise WrongCommand(f"the script ends before {self.conditionals.depth} \\endif")

    def _run_lines(self, text: str, more: Iterable[str]) -> None:
        outer = self.data
        lines = enumerate(line.rstrip("\r\n") for line in io.StringIO(text))
        self.data = chain((line for _, line in lines), more)
        try:
            for number, line in lines:
                if is_dot_command(line) and not self.buffer.text.strip():
                    self._run_dot_command(line)
                    continue
                self.buffer.add(line + "\n", number)
                if ";" in line or "\\" in line:
                    self._run_parts()
        finally:
            self.data = outer

    def _run_parts(self) -> None:
        for part in self.buffer.parts(self._dialect):
            if isinstance(part, BackslashLine):
                self.run_backslash(part.text)
            elif not self.conditionals.is_active:
                self._pass_over("A statement")
            else:
                self.run_guarded(lambda p=part: self._run(p), part)  # type: ignore[misc]

    def _run(self, piece: SplitStatement) -> None:
        self.run_statement(piece)

    def _pass_over(self, what: str) -> None:
        """Say at the prompt that something did not run; a script's is what it is for."""
        if self.interactive and self.depth == 0:
            self.write_message(f"{what} is passed over; \\endif or Ctrl-C leaves this \\if.")

    def replace_buffer(self, text: str) -> None:
        """Put a text in place of what is typed, and run what of it is complete."""
        self.buffer.take()
        self.buffer.add(text.rstrip() + "\n", self.buffer.line)
        self._run_parts()

    @property
    def _dialect(self) -> str:
        return self.connection.client_session.dialect

    def run_guarded(self, action: Callable[[], None], piece: SplitStatement | None = None) -> None:
        """Do something whose errors are shown; with ON_ERROR_STOP they end the script."""
        try:
            action()
            return
        except errors.Error as error:
            self.options.keep_failure(error.sqlstate, error.message)
            self._show_error(error, piece)
        except (WrongOption, WrongCommand) as error:
            self.write_message(f"{error}", error=True)
        except BrokenPipeError:
            if self._program is None:
                raise
            self.redirect(None)
            self.write_message("the program that results went to has ended", error=True)
        except OSError as error:
            self._show_error(errors.mapped(file_error(error)), piece)
        except KeyboardInterrupt:
            self.write_message("cancelled", error=True)
        self.failures += 1
        if self.options.stop_on_error:
            raise StopScript(1)

    def run_statement(self, piece: SplitStatement, min_rows: int = 0) -> bool:
        """Run one statement and show its result.

        False where the person said no, or a query gave fewer than ``min_rows`` rows.
        """
        self.last = piece
        if self.interactive and self.options.confirm and not confirmed(self, piece.text):
            self.write_message("Not run.")
            return False
        started = time.perf_counter()
        if copies_in(piece.text):
            self.write_message(copy_in(self.connection, piece.text, self.data))
            return True
        if copies_out(piece.text):
            copy_out(self.connection, piece.text, self.out)
            return True
        with self.executed(piece) as result:
            self.show(result)
            for notice in result.notices:
                self.write_message(f"NOTICE: {notice}", error=True)
            is_enough = not (result.has_rows and result.has_fewer(min_rows))
            self.options.keep_success(result.final_count)
        if self.options.timing:
            self.write_message(f"Time: {(time.perf_counter() - started) * 1000:.1f} ms")
        return is_enough

    @contextmanager
    def executed(self, piece: SplitStatement) -> Iterator[ShownResult]:
        """Execute a statement, the variables that it names bound; its result, rows not read yet."""
        self._running = piece
        parameters = self._parameters(piece.text)
        cursor = self.connection.cursor()
        try:
            with progress_line(is_shown=self.interactive) as advance:
                run_cancellable(
                    self.connection, lambda: cursor.execute(piece.text, parameters), advance
                )
            yield ShownResult.of(cursor, self.connection)
        finally:
            cursor.close()

    def _parameters(self, text: str) -> dict[str, Any] | None:
        known = self.options.values_in(text)
        if not known:
            return None
        with errors.mapping():
            parsed = self.connection.client_session.parse(text)
        wanted = [p for one in parsed for p in one.parameters if isinstance(p, str)]
        return {name: known[name] for name in wanted if name in known} if wanted else None

    def show(self, result: ShownResult) -> None:
        """Write a result in the chosen format to the current output."""
        style = self.options.style(style_for(self.out))
        with self._paged() as out:
            write_result(result, out, self.options.form, style)
        self.out.flush()

    def show_facts(self, result: ShownResult) -> None:
        """Write what a backslash command found: always a table, on the screen or in the file."""
        style = self.options.style(style_for(self.out))
        if style.expanded == "auto":
            style = replace(style, expanded="off")
        with self._paged() as out:
            write_result(result, out, "table", style)
        self.out.flush()

    def show_text(self, text: str) -> None:
        """Write lines to the screen or the file."""
        with self._paged() as out:
            out.write(text + "\n")
        self.out.flush()

    @contextmanager
    def _paged(self) -> Iterator[TextIO]:
        """Where a result is written: through a pager where it is longer than the screen."""
        if not (self.interactive and self.out is self.screen and self.options.pager):
            yield self.out
            return
        with paged(self.out) as out:
            yield out

    def write_message(self, text: str, *, error: bool = False) -> None:
        """Tell the person at the shell something."""
        stream = sys.stderr if error else self.screen
        stream.write(text + "\n")
        stream.flush()

    def run_backslash(self, line: str) -> None:
        """Run a backslash command, unless it stands in an ``\\if`` that does not run."""
        name = backslash.command_name(line)
        if not self.conditionals.is_active and name not in CONDITIONAL:
            self._pass_over(f"\\{name}")
            return
        self._running = None
        self.run_guarded(lambda: backslash.run_backslash(self, line))

    def _run_dot_command(self, line: str) -> None:
        def run() -> None:
            backslash.run_backslash(self, as_backslash(line))

        if self.conditionals.is_active:
            self.run_guarded(run)
        else:
            self._pass_over(line.strip())

    def redirect(self, path: str | None) -> None:
        """Send results to a file, to a ``|program``, or back to the screen."""
        if self.out is not self.screen:
            with suppress(BrokenPipeError):
                self.out.close()
        self.out = self.screen
        if self._program is not None:
            self._program.wait()
            self._program = None
        if path is not None and path.startswith("|"):
            self._program = subprocess.Popen(path[1:], shell=True, stdin=subprocess.PIPE, text=True)
            self.out = cast("TextIO", self._program.stdin)
        elif path is not None:
            self.out = open(os.path.expanduser(path), "w", encoding="utf-8")  # noqa: SIM115, PTH111, PTH123

    def close(self) -> None:
        """Let go of an output file."""
        self.redirect(None)

    def _show_error(self, error: errors.Error, piece: SplitStatement | None) -> None:
        piece = piece or self._running
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        text, line = (piece.text, piece.line) if piece is not None else ("", 0)
        self.write_message(
            render_error(error, text, width=screen_width(), color=color, line=line), error=True
        )
