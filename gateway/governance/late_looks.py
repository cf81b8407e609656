"""Looks at the inputs of an instance that has run, and says which have changed since.

What it consumed is on record as the version of each table; rows of the instance's own data that
changed after it are late. Deciding reads; recording is one change of the instance's row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gateway.governance.dataset_availability import DatasetAvailability
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.events import EventName, record_event
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import changed_instance
from gateway.governance.late_data import cut_off, next_look
from gateway.governance.process_inputs import DataSpan, instance_inputs, span_moments
from gateway.governance.process_rules import process_rules
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records import instance_rows
from journal.records.instance_rows import InstanceRow

if TYPE_CHECKING:
    from gateway.session.session import Session

PUT_OFF = timedelta(minutes=10)
"""After what time inputs are looked at again that could not be."""


@dataclass(frozen=True, slots=True)
class LateLook:
    """What a look found: datasets whose data changed within the cut-off, and past it.

    One that is ``put_off`` could not look at some dataset, and counts for none.
    """

    row: InstanceRow
    late: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    next_at: datetime | None = None
    put_off: bool = False

    def record(self, session: Session, records: RecordSession, now: datetime) -> None:
        """Have the instance run again, or look again later; in the session's transaction."""
        row = self.row
        if not self.late:
            checks = row.checks if self.put_off else row.checks + 1
            after = replace(row, check_at=self.next_at, checks=checks)
            is_changed = instance_rows.change_instance(records, row, after)
            if self.past and is_changed:
                self._record_found(session, records, EventName.INSTANCE_PAST_CUT_OFF, self.past)
            return
        consumed = {**json.loads(row.consumed or "{}"), "late": list(self.late)}
        changed = changed_instance(
            *(records, row, InstanceEvent.LATE_DATA, now),
            runs=row.runs + 1,
            tries=0,
            forced=True,
            consumed=json.dumps(consumed),
        )
        if changed is not None:
            self._record_found(session, records, EventName.INSTANCE_LATE_DATA, self.late)

    def _record_found(
        self, session: Session, records: RecordSession, name: EventName, datasets: Sequence[str]
    ) -> None:
        record_event(
            *(session, records, name, self.row.kind, self.row.entity),
            nominal=self.row.nominal,
            data={"datasets": list(datasets)},
        )


def look_at_inputs(
    row: InstanceRow,
    process: Entity,
    known: KnownEntities,
    there: DatasetAvailability,
    now: datetime,
) -> LateLook:
    """Compare what an instance consumed with what is there now."""
    rule = process_rules(process).late
    if rule is None:
        return LateLook(row)
    spans = instance_inputs(process, known, row.nominal, there.is_there).spans
    looked = [span for span in spans if span.dataset in rule.handlers]
    ends = _cut_offs(looked, known, there)
    versions = json.loads(row.consumed or "{}").get("versions", {})
    changed = [
        span.dataset
        for span in looked
        if span.dataset in ends
        and there.has_changes(
            span.dataset, span_moments(known, span), versions.get(span.dataset, 0)
        )
    ]
    late = tuple(name for name in dict.fromkeys(changed) if now <= ends[name])
    past = tuple(name for name in dict.fromkeys(changed) if now > ends[name])
    if not late and any(there.why_not(span.dataset) for span in looked):
        return LateLook(row, next_at=now + PUT_OFF, put_off=True)
    return LateLook(row, late, past, next_look(rule, ends, row.checks + 1, now))


def first_look(
    process: Entity,
    known: KnownEntities,
    spans: Sequence[DataSpan],
    there: DatasetAvailability,
    now: datetime,
) -> datetime | None:
    """When an instance that begins now looks for late data first; None where it never does."""
    rule = process_rules(process).late
    if rule is None:
        return None
    looked = [span for span in spans if span.dataset in rule.handlers]
    found = next_look(rule, _cut_offs(looked, known, there), 0, now)
    if found is None and any(there.why_not(span.dataset) for span in looked):
        return now + PUT_OFF  # Nobody knows the cut-off of a table that is out of reach.
    return found


def _cut_offs(
    spans: Sequence[DataSpan], known: KnownEntities, there: DatasetAvailability
) -> Mapping[str, datetime]:
    found: dict[str, datetime] = {}
    for span in spans:
        dataset = known[EntityKind.DATASET, span.dataset]
        limit = cut_off(dataset, there.policy_of(span.dataset))
        if limit is not None and span.last is not None:
            found[span.dataset] = limit.after(span.last)
    return found
