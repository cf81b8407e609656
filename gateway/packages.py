"""What installed packages add: kinds of stores and of jobs, by the entry points of a group."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


def entry_points(group: str) -> EntryPoints:
    """The entry points of a group, by every package of the folders that Python imports from.

    Their metadata is read once for each group; what is installed later is found by the next
    process, or once ``sys.path`` has changed.
    """
    return _entry_points(group, tuple(sys.path))


@cache
def _entry_points(group: str, _folders: tuple[str, ...]) -> EntryPoints:
    # It takes longer to load than most statements take.
    from importlib import metadata

    return metadata.entry_points(group=group)
