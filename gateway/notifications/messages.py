"""The text of a message about events: a title, and a line for each. Pure."""

from __future__ import annotations

import json

from gateway.notifications.outbox import EventBatch
from gateway.wording import counted
from journal.model.lazy_dataclass import dataclass
from journal.records.event_rows import EventRow

_DATA_MAX = 400


@dataclass(frozen=True, slots=True)
class EventMessage:
    """A message in plain text; ``is_failure`` where one of its events failed."""

    title: str
    body: str
    is_failure: bool


def message_of(batch: EventBatch, place: str) -> EventMessage:
    """The message about the events of a store."""
    failed = sum(row.status == "FAILED" for row in batch.events)
    title = f"Palimpsest {place}: {counted(len(batch.events), 'event')}"
    if len(batch.events) == 1:
        (row,) = batch.events
        title = f"Palimpsest {place}: {row.name} {row.status}{_entity_text(row)}"
    elif failed:
        title += f", {failed} failed"
    lines = [_line(row) for row in batch.events]
    if batch.lost:
        lines.insert(0, f"{counted(batch.lost, 'earlier event')} were removed before this message.")
    return EventMessage(title, "\n".join(lines), failed > 0)


def _line(row: EventRow) -> str:
    at = f"{row.happened_at:%Y-%m-%d %H:%M:%S} UTC"
    more = ", ".join(f"{name}: {value}" for name, value in json.loads(row.data).items())
    shown = f" ({more[:_DATA_MAX]})" if more else ""
    return f"{at} {row.name} {row.status}{_entity_text(row)} by {row.user_name}{shown}"


def _entity_text(row: EventRow) -> str:
    entity = "" if row.entity is None else f" {row.entity_kind} {row.entity}"
    nominal = "" if row.nominal_time is None else f" of {row.nominal_time:%Y-%m-%dT%H:%MZ}"
    return f"{entity}{nominal}"
