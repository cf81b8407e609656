"""Errors on their way out of the command line: what is written, and the exit code.

People read the statement's line with a caret below it; scripts (``--json``) an object on stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import click

from gateway import errors
from gateway.shell.render_error import render_error
from gateway.shell.splitting import SplitStatement
from gateway.shell.table import screen_width
from journal.model.failures import file_error

STATEMENT, USAGE, CONNECTION, CONFLICT, COPIES_LEFT, INTERRUPTED = 1, 2, 3, 4, 5, 130
_BY_STATE = {"40001": CONFLICT, "57014": INTERRUPTED}
_CONNECTING = frozenset({"PAL-501", "PAL-502", "PAL-530", "PAL-532", "PAL-603"})


def exit_code(error: errors.Error) -> int:
    """The exit code for an error."""
    if error.code in _CONNECTING:
        return CONNECTION
    return _BY_STATE.get(error.sqlstate, STATEMENT)


def fail(
    error: errors.Error, statement: str = "", *, as_json: bool = False, line: int = 0
) -> NoReturn:
    """Write an error to stderr and leave with its exit code."""
    if as_json:
        click.echo(json.dumps({"error": error_object(error, line)}, ensure_ascii=False), err=True)
    else:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        text = render_error(error, statement, width=screen_width(), color=color, line=line)
        click.echo(text, err=True)
    try:
        sys.stdout.flush()
    except OSError:
        # It was said already what is wrong, or this is.
        _forget_output()
    sys.exit(exit_code(error))


def error_object(error: errors.Error, line: int = 0) -> dict[str, object]:
    """An error as scripts read it."""
    position = error.position
    place = None
    if position is not None:
        place = {"line": position.line + line, "column": position.column}
    return {
        "code": error.code,
        "sqlstate": error.sqlstate,
        "message": error.message,
        "position": place,
        "advice": error.advice or None,
    }


def _forget_output() -> None:
    """Discard what stdout still buffers, so that no second error follows at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail_on_os_error(error: OSError, *, as_json: bool) -> NoReturn:
    """Leave for what the system raised outside of any statement, mostly of the output."""
    _forget_output()
    if isinstance(error, BrokenPipeError):
        # Whoever read the output has had enough.
        sys.exit(0)
    fail(errors.mapped(file_error(error)), as_json=as_json)


@contextmanager
def exit_on_error(piece: SplitStatement | None = None, *, as_json: bool = False) -> Iterator[None]:
    """Errors inside become exit codes, shown at their place in ``piece``; an interrupt is 130.

    What the system raises, say for a full disk, is an error like any other.
    """
    try:
        with errors.mapping():
            yield
    except BrokenPipeError as error:
        fail_on_os_error(error, as_json=as_json)
    except errors.Error as error:
        text, line = (piece.text, piece.line) if piece is not None else ("", 0)
        fail(error, text, as_json=as_json, line=line)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
