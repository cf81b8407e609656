"""Dot commands of the shells of DuckDB and SQLite, as the backslash commands that do the same.

No statement begins with a dot, so a line that does is one of these.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from gateway.shell.command_arguments import WrongCommand

_LINE = re.compile(r"\s*\.([a-zA-Z]\w*)[ \t]*(.*?)[;\s]*", re.DOTALL)
_COMMANDS = {
    "cd": "\\cd",
    "databases": "\\l",
    "echo": "\\echo",
    "edit": "\\e",
    "exit": "\\q",
    "help": "\\?",
    "indexes": "\\di",
    "indices": "\\di",
    "maxrows": "\\pset rows",
    "mode": "\\pset format",
    "nullvalue": "\\pset null",
    "open": "\\c",
    "output": "\\o",
    "print": "\\echo",
    "quit": "\\q",
    "read": "\\i",
    "schema": "\\d",
    "shell": "\\!",
    "system": "\\!",
    "tables": "\\dt",
    "timer": "\\timing",
}
_MODES = {
    **dict.fromkeys(("ascii", "box", "column", "columns", "duckbox"), "table"),
    "jsonlines": "jsonl",
    "tabs": "tsv",
}
"""Formats that have another name here, or lines that are drawn otherwise."""


def is_dot_command(text: str) -> bool:
    """True for a text that begins as a dot command does."""
    return _LINE.match(text) is not None


def as_backslash(text: str) -> str:
    r"""The backslash command that a dot command stands for; WrongCommand where there is none.

    >>> as_backslash(".tables")
    '\\dt'
    >>> as_backslash(".mode jsonlines")
    '\\pset format jsonl'
    """
    found = _LINE.fullmatch(text)
    assert found is not None, "the caller has looked"
    name, rest = found[1].lower(), found[2]
    command = _COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, _COMMANDS, 1)
        meant = f"did you mean .{near[0]}? " if near else ""
        raise WrongCommand(f"there is no command .{found[1]}; {meant}\\? lists them")
    if name == "mode":
        if rest.lower() == "line":
            return "\\x on"
        rest = _MODES.get(rest.lower(), rest)
    return f"{command} {rest}".rstrip()
