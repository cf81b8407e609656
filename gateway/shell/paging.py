"""A pager for results that are longer than the screen: PALIMPSEST_PAGER, PAGER, else less."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO, cast

_LESS = "less -FRSX"
"""-F leaves at once what fits, -R keeps colours, -S chops wide lines, -X leaves the text there."""


class PagedOutput(io.TextIOBase):
    """Keeps what is written until it is longer than the screen; then a pager gets it, and more."""

    def __init__(self, screen: TextIO, command: str, height: int) -> None:
        self._screen = screen
        self._command = command
        self._height = height
        self._kept: list[str] = []
        self._lines = 0
        self._pager: subprocess.Popen[str] | None = None

    def write(self, text: str) -> int:
        """Take a text; BrokenPipeError when the person has left the pager."""
        if self._pager is not None and self._pager.stdin is not None:
            return self._pager.stdin.write(text)
        self._kept.append(text)
        self._lines += text.count("\n")
        if self._lines >= self._height:
            self._start()
        return len(text)

    def _start(self) -> None:
        self._screen.flush()
        self._pager = subprocess.Popen(
            self._command, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self._pager.stdin is not None
        self._pager.stdin.write("".join(self._kept))
        self._kept = []

    def finish(self) -> None:
        """Write what was kept, or wait until the person has left the pager."""
        if self._pager is None:
            self._screen.write("".join(self._kept))
            return
        with suppress(BrokenPipeError):
            assert self._pager.stdin is not None
            self._pager.stdin.close()
        while True:
            with suppress(KeyboardInterrupt):
                self._pager.wait()
                return


@contextmanager
def paged(screen: TextIO) -> Iterator[TextIO]:
    """An output for one result; without a terminal or a pager it is the screen itself."""
    command = pager_command()
    if command is None or not screen.isatty():
        yield screen
        return
    output = PagedOutput(screen, command, shutil.get_terminal_size().lines - 1)
    try:
        # Whoever leaves the pager has seen enough.
        with suppress(BrokenPipeError):
            yield cast("TextIO", output)
    finally:
        output.finish()


def pager_command() -> str | None:
    """The command of the pager; None where there is none."""
    given = os.environ.get("PALIMPSEST_PAGER", os.environ.get("PAGER"))
    if given is not None:
        return given.strip() or None
    return _LESS if shutil.which("less") else None
