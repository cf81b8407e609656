"""Shows the demonstration on the screen: headings, statements, tables and progress; or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.syntax import Syntax

from gateway.shell.result import ShownColumn, ShownResult
from gateway.shell.table import Style, style_for, write_table

Advance = Callable[[float, str], None]


class Teller:
    """Tells the story to a terminal or a log."""

    def __init__(self, *, silent: bool = False) -> None:
        self._silent = silent
        self._console = Console(quiet=silent, highlight=False)

    def chapter(self, title: str) -> None:
        """A heading."""
        self._console.print()
        self._console.print(Rule(f"[bold]{title}[/bold]", align="left", style="cyan"))

    def say(self, text: str, style: str = "") -> None:
        """A sentence."""
        self._console.print(text, style=style or None, markup=False, soft_wrap=True)

    def sql(self, text: str) -> None:
        """A statement, highlighted."""
        if self._console.is_terminal:
            shown = Syntax(
                text, "sql", theme="ansi_dark", background_color="default", word_wrap=True
            )
            self._console.print(Padding(shown, (0, 0, 0, 2)))
        else:
            for line in text.splitlines():
                self._console.print(f"  {line}".rstrip(), markup=False, soft_wrap=True)

    def table(self, columns: Sequence[ShownColumn], rows: Sequence[Sequence[Any]]) -> None:
        """Rows."""
        if self._silent:
            return
        base = style_for(sys.stdout)
        style = Style(base.width, 0, "-", "auto", base.color, base.unicode, footer=False)
        sys.stdout.flush()
        write_table(
            ShownResult("SELECT", len(rows), tuple(columns), iter([tuple(r) for r in rows])),
            sys.stdout,
            style,
        )
        sys.stdout.flush()

    @contextmanager
    def progress(self, what: str) -> Iterator[Advance]:
        """A bar on stderr, if that is a terminal."""
        if self._silent or not sys.stderr.isatty():
            yield _ignore_progress
            return
        parts = (TextColumn("{task.description:28}"), BarColumn(40), TimeElapsedColumn())
        with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=1.0)

            def advance(fraction: float, detail: str) -> None:
                bar.update(task, completed=fraction, description=f"{what}: {detail}")

            yield advance


def _ignore_progress(fraction: float, detail: str) -> None:
    """Shows nothing: stderr is not a terminal."""
