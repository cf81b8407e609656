"""The options of ``import`` and ``export`` that concern databases; see ``gateway.shell``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from gateway.shell.jdbc_databases import JdbcLogin
from gateway.shell.key_conflicts import LOADS
from journal.model.lazy_dataclass import dataclass

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class JdbcOptions:
    """What was said of a database; all of it None or empty with a file."""

    table: str | None = None
    query: str | None = None
    columns: tuple[str, ...] = ()
    incremental: str | None = None
    load: str | None = None
    user: str | None = None
    password_env: str | None = None
    password_file: str | None = None
    master: str | None = None

    def login(self, use: str) -> JdbcLogin:
        """The login for READ or WRITE."""
        return JdbcLogin(use, self.user, self.password_env, self.password_file)

    def refuse_with_file(self) -> None:
        """Raise UsageError if anything was said but ``load``: it goes with a database alone."""
        if replace(self, load=None) != JdbcOptions():
            raise click.UsageError(
                "--from, --to, --query, --columns, --incremental, --login, --password-env,"
                " --password-file and --master go with a database, jdbc:.."
            )


_LOGIN = (
    click.option("--login", "jdbc_user", metavar="NAME", help="Database: the user."),
    click.option(
        "--password-env", metavar="VARIABLE", help="Database: the variable with the password."
    ),
    click.option(
        "--password-file",
        type=click.Path(),
        metavar="FILE",
        help="Database: the file with the password.",
    ),
    click.option("--master", metavar="MASTER", help="Database: the Spark master that moves rows."),
)


def reading_options(function: F) -> F:
    """Adds the options of a database that is read, handed over as one ``jdbc``."""
    return _with_options(
        function,
        (
            click.option(
                "--from", "jdbc_table", metavar="TABLE", help="Database: the table to read."
            ),
            click.option(
                "--query", "jdbc_query", metavar="SQL", help="Database: the query to read."
            ),
            click.option(
                "--columns", metavar="COL,..", help="Database: only these columns."
            ),
            click.option(
                "--incremental",
                metavar="COLUMN",
                help="Database: only rows with higher values in this column than last time.",
            ),
            click.option(
                "--load",
                type=click.Choice(LOADS),
                help="What becomes of rows whose key is in the table: append fails, merge replaces"
                " those that are there (an upsert), ignore leaves theirs out; default: append.",
            ),
            *_LOGIN,
        ),
    )  # fmt: skip


def writing_options(function: F) -> F:
    """Adds the options of a database that is written, handed over as one ``jdbc``."""
    return _with_options(
        function,
        (
            click.option(
                "--to", "jdbc_table", metavar="TABLE", help="Database: the table to write."
            ),
            click.option(
                "--incremental",
                metavar="COLUMN",
                help="Database: only rows with higher values in this column than are there.",
            ),
            click.option(
                "--load",
                type=click.Choice(["replace", "append", "merge"]),
                help="Database: replace the rows in the table, append, or merge; default: replace.",
            ),
            *_LOGIN,
        ),
    )


def _with_options(function: F, options: tuple[Callable[[Any], Any], ...]) -> F:
    def with_jdbc(
        *args: Any,
        jdbc_table: str | None,
        incremental: str | None,
        load: str | None,
        jdbc_user: str | None,
        password_env: str | None,
        password_file: str | None,
        master: str | None,
        jdbc_query: str | None = None,
        columns: str | None = None,
        **kwargs: Any,
    ) -> Any:
        named = tuple(c.strip() for c in (columns or "").split(",") if c.strip())
        given = JdbcOptions(
            *(jdbc_table, jdbc_query, named, incremental, load),
            *(jdbc_user, password_env, password_file, master),
        )
        return function(*args, jdbc=given, **kwargs)

    with_jdbc.__name__ = function.__name__
    with_jdbc.__doc__ = function.__doc__
    with_jdbc.__dict__.update(function.__dict__)
    found: Any = with_jdbc
    for option in reversed(options):
        found = option(found)
    return found  # type: ignore[no-any-return]
