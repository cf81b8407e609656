"""Who runs this process, for records of somebody who gave no name."""

from __future__ import annotations

import getpass
import os


def system_user() -> str:
    """The name of the system's user, or its number where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
