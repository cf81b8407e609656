"""``palimpsest access``: everything about a person, as a package they alone can open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from gateway.commands.connecting import Access, access_options, connected
from gateway.commands.failure import fail, failing
from gateway.commands.places import LocalFolder, Place
from gateway.errors import mapped, mapping
from journal.errors import PalimpsestError
from journal.stores.elsewhere import read_file, write_file

PASSPHRASE = click.option(
    "--passphrase",
    envvar="PALIMPSEST_PASSPHRASE",
    show_envvar=True,
    prompt=True,
    hide_input=True,
    help="Locks the package; send it another way than the package.",
)


@click.group("access")
def command() -> None:
    """Tell people what is known about them: all versions, encrypted, with an expiry.

    \b
    Examples:
      palimpsest access create --subject email=ada@example.org ada.package
      palimpsest access open ada.package --to ada
    """


@command.command("create")
@click.argument("file", type=Place())
@click.option("--subject", multiple=True, required=True, metavar="TYPE=VALUE", help="Who.")
@click.option("--days", default=30, show_default=True, help="How long it can be opened.")
@PASSPHRASE
@access_options
def create(file: str, subject: tuple[str, ...], days: int, passphrase: str, access: Access) -> None:
    """Write a package of JSON and Parquet to FILE, all versions of all rows that name somebody.

    FILE may be a URL of any file system that fsspec knows: s3://bucket/ada.package.

    \b
    Examples:
      palimpsest access create --subject email=ada@example.org --days 14 ada.package
    """
    from gateway.erasers import eraser_of
    from gateway.erasing import subjects_of
    from journal.erasure.access import collect

    with connected(access, "access") as connection:
        with failing(), mapping():
            expires = datetime.now(UTC) + timedelta(days=days)
            eraser = eraser_of(connection.session)
            data, told = collect(
                eraser.journal,
                eraser.sight,
                subjects_of(list(subject), []),
                passphrase,
                expires,
                connection.session.user or "somebody",
            )
            write_file(file, data)
    for found in told:
        click.echo(f"  {found.table}: {found.why or f'{found.rows} row versions'}")
    click.echo(f"{file}: {len(data):,} bytes, to be opened until {expires:%Y-%m-%d %H:%M} UTC.")


@command.command("open")
@click.argument("file", type=Place(exists=True))
@click.option("--to", "target", required=True, type=LocalFolder(), help="A folder.")
@PASSPHRASE
def open_file(file: str, target: Path, passphrase: str) -> None:
    """Unpack the package FILE into a folder.

    \b
    Examples:
      palimpsest access open ada.package --to ada
    """
    from journal.erasure.package import open_package

    try:
        package = open_package(read_file(file), passphrase, datetime.now(UTC))
    except PalimpsestError as error:
        fail(mapped(error))
    target.mkdir(parents=True, exist_ok=True)
    for name, data in package.files.items():
        (target / Path(name).name).write_bytes(data)
    click.echo(f"{len(package.files)} files in {target}.")
