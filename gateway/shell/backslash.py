"""Backslash commands: one function each, in a table that is also their help."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from gateway.shell import branching, buffer_commands, definition_commands, describing, outside
from gateway.shell.command_arguments import WrongCommand, split_words
from gateway.shell.command_context import CommandContext, ExitShell
from gateway.shell.connecting import connect_elsewhere
from gateway.shell.copying import copy_command
from gateway.shell.options import parse_switch, variable_value
from gateway.shell.role_passwords import set_password
from gateway.shell.syntax import statement_help
from gateway.shell.values import display_text
from journal.model.lazy_dataclass import dataclass
from rewriter.definitions.new_relations import kind_of_relation

_INCLUDES_MAX = 16
_NAME = re.compile(r"\\([A-Za-z]+|.?)(\+?)(.*)", re.DOTALL)
"""A command's name; psql's ``+``, which asks for more, is taken: ours show it anyway."""
_SWITCHES = ("AUTOCOMMIT", "ON_ERROR_STOP", "CONFIRM", "VI_KEYS")
"""The variables that change how the shell works."""
_RAW = frozenset({"copy", "preview", "!", "echo", "qecho", "warn"})
"""Commands that take the rest of their line as it stands."""
_ALIASES = {"connect": "c", "dg": "du", "z": "dp"}
"""Further names that psql has for a command."""


@dataclass(frozen=True, slots=True)
class Backslash:
    """A command: what it takes, what it is for, and the function that does it."""

    usage: str
    about: str
    run: Callable[[CommandContext, str], None]


def command_name(line: str) -> str:
    """The name of the command of a line that begins with a backslash."""
    return _NAME.fullmatch(line)[1]  # type: ignore[index]


def run_backslash(shell: CommandContext, line: str) -> None:
    """Run the command of a line that begins with a backslash."""
    name, plus, rest = _NAME.fullmatch(line).groups()  # type: ignore[union-attr]
    found = COMMANDS.get(_ALIASES.get(name, name))
    if found is None:
        near = get_close_matches(name, COMMANDS, 1)
        meant = f"did you mean \\{near[0]}? " if near else ""
        raise WrongCommand(f"there is no command \\{name}{plus}; {meant}\\? lists them")
    rest = rest.strip()
    found.run(shell, rest if name in _RAW else rest.rstrip(";").strip())


def _first_word(text: str) -> str | None:
    found = split_words(text)
    return found[0] if found else None


def _describe(shell: CommandContext, text: str) -> None:
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


def _tables(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.relations(shell.connection, "table", text or None))


def _views(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.relations(shell.connection, "view", text or None))


def _materialized_views(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.relations(shell.connection, "materialized view", text or None))


def _indexes(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.indexes(shell.connection, text or None))


def _sequences(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.sequences(shell.connection, text or None))


def _macros(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.macros(shell.connection, text or None))


def _types(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.types(shell.connection, text or None))


def _schemas(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.schemas(shell.connection))


def _roles(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.roles(shell.connection))


def _privileges(shell: CommandContext, text: str) -> None:
    shell.show_facts(describing.privileges(shell.connection, text or None))


def _warehouse(shell: CommandContext, text: str) -> None:
    session = shell.connection.client_session
    shell.write_message(f"Warehouse: {session.place}")
    shell.write_message(f"Dialect: {session.dialect}; user: {session.user or 'nobody'}")
    if session.settings.as_of:
        shell.write_message(f"Reading as of: {session.settings.as_of}")
    shell.show_facts(describing.schemas(shell.connection))


def _connection(shell: CommandContext, text: str) -> None:
    connect_elsewhere(shell, "")


def _timing(shell: CommandContext, text: str) -> None:
    shell.options.timing = parse_switch(shell.options.timing, text or None)
    shell.write_message(f"Timing is {'on' if shell.options.timing else 'off'}.")


def _expanded(shell: CommandContext, text: str) -> None:
    shell.options.set_print_option("expanded", text or None)
    shell.write_message(f"Expanded display is {shell.options.expanded}.")


def _pset(shell: CommandContext, text: str) -> None:
    name, _, value = text.partition(" ")
    if not name:
        for option, current in shell.options.print_options().items():
            shell.write_message(f"{option:10} {current}")
        return
    given = value.strip()
    shell.options.set_print_option(name, (split_words(given) or [""])[0] if given else None)
    shell.write_message(f"{name} is {shell.options.print_options().get(name, given)}.")


def _set(shell: CommandContext, text: str) -> None:
    name, _, value = text.partition(" ")
    options = shell.options
    if not name:
        switches = (
            *(shell.connection.autocommit, options.stop_on_error),
            *(options.confirm, options.vi_keys),
        )
        for switch, held_on in zip(_SWITCHES, switches, strict=True):
            shell.write_message(f"{switch} = {'on' if held_on else 'off'}")
        for known, held in options.variables.items():
            shell.write_message(f"{known} = {display_text(held)}")
    elif name.upper() == "ON_ERROR_STOP":
        options.stop_on_error = parse_switch(False, value.strip() or "on")
    elif name.upper() == "AUTOCOMMIT":
        shell.connection.autocommit = parse_switch(False, value.strip() or "on")
    elif name.upper() == "CONFIRM":
        options.confirm = parse_switch(False, value.strip() or "on")
    elif name.upper() == "VI_KEYS":
        options.vi_keys = parse_switch(False, value.strip() or "on")
    elif not name.isidentifier():
        raise WrongCommand("\\set takes a name and a value; :name then stands for the value")
    else:
        options.variables[name] = variable_value(value.strip())


def _unset(shell: CommandContext, text: str) -> None:
    shell.options.variables.pop(text, None)


def _include(shell: CommandContext, text: str) -> None:
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


def _output(shell: CommandContext, text: str) -> None:
    path = text if text.startswith("|") else _first_word(text)
    shell.redirect(path)
    shell.write_message(f"Results go to {path}." if path else "Results go to the screen.")


def _copy(shell: CommandContext, text: str) -> None:
    said = copy_command(shell.connection, text, shell.data, shell.out)
    if said:
        shell.write_message(said)


def _preview(shell: CommandContext, text: str) -> None:
    from gateway.shell.previewing import show_preview

    if not text:
        raise WrongCommand("\\preview takes a statement")
    show_preview(shell, text.rstrip(";"))


def _statement_help(shell: CommandContext, text: str) -> None:
    shell.write_message(statement_help(text))


def _help(shell: CommandContext, text: str) -> None:
    width = max(len(c.usage) for c in COMMANDS.values())
    lines = [f"  {known.usage:{width}}  {known.about}" for known in COMMANDS.values()]
    lines += ["", "Statements end with a semicolon. Ctrl-C stops a statement, Ctrl-D leaves."]
    shell.show_text("\n".join(lines))


def _quit(shell: CommandContext, text: str) -> None:
    raise ExitShell


COMMANDS: dict[str, Backslash] = {
    "d": Backslash("\\d [NAME]", "tables and views, or the parts of one", _describe),
    "dt": Backslash("\\dt [PATTERN]", "tables", _tables),
    "dv": Backslash("\\dv [PATTERN]", "views", _views),
    "dm": Backslash("\\dm [PATTERN]", "materialized views", _materialized_views),
    "di": Backslash("\\di [PATTERN]", "indexes", _indexes),
    "ds": Backslash("\\ds [PATTERN]", "sequences", _sequences),
    "df": Backslash("\\df [PATTERN]", "macros, which others call functions", _macros),
    "dT": Backslash("\\dT [PATTERN]", "types", _types),
    "dn": Backslash("\\dn", "schemas", _schemas),
    "du": Backslash("\\du", "roles", _roles),
    "password": Backslash(
        "\\password [ROLE]", "change a password; only its verifier is sent", set_password
    ),
    "dp": Backslash("\\dp [PATTERN]", "privileges on tables, views and sequences", _privileges),
    "l": Backslash("\\l", "the warehouse, your user and role", _warehouse),
    "conninfo": Backslash("\\conninfo", "the warehouse or server, and your user", _connection),
    "c": Backslash("\\c [PATH|URL]", "connect to another warehouse", connect_elsewhere),
    "preview": Backslash("\\preview STATEMENT", "how a statement would be rewritten", _preview),
    "g": Backslash(
        "\\g [FILE]", "run the statement, its rows to a file or |program", buffer_commands.run_again
    ),
    "gx": Backslash("\\gx [FILE]", "as \\g, one line per column", buffer_commands.run_expanded),
    "gset": Backslash(
        "\\gset [PREFIX]", "keep its only row as variables", buffer_commands.keep_values
    ),
    "gexec": Backslash(
        "\\gexec", "run each value of its rows as a statement", buffer_commands.run_cells
    ),
    "gdesc": Backslash("\\gdesc", "the columns it would give", buffer_commands.describe_result),
    "crosstabview": Backslash(
        "\\crosstabview [COLUMNS]",
        "its result with a column per value: rows, headers, cells, order",
        buffer_commands.show_crosstab,
    ),
    "watch": Backslash(
        "\\watch [SECONDS]", "run it again and again; c=TIMES m=ROWS", buffer_commands.watch
    ),
    "e": Backslash("\\e [FILE]", "edit the statement, or a file, and run it", buffer_commands.edit),
    "sv": Backslash(
        "\\sv VIEW", "show the statement that creates a view", definition_commands.show_view
    ),
    "sf": Backslash(
        "\\sf MACRO", "show the statement that creates a macro", definition_commands.show_macro
    ),
    "ev": Backslash("\\ev VIEW", "edit that statement, and run it", definition_commands.edit_view),
    "ef": Backslash("\\ef MACRO", "the same for a macro", definition_commands.edit_macro),
    "p": Backslash("\\p", "show the statement", buffer_commands.show_buffer),
    "r": Backslash("\\r", "discard what is typed", buffer_commands.reset_buffer),
    "w": Backslash("\\w FILE", "write the statement to a file", buffer_commands.write_buffer),
    "s": Backslash("\\s [FILE]", "show or save the history", buffer_commands.show_history),
    "timing": Backslash("\\timing [on|off]", "show how long each statement takes", _timing),
    "x": Backslash("\\x [on|off|auto]", "one line per column", _expanded),
    "pset": Backslash(
        "\\pset [OPTION VALUE]", "format, null, rows, expanded, footer, pager", _pset
    ),
    "set": Backslash(
        "\\set [NAME VALUE]", "a variable, for which :name stands; " + ", ".join(_SWITCHES), _set
    ),
    "unset": Backslash("\\unset NAME", "remove a variable", _unset),
    "prompt": Backslash("\\prompt [TEXT] NAME", "ask the user for a value", outside.ask),
    "if": Backslash("\\if TRUE|FALSE", "run what follows if it is true", branching.begin),
    "elif": Backslash("\\elif TRUE|FALSE", "else if this is true", branching.next_condition),
    "else": Backslash("\\else", "else", branching.otherwise),
    "endif": Backslash("\\endif", "the end of \\if", branching.end),
    "i": Backslash("\\i FILE", "run the statements of a file", _include),
    "o": Backslash("\\o [FILE]", "results to a file or |program, or to the screen again", _output),
    "copy": Backslash(
        "\\copy TABLE FROM FILE", "load a file; TABLE|(QUERY) TO FILE writes one", _copy
    ),
    "echo": Backslash("\\echo TEXT", "write a text to the screen", outside.echo),
    "qecho": Backslash("\\qecho TEXT", "write a text where results go", outside.echo_to_output),
    "warn": Backslash("\\warn TEXT", "write a text to standard error", outside.warn),
    "cd": Backslash("\\cd [FOLDER]", "change the folder", outside.change_folder),
    "!": Backslash("\\! [COMMAND]", "run a command of the system", outside.run_program),
    "h": Backslash("\\h [STATEMENT]", "the form of a statement", _statement_help),
    "?": Backslash("\\?", "this list", _help),
    "q": Backslash("\\q", "leave", _quit),
}
