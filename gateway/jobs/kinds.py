"""The kinds of jobs there are: ours, and those that installed packages bring along.

A package adds a kind by an entry point in group ``palimpsest.jobs`` that leads to a ``JobKind``.
Modules are imported when their kind is asked for.
"""

from __future__ import annotations

from importlib import import_module

from gateway.jobs import kind_names
from gateway.jobs.context import JobKind
from journal.model.errors import Code, PalimpsestError


def find_kind(name: str) -> JobKind:
    """The kind of that name; ours cannot be replaced."""
    if name in kind_names.OURS:
        found = import_module(kind_names.OURS[name]).KIND
    else:
        entry = kind_names.kind_entry_point(name)
        if entry is None:
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f"there is no job {name}",
                advice="the kinds are " + ", ".join(kind_names.kind_names()),
            )
        found = entry.load()
    if not isinstance(found, JobKind):
        raise PalimpsestError(
            Code.JOB_FAILED,
            f"the entry point of the job {name} leads to {type(found).__name__}, not to a JobKind",
            advice="fix the package that provides it",
        )
    return found
