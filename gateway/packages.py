"""What installed packages add: kinds of stores and of jobs, by the entry points of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


def entry_points(group: str) -> EntryPoints:
    """The entry points of a group, by every installed package."""
    # It takes longer to load than most statements take.
    from importlib import metadata

    return metadata.entry_points(group=group)
