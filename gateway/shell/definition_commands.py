r"""``\sv``, ``\sf``, ``\ev``, ``\ef``: the statements that make views and macros, as in psql."""

from __future__ import annotations

from typing import Any

import click

from gateway.session.typed_names import table_name
from gateway.shell.command_arguments import WrongCommand
from gateway.shell.command_context import CommandContext
from gateway.shell.describing import catalog_of, find_relation
from journal.model.schema import TableName, View


def show_view(shell: CommandContext, text: str) -> None:
    r"""``\sv VIEW``: write the statement that makes a view again."""
    shell.show_text(_view(shell, text, r"\sv"))


def show_macro(shell: CommandContext, text: str) -> None:
    r"""``\sf MACRO``: write the statement that makes a macro again."""
    shell.show_text(_macro(shell, text, r"\sf"))


def edit_view(shell: CommandContext, text: str) -> None:
    r"""``\ev VIEW``: edit that statement, and run what a semicolon ends."""
    _edit(shell, _view(shell, text, r"\ev"))


def edit_macro(shell: CommandContext, text: str) -> None:
    r"""``\ef MACRO``: the same for a macro."""
    _edit(shell, _macro(shell, text, r"\ef"))


def _edit(shell: CommandContext, statement: str) -> None:
    edited = click.edit(statement + "\n", extension=".sql")
    if edited is not None:
        shell.replace_buffer(edited)


def _view(shell: CommandContext, text: str, command: str) -> str:
    _check_named(text, command)
    if not isinstance(find_relation(shell.connection, text), View):
        raise WrongCommand(f"there is no view {text}; \\dv lists them")
    ((sql,),) = _rows(shell, f"SHOW CREATE VIEW {text}")
    return str(sql).replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1)


def _macro(shell: CommandContext, text: str, command: str) -> str:
    _check_named(text, command)
    session = shell.connection.client_session
    wanted = table_name(text, catalog_of(shell.connection), session.settings.schema).key
    forms = _rows(shell, "SELECT schema, name, form, kind, body FROM system.macros")
    forms = [row for row in forms if TableName(row[0], row[1]).key == wanted]
    if not forms:
        raise WrongCommand(f"there is no macro {text}; \\df lists them")
    bodies = []
    for _, name, form, kind, body in forms:
        source = f"TABLE {body}" if kind == "table" else body
        bodies.append(f"{form.removeprefix(name)} AS {source}")
    return f"CREATE OR REPLACE MACRO {text}" + ",\n  ".join(bodies)


def _check_named(text: str, command: str) -> None:
    if not text:
        raise WrongCommand(f"{command} takes a name")


def _rows(shell: CommandContext, sql: str) -> list[tuple[Any, ...]]:
    with shell.connection.cursor() as cursor:
        return list(cursor.execute(sql).fetchall())
