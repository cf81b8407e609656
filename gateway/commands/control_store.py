"""Finds the control store that commands for entities and instances use.

-w on the command line > PALIMPSEST_CONTROL_STORE > [control] store of the file that
PALIMPSEST_CONFIG names > PALIMPSEST_WAREHOUSE > ./warehouse
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from gateway.activity.log_settings import CONFIG
from journal.model.errors import Code, PalimpsestError

VARIABLE = "PALIMPSEST_CONTROL_STORE"
TABLE, KEY = "control", "store"


def control_store(environment: Mapping[str, str] = os.environ) -> str | None:
    """The control store that environment or file name, a URL or a path; None where neither does.

    Raises SETTING_VALUE for a file that cannot be read, or names none there.
    """
    given, path = environment.get(VARIABLE), environment.get(CONFIG)
    if given or not path:
        return given or None
    try:
        with Path(path).open("rb") as handle:
            table = tomllib.load(handle).get(TABLE, {})
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PalimpsestError(
            Code.SETTING_VALUE, f"{path} cannot be read: {error}", advice=f"{CONFIG} names it"
        ) from error
    # A value that is no table is the address of palimpsest serve --control.
    found = table.get(KEY) if isinstance(table, dict) else None
    if found is None or (isinstance(found, str) and found.strip()):
        return found
    raise PalimpsestError(
        Code.SETTING_VALUE,
        f"[{TABLE}] {KEY} of {path} is {found!r}",
        advice='name a store: store = "palimpsest:////srv/control"',
    )
