"""Progress of long work: a spinner or a bar on stderr, at a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[float], None]
"""Tells how much is done, from 0 to 1."""


@contextmanager
def show_progress(what: str, *, quiet: bool = False) -> Iterator[Advance]:
    """Show that ``what`` is under way until the block ends; it leaves nothing behind."""
    if quiet or not sys.stderr.isatty():
        yield _ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def advance(fraction: float) -> None:
            progress.update(task, total=1.0, completed=min(max(fraction, 0.0), 1.0))

        yield advance


def _ignore_progress(fraction: float) -> None:
    """Shows nothing: stderr is not a terminal."""
