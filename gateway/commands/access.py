"""``palimpsest access``: write what tables hold about a person as an encrypted package."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.param_types import LocalFolder, Place
from gateway.wording import counted
from journal.files.object_storage import read_file, write_file
from journal.local_engine.file_modes import OWNER, make_folder, write_private

F = TypeVar("F", bound=Callable[..., Any])


def _passphrase_option(twice: bool) -> Callable[[F], F]:
    def read_passphrase(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str:
        if value is None and not sys.stdin.isatty():
            raise click.UsageError(
                "a passphrase is needed, and there is no terminal to ask at:"
                " set PALIMPSEST_PASSPHRASE"
            )
        if value is None:
            value = click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice)
        return str(value)

    return click.option(
        "--passphrase",
        envvar="PALIMPSEST_PASSPHRASE",
        show_envvar=True,
        callback=read_passphrase,
        help="Locks the package; send it another way than the package.",
    )


@click.group("access")
def command() -> None:
    """Write all that tables hold about a person as an encrypted package that expires.

    \b
    Examples:
      palimpsest access create --subject email=ada@example.org ada.package
      palimpsest access open ada.package --to ada
    """


@command.command("create")
@click.argument("file", type=Place())
@click.option("--subject", multiple=True, required=True, metavar="TYPE=VALUE", help="The person.")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=30,
    show_default=True,
    help="How many days the package can be opened.",
)
@_passphrase_option(twice=True)
@JSON_OPTION
@upkeep_options
def create(
    file: str,
    subject: tuple[str, ...],
    days: int,
    passphrase: str,
    as_json: bool,
    access: Access,
) -> None:
    """Write a package of JSON and Parquet to FILE, all versions of all rows that name somebody.

    FILE may be a URL of any file system that fsspec knows: s3://bucket/ada.package. The package
    contains what a legal hold keeps from being erased. It leaves out what waits to be erased: then
    the exit code is 1, and each table says how many keys wait, for which request.

    \b
    Examples:
      palimpsest access create --subject email=ada@example.org --days 14 ada.package
    """
    from gateway.procedures import requests
    from gateway.procedures.erasing import subjects_of

    with open_connection(access, "access", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            expires = datetime.now(UTC) + timedelta(days=days)
            data, told = connection.client_session.perform(
                requests.access_package, subjects_of(list(subject), []), passphrase, expires
            )
            write_file(file, data)
    if as_json:
        tables = [asdict(found) for found in told]
        size = {"file": file, "bytes": len(data), "expires": expires.isoformat()}
        click.echo(json.dumps({**size, "tables": tables}, ensure_ascii=False))
    else:
        for found in told:
            click.echo(f"  {found.table}: {found.description}")
        click.echo(f"{file}: {len(data):,} bytes, to be opened until {expires:%Y-%m-%d %H:%M} UTC.")
    if any(found.hidden for found in told):
        sys.exit(STATEMENT)


@command.command("open")
@click.argument("file", type=Place(exists=True))
@click.option("--to", "target", required=True, type=LocalFolder(), help="A folder.")
@_passphrase_option(twice=False)
def open_file(file: str, target: Path, passphrase: str) -> None:
    """Unpack the package FILE into a folder.

    \b
    Examples:
      palimpsest access open ada.package --to ada
    """
    from journal.erasure.package import open_package

    with exit_on_error():
        package = open_package(read_file(file), passphrase, datetime.now(UTC))
        make_folder(target, OWNER)
        for name, data in package.files.items():
            write_private(target / Path(name).name, data)
    click.echo(f"{counted(len(package.files), 'file')} in {target}.")
