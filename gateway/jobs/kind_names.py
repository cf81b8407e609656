"""The names of all kinds of jobs: built in, and from installed packages. Imports none of them."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

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
}


def kind_names() -> list[str]:
    """The names of all kinds, ours first."""
    found = sorted({e.name for e in entry_points(group=GROUP)} - OURS.keys())
    return [*OURS, *found]


def kind_entry_point(name: str) -> EntryPoint | None:
    """Where an installed package has a kind; None if none does."""
    return next((e for e in entry_points(group=GROUP) if e.name == name), None)
