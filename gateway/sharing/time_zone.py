"""The time zone of this process, by name: two processes on one machine may have different ones."""

from __future__ import annotations

import os
from pathlib import Path

_LOCAL = Path("/etc/localtime")
_FOLDER = "zoneinfo/"


def process_zone() -> str:
    """The zone that ``TZ`` names, else that of the machine; UTC where neither says."""
    named = os.environ.get("TZ", "").lstrip(":")
    if named:
        return named
    _, found, name = str(_LOCAL.resolve()).partition(_FOLDER)
    return name if found else "UTC"
