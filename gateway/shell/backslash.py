"""Backslash commands: one function each, in a table that is also their help."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.shell import describing
from gateway.shell.copying import copy_command
from gateway.shell.options import parse_switch
from gateway.shell.syntax import statement_help
from rewriter.definitions.new_relations import kind_of_relation

if TYPE_CHECKING:
    from gateway.shell.shell import Shell

_INCLUDES_MAX = 16


class WrongCommand(Exception):
    """A backslash command that is not there, or is used wrongly."""


@dataclass(frozen=True, slots=True)
class Backslash:
    """A command: what it takes, what it is for, and the function that does it."""

    usage: str
    about: str
    run: Callable[[Shell, str], None]


def run_backslash(shell: Shell, line: str) -> None:
    """Run the command of a line that begins with a backslash."""
    name, _, rest = line[1:].partition(" ")
    name = name.rstrip(";")
    found = COMMANDS.get(name)
    if found is None:
        raise WrongCommand(f"there is no command \\{name}; \\? lists them")
    raw = name in {"copy", "preview"}
    found.run(shell, rest.strip() if raw else rest.strip().rstrip(";").strip())


def split_words(text: str) -> list[str]:
    """Arguments, quotes taken off."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise WrongCommand(f"a quote is not closed: {text}") from error


def _first_word(text: str) -> str | None:
    found = split_words(text)
    return found[0] if found else None


def _describe(shell: Shell, text: str) -> None:
    if not text:
        shell.show_facts(describing.relations(shell.connection, "all", None))
        return
    relation = describing.find_relation(shell.connection, text)
    columns = describing.system_columns(shell.connection, text) if relation is None else None
    if columns is not None:
        shell.show_facts(columns)
        return
    if relation is None:
        listed = describing.relations(shell.connection, "all", text)
        if not listed.row_count:
            raise WrongCommand(f"there is no table or view {text}; \\d lists them")
        shell.show_facts(listed)
        return
    shell.write_message(f"{kind_of_relation(relation).capitalize()} {relation.name}")
    shell.show_facts(describing.columns_of(relation))
    for fact in describing.facts_of(shell.connection, relation):
        shell.write_message(fact)


def _tables(shell: Shell, text: str) -> None:
    shell.show_facts(describing.relations(shell.connection, "table", text or None))


def _views(shell: Shell, text: str) -> None:
    shell.show_facts(describing.relations(shell.connection, "view", text or None))


def _materialized_views(shell: Shell, text: str) -> None:
    shell.show_facts(describing.relations(shell.connection, "materialized view", text or None))


def _schemas(shell: Shell, text: str) -> None:
    shell.show_facts(describing.schemas(shell.connection))


def _roles(shell: Shell, text: str) -> None:
    shell.show_facts(describing.roles(shell.connection))


def _privileges(shell: Shell, text: str) -> None:
    shell.show_facts(describing.privileges(shell.connection, text or None))


def _warehouse(shell: Shell, text: str) -> None:
    session = shell.connection.client_session
    shell.write_message(f"Warehouse: {session.place}")
    shell.write_message(f"Dialect: {session.dialect}; user: {session.user or 'nobody'}")
    if session.settings.as_of:
        shell.write_message(f"Reading as of: {session.settings.as_of}")
    shell.show_facts(describing.schemas(shell.connection))


def _timing(shell: Shell, text: str) -> None:
    shell.options.timing = parse_switch(shell.options.timing, text or None)
    shell.write_message(f"Timing is {'on' if shell.options.timing else 'off'}.")


def _expanded(shell: Shell, text: str) -> None:
    shell.options.set_print_option("expanded", text or None)
    shell.write_message(f"Expanded display is {shell.options.expanded}.")


def _pset(shell: Shell, text: str) -> None:
    name, _, value = text.partition(" ")
    if not name:
        for option, current in shell.options.print_options().items():
            shell.write_message(f"{option:10} {current}")
        return
    given = value.strip()
    shell.options.set_print_option(name, (split_words(given) or [""])[0] if given else None)
    shell.write_message(f"{name} is {shell.options.print_options().get(name, given)}.")


def _set(shell: Shell, text: str) -> None:
    name, _, value = text.partition(" ")
    options = shell.options
    if not name:
        shell.write_message(f"AUTOCOMMIT = {'on' if shell.connection.autocommit else 'off'}")
        shell.write_message(f"ON_ERROR_STOP = {'on' if options.stop_on_error else 'off'}")
        for known, held in options.variables.items():
            shell.write_message(f"{known} = {held}")
    elif name.upper() == "ON_ERROR_STOP":
        options.stop_on_error = parse_switch(False, value.strip() or "on")
    elif name.upper() == "AUTOCOMMIT":
        shell.connection.autocommit = parse_switch(False, value.strip() or "on")
    elif not name.isidentifier():
        raise WrongCommand("\\set takes a name and a value; :name then stands for the value")
    else:
        options.variables[name] = " ".join(split_words(value))


def _unset(shell: Shell, text: str) -> None:
    shell.options.variables.pop(text, None)


def _include(shell: Shell, text: str) -> None:
    path = _first_word(text)
    if path is None:
        raise WrongCommand("\\i takes a file")
    if shell.depth >= _INCLUDES_MAX:
        raise WrongCommand(f"files include each other more than {_INCLUDES_MAX} deep at {path}")
    script = Path(path).expanduser().read_text(encoding="utf-8")
    shell.depth += 1
    try:
        shell.run_script(script)
    finally:
        shell.depth -= 1


def _output(shell: Shell, text: str) -> None:
    path = _first_word(text)
    shell.redirect(path)
    shell.write_message(f"Results go to {path}." if path else "Results go to the screen.")


def _copy(shell: Shell, text: str) -> None:
    said = copy_command(shell.connection, text, shell.data, shell.out)
    if said:
        shell.write_message(said)


def _preview(shell: Shell, text: str) -> None:
    from gateway.shell.previewing import show_preview

    if not text:
        raise WrongCommand("\\preview takes a statement")
    show_preview(shell, text.rstrip(";"))


def _statement_help(shell: Shell, text: str) -> None:
    shell.write_message(statement_help(text))


def _help(shell: Shell, text: str) -> None:
    width = max(len(c.usage) for c in COMMANDS.values())
    for known in COMMANDS.values():
        shell.write_message(f"  {known.usage:{width}}  {known.about}")
    shell.write_message(
        "\nStatements end with a semicolon. Ctrl-C stops a statement, Ctrl-D leaves."
    )


def _quit(shell: Shell, text: str) -> None:
    from gateway.shell.shell import ExitShell

    raise ExitShell


COMMANDS: dict[str, Backslash] = {
    "d": Backslash("\\d [NAME]", "tables and views, or the parts of one", _describe),
    "dt": Backslash("\\dt [PATTERN]", "tables", _tables),
    "dv": Backslash("\\dv [PATTERN]", "views", _views),
    "dm": Backslash("\\dm [PATTERN]", "materialized views", _materialized_views),
    "dn": Backslash("\\dn", "schemas", _schemas),
    "du": Backslash("\\du", "roles", _roles),
    "dp": Backslash("\\dp [PATTERN]", "privileges on tables, views and sequences", _privileges),
    "l": Backslash("\\l", "the warehouse, and who you are in it", _warehouse),
    "preview": Backslash("\\preview STATEMENT", "how a statement would be rewritten", _preview),
    "timing": Backslash("\\timing [on|off]", "show how long each statement takes", _timing),
    "x": Backslash("\\x [on|off|auto]", "one line per column", _expanded),
    "pset": Backslash("\\pset [OPTION VALUE]", "format, null, rows, expanded, footer", _pset),
    "set": Backslash("\\set [NAME VALUE]", "a value for :name; ON_ERROR_STOP, AUTOCOMMIT", _set),
    "unset": Backslash("\\unset NAME", "forget a value", _unset),
    "i": Backslash("\\i FILE", "run the statements of a file", _include),
    "o": Backslash("\\o [FILE]", "write results to a file, or to the screen again", _output),
    "copy": Backslash(
        "\\copy TABLE FROM FILE", "load a file; TABLE|(QUERY) TO FILE writes one", _copy
    ),
    "h": Backslash("\\h [STATEMENT]", "the form of a statement", _statement_help),
    "?": Backslash("\\?", "this list", _help),
    "q": Backslash("\\q", "leave", _quit),
}
