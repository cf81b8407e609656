"""Rows of fences: which attempt of another store's instance may commit here, or has committed.

    OPEN    the attempt with this fence may commit
    CLOSED  it may not any more, and none before it
    COMMITTED  it has, of this run of the instance

Whoever changes a row holds the commit lock. Decides nothing; commits nothing.
"""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records.governance_tables import INSTANCE_FENCES
from journal.records.statements import by, delete, execute, insert, select

OPEN, CLOSED, COMMITTED = "OPEN", "CLOSED", "COMMITTED"
_ONE = select(INSTANCE_FENCES, (), by("control", "instance"))
_OF_CONTROL = select(INSTANCE_FENCES, (), by("control"), ["instance"])
_REMOVE = delete(INSTANCE_FENCES, by("control", "instance"))
_REMOVE_SEEN = delete(INSTANCE_FENCES, by("control", "instance", "fence", "state"))
_ADD = insert(INSTANCE_FENCES)


@dataclass(frozen=True, slots=True)
class FenceRow:
    """The fence of an instance: the newest attempt that was begun here, and its ``run``.

    ``version`` is that of its commit, ``detail`` what the scheduler's store records of it (JSON).
    """

    control: str
    instance: str
    fence: int
    run: int
    state: str
    version: Version | None = None
    detail: str | None = None
    changed_at: datetime | None = None


def load_fence(session: RecordSession, control: str, instance: str) -> FenceRow | None:
    """The fence of an instance of the store ``control``."""
    found = execute(session, _ONE, [control, instance])
    return FenceRow(*found[0]) if found else None


def load_fences(session: RecordSession, control: str) -> list[FenceRow]:
    """The fences of all instances of a store."""
    return [FenceRow(*row) for row in execute(session, _OF_CONTROL, [control])]


def put_fence(session: RecordSession, row: FenceRow) -> None:
    """Put a fence in the place of the one that its instance had."""
    execute(session, _REMOVE, [row.control, row.instance])
    execute(session, _ADD, list(astuple(row)))


def remove_fence(session: RecordSession, row: FenceRow) -> None:
    """Remove a fence, unless it has another number or state by now."""
    execute(session, _REMOVE_SEEN, [row.control, row.instance, row.fence, row.state])
