"""Rows of the notifications that were sent: one for each channel, with the last event it has."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import NOTIFICATIONS
from journal.records.statements import by, delete, execute, insert, select

_FIND, _REMOVE = select(NOTIFICATIONS, (), by("channel")), delete(NOTIFICATIONS, by("channel"))
_ADD = insert(NOTIFICATIONS)


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """A channel: all events up to ``seq`` were sent; ``owner`` sends the next until a moment."""

    channel: str
    seq: int
    owner: str | None
    claimed_until: datetime | None
    changed_at: datetime


def channel_row(session: RecordSession, channel: str) -> ChannelRow | None:
    """The row of a channel; None for one that was never sent to."""
    rows = execute(session, _FIND, [channel])
    return ChannelRow(*rows[0]) if rows else None


def put_channel(session: RecordSession, row: ChannelRow) -> None:
    """Put a row in the place of what its channel had, in the session's transaction."""
    execute(session, _REMOVE, [row.channel])
    execute(session, _ADD, list(astuple(row)))
