"""``palimpsest init``: make a warehouse."""

from __future__ import annotations

import json
import shlex

import click

from gateway import errors
from gateway.commands.connecting import (
    DEFAULT,
    JSON_OPTION,
    Access,
    connect,
    fail_to_connect,
    url_of,
)
from gateway.opening.folder_urls import parse_url
from gateway.opening.schemes import is_database
from gateway.opening.url_secrets import without_password
from journal.stores.embedded.file_names import DATABASE_FILE


@click.command("init")
@click.argument("path", default=DEFAULT, metavar="[PATH|URL]", envvar="PALIMPSEST_WAREHOUSE")
@JSON_OPTION
def command(path: str, as_json: bool) -> None:
    """Make a warehouse in a directory (./warehouse unless you name another).

    The command opens and checks an existing warehouse, and leaves it as it is. In a database, or
    behind Hive, it makes the catalog if there is none. You alone can read the files;
    PALIMPSEST_WAREHOUSE_MODE=0750, or ?warehouse_mode=0750 in a URL, lets your group read.

    \b
    Examples:
      palimpsest init
      palimpsest init /srv/sales
      palimpsest init palimpsest+postgresql://me@localhost/company
    """
    url = url_of(path)
    if is_database(url):
        _init_database(path, as_json=as_json)
        return
    try:
        with errors.mapping():
            root, _ = parse_url(url)
        existed = root is not None and (root / DATABASE_FILE).exists()
        others = root is not None and not existed and root.is_dir() and any(root.iterdir())
        with connect(Access(path), "init", make=True):
            pass
    except errors.Error as error:
        fail_to_connect(error, as_json=as_json)
    if as_json:
        shown = None if root is None else str(root.resolve())
        click.echo(json.dumps({"warehouse": shown, "url": url, "created": not existed}))
        return
    click.echo(f"{'Found' if existed else 'Made'} the warehouse {path}.")
    if others:
        click.echo("It holds other files, too; give a warehouse a folder of its own.", err=True)
    if not existed:
        word = "" if path == DEFAULT else f" {shlex.quote(path)}"
        option = word and f" -w{word}"
        click.echo(f"Next: palimpsest shell{word}")
        click.echo(f"  or: palimpsest import FILE.csv TABLE --create{option}")


def _init_database(path: str, *, as_json: bool) -> None:
    """Open the catalog of a database, which makes it where there is none."""
    try:
        with connect(Access(path), "init", make=True):
            pass
    except errors.Error as error:
        fail_to_connect(error, as_json=as_json)
    shown = without_password(path)
    if as_json:
        click.echo(json.dumps({"warehouse": shown, "url": shown}))
        return
    click.echo(f"Ready: {shown}.")
    click.echo("Next: palimpsest adopt TABLE --dry-run -w ..")
    click.echo("  or: palimpsest shell ..")
