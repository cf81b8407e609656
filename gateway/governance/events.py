"""Events: what happened to entities, instances, data and requests, as rows of ``system.events``.

An event of something that was done is written in the transaction that does it, so that neither is
there without the other. One of something that failed has a transaction of its own, as the failed
one is undone. Names and statuses are the labels of metrics: they are few, and hold no value.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any

from gateway.governance.acting_session import ActingSession
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import RecordSession
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records.event_rows import EventRow, add_event

_LOG = logging.getLogger("palimpsest.events")
_TEXT_MAX = 2_000


class EventName(StrEnum):
    """What can happen. Each is SUCCEEDED or FAILED, but for those that are one of both."""

    ENTITY_SUBMIT = "entity.submit"
    ENTITY_UPDATE = "entity.update"
    ENTITY_SCHEDULE = "entity.schedule"
    ENTITY_SUSPEND = "entity.suspend"
    ENTITY_RESUME = "entity.resume"
    ENTITY_TOUCH = "entity.touch"
    ENTITY_DELETE = "entity.delete"
    INSTANCE_GENERATE = "instance.generate"
    """An instance came to be."""
    INSTANCE_RUN = "instance.run"
    """An attempt at an instance ended, well or not."""
    INSTANCE_KILL = "instance.kill"
    INSTANCE_SUSPEND = "instance.suspend"
    INSTANCE_RESUME = "instance.resume"
    INSTANCE_RERUN = "instance.rerun"
    INSTANCE_RETRY = "instance.retry"
    """It is tried again by its policy."""
    INSTANCE_RETRIES_EXHAUSTED = "instance.retries_exhausted"
    INSTANCE_TIMEOUT = "instance.timeout"
    INSTANCE_LATE_DATA = "instance.late_data"
    """Data came after it was read, within the cut-off."""
    INSTANCE_PAST_CUT_OFF = "instance.past_cut_off"
    """Data came after it was read, too late to run anything again."""
    INSTANCE_LATE_RERUN = "instance.late_rerun"
    DATA_DELETE = "data.delete"
    """Retention removed an instance of data."""
    DATA_ARCHIVE = "data.archive"
    DATA_REPLICATE = "data.replicate"
    DATA_REPLICATE_RETRY = "data.replicate_retry"
    DATA_REPLICATE_RETRIES_EXHAUSTED = "data.replicate_retries_exhausted"
    DATA_PROMOTE = "data.promote"
    DATA_IMPORT = "data.import"
    DATA_EXPORT = "data.export"
    SLA_LATE_START = "sla.late_start"
    SLA_LATE_END = "sla.late_end"
    SLA_LOW = "sla.low"
    """An instance is not there at the mark of danger."""
    SLA_HIGH = "sla.high"
    """An instance is not there at the mark at which it counts as missed."""
    REQUEST_RECEIVE = "request.receive"
    REQUEST_APPROVE = "request.approve"
    REQUEST_DENY = "request.deny"
    REQUEST_COMPLETE = "request.complete"
    REQUEST_CANCEL = "request.cancel"
    REQUEST_CALLBACK = "request.callback"
    """Nobody took a status callback, however often it was tried."""
    REQUEST_DUE = "request.due"
    """A person's request comes near the date by which it must be answered."""
    SAFE_MODE_ON = "safe_mode.on"
    SAFE_MODE_OFF = "safe_mode.off"
    ROLLBACK_FAILED = "operation.rollback_failed"
    """An operation of several steps failed, and so did undoing it: somebody has to look."""
    ROLLED_BACK = "operation.rolled_back"


class EventStatus(StrEnum):
    """How what happened ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


def record_event(
    session: ActingSession,
    records: RecordSession,
    name: EventName,
    entity_kind: str | None,
    entity: str | None,
    *,
    nominal: datetime | None = None,
    status: EventStatus = EventStatus.SUCCEEDED,
    duration_s: float | None = None,
    data: Mapping[str, Any] | None = None,
) -> EventRow:
    """Add an event in the transaction of ``records``, which must hold the commit lock.

    ``entity_kind`` and ``entity`` are None for what is about no entity. ``data`` is written as
    JSON: it holds names and counts, never a person's identifier or a secret. Gives the row with
    its number.

    >>> with session.journal.exclusive_session() as records:  # doctest: +SKIP
    ...     record_event(session, records, EventName.INSTANCE_RERUN, "process", "daily", nominal=at)
    ...     records.commit()
    """
    return add_event(
        records,
        event_row(
            *(session, name, entity_kind, entity),
            nominal=nominal,
            status=status,
            duration_s=duration_s,
            data=data,
        ),
    )


def event_row(
    session: ActingSession,
    name: EventName,
    entity_kind: str | None,
    entity: str | None,
    *,
    nominal: datetime | None = None,
    status: EventStatus = EventStatus.SUCCEEDED,
    duration_s: float | None = None,
    data: Mapping[str, Any] | None = None,
) -> EventRow:
    """The row of an event, without its number, for whoever adds several at once."""
    return EventRow(
        0,
        to_datetime(session.journal.clock.now()),
        name.value,
        status.value,
        entity_kind,
        entity,
        nominal,
        session.recorded_user or system_user(),
        None if duration_s is None else max(0, round(duration_s * 1_000_000)),
        json.dumps(dict(data or {}), sort_keys=True, default=str),
    )


def record_failure(
    session: ActingSession,
    name: EventName,
    entity_kind: str | None,
    entity: str | None,
    error: PalimpsestError,
    *,
    nominal: datetime | None = None,
    duration_s: float | None = None,
) -> None:
    """Add an event of what failed, in a transaction of its own.

    What a role may not do, and what a store that takes no writes refuses, is no event: otherwise
    somebody without a right could drive the events of others out. The event has no message that
    may quote values of rows. If the event cannot be written
    the log says so, and the error of the caller goes its way.
    """
    if error.code in _NO_EVENTS:
        return
    data = {"code": error.code.value.code, "error": error.recorded[:_TEXT_MAX]}
    try:
        with session.journal.exclusive_session() as records:
            record_event(
                *(session, records, name, entity_kind, entity),
                nominal=nominal,
                status=EventStatus.FAILED,
                duration_s=duration_s,
                data=data,
            )
            records.commit()
    except PalimpsestError as unwritten:
        _LOG.warning("no event of %s that failed could be written: %s", name, unwritten.message)


@contextmanager
def noting_failure(
    session: ActingSession,
    name: EventName,
    entity_kind: str | None,
    entity: str | None,
    *,
    nominal: datetime | None = None,
) -> Iterator[None]:
    """Inside the block an error becomes an event, too; it must not hold the commit lock."""
    try:
        yield
    except PalimpsestError as error:
        record_failure(session, name, entity_kind, entity, error, nominal=nominal)
        raise


_NO_EVENTS = frozenset({Code.PRIVILEGE, Code.READ_ONLY, Code.STORE_WRITE})
