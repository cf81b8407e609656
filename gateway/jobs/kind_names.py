"""The names of all kinds of jobs: built in, and from installed packages. Imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.packages import entry_points

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "palimpsest.jobs"
OURS = {
    "compact": "gateway.jobs.compact",
    "purge": "gateway.jobs.purge",
    "access": "gateway.jobs.access",
    "retain": "gateway.jobs.retain",
    "backup": "gateway.jobs.backup",
    "restore": "gateway.jobs.restore",
    "verify": "gateway.jobs.verify",
    "vacuum": "gateway.jobs.vacuum",
    "replicate": "gateway.jobs.replicate",
    "refresh": "gateway.jobs.refresh",
}


def kind_names() -> list[str]:
    """The names of all kinds, ours first."""
    found = sorted({entry.name for entry in entry_points(GROUP)} - OURS.keys())
    return [*OURS, *found]


def kind_entry_point(name: str) -> EntryPoint | None:
    """Where an installed package has a kind; None if none does."""
    return next((entry for entry in entry_points(GROUP) if entry.name == name), None)
