r"""Commands beside SQL: ``\!`` runs a program, ``\cd`` changes the folder, ``\echo`` writes."""

from __future__ import annotations

import os
import re
import subprocess
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.shell.command_arguments import WrongCommand, split_words
from gateway.shell.command_context import CommandContext
from gateway.shell.conditionals import condition_value
from gateway.shell.values import display_text

_IS_SET = re.compile(r":\{\?([A-Za-z_]\w*)\}")
_VARIABLE = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


def run_program(shell: CommandContext, text: str) -> None:
    r"""``\! [COMMAND]``: run a command of the system, or its shell."""
    shell.screen.flush()
    command = text or os.environ.get("SHELL") or "sh"
    code = subprocess.run(command, shell=True, check=False).returncode
    shell.options.variables["SHELL_EXIT_CODE"] = code


def change_folder(shell: CommandContext, text: str) -> None:
    r"""``\cd [FOLDER]``: go to a folder, else home."""
    os.chdir(Path(text).expanduser() if text else Path.home())
    shell.write_message(f"Now in {Path.cwd()}.")


def echo(shell: CommandContext, text: str) -> None:
    r"""``\echo TEXT``: write a text to the screen; ``:NAME`` stands for a variable."""
    shell.write_message(_filled(shell, text))


def echo_to_output(shell: CommandContext, text: str) -> None:
    r"""``\qecho TEXT``: write a text where results go."""
    shell.out.write(_filled(shell, text) + "\n")
    shell.out.flush()


def warn(shell: CommandContext, text: str) -> None:
    r"""``\warn TEXT``: write a text to standard error."""
    shell.write_message(_filled(shell, text), error=True)


def ask(shell: CommandContext, text: str) -> None:
    r"""``\prompt [TEXT] NAME``: ask for a value, and keep it under a name."""
    *question, name = split_words(text) or [""]
    if not name.isidentifier():
        raise WrongCommand("\\prompt takes a text and a name, as in \\prompt 'which day? ' day")
    try:
        shell.options.variables[name] = input(" ".join(question))
    except EOFError:
        raise WrongCommand("\\prompt was not answered: the input has ended") from None


def is_true(shell: CommandContext, text: str) -> bool:
    r"""What ``\if`` asks: a word that means true or false, variables and ``:{?NAME}`` filled in."""
    known = _values(shell)
    asked = _IS_SET.sub(lambda m: "true" if m[1] in known else "false", text)
    return condition_value(_filled(shell, asked))


def _filled(shell: CommandContext, text: str) -> str:
    known = _values(shell)
    words = split_words(text)
    return " ".join(_VARIABLE.sub(lambda m: _text_of(known, m), word) for word in words)


def _values(shell: CommandContext) -> Mapping[str, Any]:
    return ChainMap(shell.options.variables, shell.options.outcome)


def _text_of(known: Mapping[str, Any], found: re.Match[str]) -> str:
    """A variable's value; its name where there is none."""
    return display_text(known[found[1]]) if found[1] in known else found[0]
