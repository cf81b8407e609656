"""The outbox: which events a channel has still to be told, and which it was told.

    take --claimed--> message --sent--> finish      not sent, or killed: taken again

The events themselves are the outbox, and a channel's row says how far it was told: so no event is
left out, and one is sent twice only if whoever sent it died before it could say so. A channel that
is new is told what happens from now on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gateway.governance.acting_session import ActingSession
from gateway.governance.administration import check_administrator
from gateway.notifications.event_patterns import EventPatterns
from gateway.session.operations import Advance, operation
from journal.model.lazy_dataclass import dataclass
from journal.model.version import to_datetime
from journal.records.event_rows import EventRow, load_events, newest_event
from journal.records.notification_rows import ChannelRow, channel_row, put_channel

MESSAGE_MAX = 50
"""How many events one message has."""
CLAIM_FOR = timedelta(seconds=90)
_SCANNED_MAX = 2_000


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events for one message, the oldest first.

    ``up_to`` is the number up to which all were looked at; ``lost`` counts those that were removed
    before anybody could be told of them.
    """

    events: tuple[EventRow, ...]
    up_to: int
    lost: int = 0


@operation
def take_batch(
    session: ActingSession,
    _advance: Advance,
    channel: str,
    owner: str,
    patterns: EventPatterns,
    wait: timedelta,
) -> EventBatch | None:
    """Claim the next events of a channel; None while there are none to send.

    Events wait for others up to ``wait``, or until there are ``MESSAGE_MAX``. Another ``owner``
    gets them only when the claim is over.
    """
    check_administrator(session, "to send notifications")
    now = to_datetime(session.journal.clock.now())
    with session.journal.reading_session() as records:
        known = channel_row(records, channel)
        if known is not None and newest_event(records) <= known.seq:
            return None
    with session.journal.exclusive_session() as records:
        known = channel_row(records, channel)
        if known is None:
            put_channel(records, ChannelRow(channel, newest_event(records), None, None, now))
            records.commit()
            return None
        if known.owner != owner and known.claimed_until is not None and known.claimed_until > now:
            return None
        rows = load_events(records, known.seq, _SCANNED_MAX)
        found = next_batch(rows, known.seq, patterns, now, wait)
        if found is None:
            return None
        if found.events or found.lost:
            claim = now + CLAIM_FOR
            put_channel(records, replace(known, owner=owner, claimed_until=claim, changed_at=now))
        else:
            put_channel(records, replace(known, seq=found.up_to, changed_at=now))
        records.commit()
    return found if found.events or found.lost else None


@operation
def finish_batch(
    session: ActingSession, _advance: Advance, channel: str, owner: str, up_to: int
) -> bool:
    """Note that a channel was told of all events up to a number; False where another had it."""
    check_administrator(session, "to send notifications")
    now = to_datetime(session.journal.clock.now())
    with session.journal.exclusive_session() as records:
        known = channel_row(records, channel)
        if known is None or known.owner != owner or known.seq >= up_to:
            return False
        put_channel(records, ChannelRow(channel, up_to, None, None, now))
        records.commit()
    return True


def next_batch(
    rows: Sequence[EventRow], after: int, patterns: EventPatterns, now: datetime, wait: timedelta
) -> EventBatch | None:
    """The events of ``rows`` that go into the next message; None where they wait for others. Pure.

    Without events in it a batch says up to where there is nothing to tell.
    """
    if not rows:
        return None
    lost = rows[0].seq - after - 1
    wanted = [row for row in rows if patterns.match(row.name, row.status)]
    if not wanted:
        return EventBatch((), rows[-1].seq, lost)
    if len(wanted) < MESSAGE_MAX and now - wanted[0].happened_at < wait:
        return None
    if len(wanted) > MESSAGE_MAX:
        wanted = wanted[:MESSAGE_MAX]
        return EventBatch(tuple(wanted), wanted[-1].seq, lost)
    return EventBatch(tuple(wanted), rows[-1].seq, lost)
