r"""Commands for the statement that is typed: ``\g`` and its like, ``\watch``, ``\e``, ``\p``."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TextIO, cast

import click

from gateway.shell.command_arguments import WrongCommand
from gateway.shell.command_context import CommandContext
from gateway.shell.crosstab import crosstab
from gateway.shell.result import Row, ShownResult
from gateway.shell.splitting import SplitStatement
from journal.model.lazy_dataclass import dataclass

_WATCH_S = 2.0
_WATCH_MAX_S = 1_000_000


def run_again(shell: CommandContext, text: str) -> None:
    r"""``\g [FILE|\|COMMAND]``: run the statement, its rows to a file or a program."""
    with _sent_to(shell, text):
        shell.run_statement(_statement(shell, "\\g"))


def run_expanded(shell: CommandContext, text: str) -> None:
    r"""``\gx``: as ``\g``, one line per column."""
    options = shell.options
    shell.options = replace(options, expanded="on")
    try:
        run_again(shell, text)
    finally:
        shell.options = options


def keep_values(shell: CommandContext, text: str) -> None:
    r"""``\gset [PREFIX]``: keep the values of the only row under the names of its columns."""
    with shell.executed(_statement(shell, "\\gset")) as result:
        rows = _first_rows(result, 2)
        if len(rows) != 1:
            found = "no row" if not rows else "more than one row"
            raise WrongCommand(f"\\gset keeps the values of one row; the statement gave {found}")
        for column, value in zip(result.columns, rows[0], strict=True):
            name = text + column.name
            if not name.isidentifier():
                raise WrongCommand(
                    f"\\gset cannot keep the column {column.name!r}: name it with AS, as a word"
                )
            if value is None:
                shell.options.variables.pop(name, None)
            else:
                shell.options.variables[name] = value


def run_cells(shell: CommandContext, text: str) -> None:
    r"""``\gexec``: run each value of the result as a statement, row by row."""
    with shell.executed(_statement(shell, "\\gexec")) as result:
        cells = [str(cell) for row in result.rows for cell in row if cell is not None]
    for cell in cells:
        shell.run_script(cell)


def describe_result(shell: CommandContext, text: str) -> None:
    r"""``\gdesc``: names and types of the columns that the statement would give."""
    piece = _statement(shell, "\\gdesc")
    with shell.executed(replace(piece, text=f"DESCRIBE {piece.text}")) as result:
        rows: list[Row] = [tuple(row[:2]) for row in result.rows]
        shell.show_facts(ShownResult("SHOW", len(rows), result.columns[:2], iter(rows)))


def show_crosstab(shell: CommandContext, text: str) -> None:
    r"""``\crosstabview [COLUMNS]``: run the statement; one column's values become columns."""
    with shell.executed(_statement(shell, "\\crosstabview")) as result:
        empty = "" if shell.options.form in {"table", "markdown"} else None
        shell.show(crosstab(result, text, shell.options.null, empty))


def watch(shell: CommandContext, text: str) -> None:
    r"""``\watch [SECONDS] [c=TIMES] [m=ROWS]``: run the statement again and again, until Ctrl-C.

    With ``m`` it ends once the query gives fewer rows.
    """
    piece = _statement(shell, "\\watch")
    how = watch_options(text)
    left = how.times
    while left is None or left > 0:
        now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
        shell.out.write(f"{now} (every {how.seconds:g} s)\n\n")
        goes_on = shell.run_statement(piece, how.min_rows)
        shell.out.write("\n")
        shell.out.flush()
        left = None if left is None else left - 1
        if not goes_on or left == 0:
            return
        try:
            time.sleep(how.seconds)
        except KeyboardInterrupt:
            return


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How often a statement runs: seconds between, how many times, while it gives these rows."""

    seconds: float = _WATCH_S
    times: int | None = None
    min_rows: int = 0


def watch_options(text: str) -> WatchOptions:
    r"""What stands behind ``\watch``, as in psql; WrongCommand for anything else.

    >>> watch_options("0.5 c=3 min_rows=1")
    WatchOptions(seconds=0.5, times=3, min_rows=1)
    """
    given: dict[str, str] = {}
    for word in text.split():
        name, _, value = word.rpartition("=")
        option = _WATCH_NAMES.get(name)
        if option is None:
            raise WrongCommand(f"\\watch takes seconds, c=TIMES and m=ROWS, not {word}")
        if option in given:
            raise WrongCommand(f"\\watch has {option} twice: {word} is one too many")
        given[option] = value
    times = _positive(given.get("times"), "c=TIMES")
    min_rows = _positive(given.get("min_rows"), "m=ROWS")
    return WatchOptions(_seconds(given.get("seconds")), times, min_rows or 0)


_WATCH_NAMES = {
    **dict.fromkeys(("", "i", "interval"), "seconds"),
    **dict.fromkeys(("c", "count"), "times"),
    **dict.fromkeys(("m", "min_rows"), "min_rows"),
}


def _seconds(value: str | None) -> float:
    try:
        seconds = _WATCH_S if value is None else float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _WATCH_MAX_S:
        raise WrongCommand(f"\\watch takes 0 to {_WATCH_MAX_S:,} seconds, not {value}")
    return seconds


def _positive(value: str | None, option: str) -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise WrongCommand(f"\\watch takes a number above 0 in {option}, not {value or 'nothing'}")
    return int(value)


def edit(shell: CommandContext, text: str) -> None:
    r"""``\e [FILE]``: edit the statement, the last one or a file; run it if a semicolon ends it."""
    if text:
        path = Path(text).expanduser()
        click.edit(filename=str(path))
        edited: str | None = path.read_text(encoding="utf-8") if path.exists() else None
    else:
        piece = shell.buffer.take() or shell.last
        before = "" if piece is None else piece.text + (";" if piece.complete else "")
        edited = click.edit(before + "\n", extension=".sql", require_save=False)
    if edited is not None:
        shell.replace_buffer(edited)


def show_buffer(shell: CommandContext, text: str) -> None:
    r"""``\p``: write the statement that is typed, else the last one."""
    typed = shell.buffer.text.strip()
    if typed or shell.last is not None:
        shell.write_message(typed or (shell.last.text + ";" if shell.last else ""))
    else:
        shell.write_message("Nothing is typed.")


def reset_buffer(shell: CommandContext, text: str) -> None:
    r"""``\r``: forget the statement that is typed."""
    shell.buffer.take()
    shell.write_message("What was typed is forgotten.")


def write_buffer(shell: CommandContext, text: str) -> None:
    r"""``\w FILE``: write the statement that is typed, else the last one, to a file."""
    if not text:
        raise WrongCommand("\\w takes a file")
    typed = shell.buffer.text.strip() or (shell.last.text + ";" if shell.last else "")
    Path(text).expanduser().write_text(typed + "\n", encoding="utf-8")


def show_history(shell: CommandContext, text: str) -> None:
    r"""``\s [FILE]``: write what was typed before, oldest first."""
    lines = "\n".join(shell.history())
    if text:
        Path(text).expanduser().write_text(lines + "\n", encoding="utf-8")
    else:
        shell.show_text(lines)


def _statement(shell: CommandContext, command: str) -> SplitStatement:
    piece = shell.buffer.take() or shell.last
    if piece is None:
        raise WrongCommand(
            f"{command} runs what is typed before it, or the last statement: none is"
        )
    return piece


def _first_rows(result: ShownResult, most: int) -> list[Row]:
    return [row for _, row in zip(range(most), result.rows, strict=False)]


@contextmanager
def _sent_to(shell: CommandContext, text: str) -> Iterator[None]:
    """Send results to a file or a program while one statement runs."""
    outer = shell.out
    if not text:
        yield
    elif text.startswith("|"):
        shell.screen.flush()
        with subprocess.Popen(
            text[1:], shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8"
        ) as program:
            assert program.stdin is not None
            shell.out = cast("TextIO", program.stdin)
            try:
                yield
            finally:
                shell.out = outer
    else:
        with Path(text).expanduser().open("w", encoding="utf-8") as file:
            shell.out = file
            try:
                yield
            finally:
                shell.out = outer
