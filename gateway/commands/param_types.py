"""A file or folder on the command line: of this machine, or a URL of another file system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from journal.model.errors import PalimpsestError
from journal.model.places import is_elsewhere, local_folder, local_path


class Place(click.ParamType[str]):
    """Checks paths of this machine; URLs are checked when a command uses them."""

    name = "file"

    def __init__(self, *, exists: bool = False, allow_dash: bool = False) -> None:
        self._path = click.Path(exists=exists, dir_okay=False, path_type=Path)
        self._allow_dash = allow_dash

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The place as text; fails for paths that cannot be meant."""
        if (
            not is_elsewhere(value)
            and not value.lower().startswith("jdbc:")
            and not (self._allow_dash and value == "-")
        ):
            self._path.convert(str(local_path(value)), param, ctx)
        return value


class LocalFolder(click.Path):
    """A folder that must be one of this machine: a URL is refused, not made as a folder."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The folder as a path."""
        try:
            value = local_folder(str(value))
        except PalimpsestError as error:
            self.fail(f"{error.message}. Hint: {error.advice}", param, ctx)
        return super().convert(value, param, ctx)
