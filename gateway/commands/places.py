"""A file on the command line: a path of this machine, or a URL of another file system."""

from __future__ import annotations

from pathlib import Path

import click

from journal.stores.elsewhere import is_elsewhere, local_path


class Place(click.ParamType[str]):
    """Checks paths as far as this machine knows; what lies elsewhere is found out later."""

    name = "file"

    def __init__(self, *, exists: bool = False) -> None:
        self._path = click.Path(exists=exists, dir_okay=False, path_type=Path)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The place as text; fails for paths that cannot be meant."""
        if not is_elsewhere(value):
            self._path.convert(str(local_path(value)), param, ctx)
        return value
