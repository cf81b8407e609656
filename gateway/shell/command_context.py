"""What a shell offers to its commands: what they may read of it, change in it and ask it for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol, TextIO

from gateway.dbapi.connection import Connection
from gateway.shell.conditionals import Conditionals
from gateway.shell.input_buffer import InputBuffer
from gateway.shell.options import Options
from gateway.shell.result import ShownResult
from gateway.shell.splitting import SplitStatement


class ExitShell(Exception):
    r"""``\q``, or what ends a script."""

    def __init__(self, code: int = 0) -> None:
        super().__init__()
        self.code = code


class StopScript(ExitShell):
    """An error while ON_ERROR_STOP is set: nothing more runs of what was sent."""


class CommandContext(Protocol):
    """A shell as its commands see it: ``gateway.shell.shell.Shell`` says what each part is."""

    connection: Connection
    place: str
    open_place: Callable[[str], Connection]
    interactive: bool
    options: Options
    screen: TextIO
    out: TextIO
    depth: int
    data: Iterable[str]
    buffer: InputBuffer
    conditionals: Conditionals
    last: SplitStatement | None
    history: Callable[[], list[str]]

    def run_statement(self, piece: SplitStatement, min_rows: int = 0) -> bool:
        """Run one statement and show its result; False where it did not, or had fewer rows."""

    def run_script(self, text: str, *, more: Iterable[str] = ()) -> None:
        """Run statements and commands."""

    def replace_buffer(self, text: str) -> None:
        """Put a text in place of what is typed, and run what of it is complete."""

    def executed(self, piece: SplitStatement) -> AbstractContextManager[ShownResult]:
        """Execute a statement; its result, rows not read yet."""

    def show(self, result: ShownResult) -> None:
        """Write a result in the chosen format to the current output."""

    def show_facts(self, result: ShownResult) -> None:
        """Write what a command found, as a table."""

    def show_text(self, text: str) -> None:
        """Write lines to the screen or the file."""

    def write_message(self, text: str, *, error: bool = False) -> None:
        """Tell the person at the shell something."""

    def redirect(self, path: str | None) -> None:
        """Send results to a file, or back to the screen."""
