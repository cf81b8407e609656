"""The kinds of jobs there are: ours, and those that installed packages bring along.

A package adds a kind by an entry point in group ``palimpsest.jobs`` that leads to a ``JobKind``.
Modules are imported when their kind is asked for.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from gateway.jobs.context import JobKind
from journal.errors import Code, PalimpsestError

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


def names() -> list[str]:
    """The names of all kinds, ours first."""
    found = sorted({e.name for e in entry_points(group=GROUP)} - OURS.keys())
    return [*OURS, *found]


def find(name: str) -> JobKind:
    """The kind of that name; ours cannot be replaced."""
    if name in OURS:
        found = import_module(OURS[name]).KIND
    else:
        entry = next((e for e in entry_points(group=GROUP) if e.name == name), None)
        if entry is None:
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f"there is no job {name}",
                advice="there are " + ", ".join(names()),
            )
        found = entry.load()
    if not isinstance(found, JobKind):
        raise PalimpsestError(
            Code.JOB_FAILED,
            f"the entry point of the job {name} leads to {type(found).__name__}, not to a JobKind",
            advice="mend the package that brings it",
        )
    return found
