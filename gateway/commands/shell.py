"""``palimpsest shell``: an interactive prompt, or statements from -c, files and pipes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TextIO

import click

from gateway import __version__, errors
from gateway.commands.connecting import (
    Access,
    access_options,
    connect,
    fail_to_connect,
    telling_if_made,
)
from gateway.commands.failure import exit_on_error
from gateway.opening.url_secrets import without_password
from gateway.shell.command_context import ExitShell
from gateway.shell.formats import FORMATS
from gateway.shell.shell import Shell
from gateway.shell.startup_file import run_startup_file
from gateway.wording import counted


@click.command("shell")
@click.argument("url", required=False, metavar="[PATH|URL]")
@click.option(
    "-c",
    "--command",
    "commands",
    multiple=True,
    metavar="SQL",
    help="Run this and leave; you may repeat this option.",
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.File("r"),
    help="Run a script and leave; - is standard input.",
)
@click.option(
    "-t",
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="table",
    show_default=True,
    help="Form of the rows.",
)
@click.option(
    "-v",
    "--set",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help=r"As \set; ON_ERROR_STOP=1 ends a script at its first error.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no greeting, and no counts below tables.")
@click.option(
    "-X",
    "--no-startup-file",
    "startup_file",
    flag_value=False,
    default=True,
    help="Do not run the startup file, which otherwise runs before the first prompt.",
)
@access_options
def command(
    url: str | None,
    commands: tuple[str, ...],
    files: tuple[TextIO, ...],
    form: str,
    variables: tuple[str, ...],
    quiet: bool,
    startup_file: bool,
    access: Access,
) -> None:
    """Open a SQL shell on a warehouse; make the warehouse if there is none.

    Statements end with a semicolon and may take several lines; \\? lists the backslash commands.
    Ctrl-C stops the running statement, Ctrl-D leaves. Without a terminal, or with -c or -f, the
    shell reads statements and leaves; then its exit code is 1 if any of them failed.

    \b
    Examples:
      palimpsest shell
      palimpsest shell palimpsest:////srv/sales
      palimpsest shell palimpsest://ada@db.example:5433/
      palimpsest shell -c '\\dt' -c 'SELECT count(*) FROM hr.depts'
      palimpsest shell -v ON_ERROR_STOP=1 -f load.sql
    """
    place = url or access.warehouse
    chosen = Access(place, access.dialect, access.user, access.as_of)
    try:
        with telling_if_made(place):
            connection = connect(chosen, "shell", make=True)
    except errors.Error as error:
        fail_to_connect(error, as_json=False)
    interactive = not commands and not files and sys.stdin.isatty() and sys.stdout.isatty()
    with exit_on_error():
        shell = Shell(
            connection,
            interactive=interactive,
            place=place,
            open_place=lambda other: connect(replace(chosen, warehouse=other), "shell"),
        )
        shell.options.form = form
        shell.options.footer = not quiet
        try:
            for pair in variables:
                name, _, value = pair.partition("=")
                shell.run_backslash(f"\\set {name} {value}")
            if interactive:
                code = _run_prompt(shell, startup_file=startup_file, quiet=quiet)
            else:
                code = _run(shell, commands, files)
        finally:
            shell.close()
            shell.connection.rollback()
            shell.connection.close()
    sys.exit(code)


def _run(shell: Shell, commands: tuple[str, ...], files: tuple[TextIO, ...]) -> int:
    try:
        for text in commands:
            shell.run_input(text)
        for file in files:
            shell.run_script(file.read())
        if not commands and not files:
            shell.run_script(sys.stdin.read())
    except ExitShell as leave:
        return leave.code
    return 1 if shell.failures else 0


def _run_prompt(shell: Shell, *, startup_file: bool, quiet: bool) -> int:
    from gateway.shell.prompt import run_repl

    if startup_file:
        try:
            run_startup_file(shell)
        except ExitShell as leave:
            return leave.code
    if not quiet:
        tables = sum(1 for _ in shell.connection.client_session.catalog.tables())
        count = counted(tables, "table")
        where = without_password(shell.place)
        shell.write_message(
            f"Palimpsest {__version__} on {where} ({count}). \\? for help, \\q to leave."
        )
    return run_repl(shell)
