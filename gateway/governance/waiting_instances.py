"""Finds what waiting instances lack, and asks again only for what has changed.

kept answer, nothing changed  -> as it was
no answer, or something did   -> asked, so many at a look; what fills datasets is read at once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from gateway.governance.dataset_availability import DatasetAvailability
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.process_inputs import instance_inputs
from gateway.governance.process_rules import Availability
from gateway.governance.scheduler_memory import SchedulerMemory, Stamp
from journal.model.lazy_dataclass import dataclass
from journal.records.instance_rows import LiveInstance

ASKED_AT_ONCE = 100
"""Of how many instances one look asks what they lack and keeps it; the rest come with the next."""


@dataclass(frozen=True, slots=True)
class WaitingLook:
    """What instances lack, by id; those that were not asked are left out, and ``has_more``."""

    missing: Mapping[str, tuple[str, ...]]
    has_more: bool


def look_at_waiting(
    rows: Sequence[LiveInstance], memory: SchedulerMemory, there: DatasetAvailability
) -> WaitingLook:
    """What each of some waiting instances lacks; their processes must be known."""
    stamps: dict[str, Stamp] = {}
    found: dict[str, tuple[str, ...]] = {}
    asked: list[LiveInstance] = []
    failing: set[str] = set()
    left, has_more = ASKED_AT_ONCE, False
    for row in rows:
        process = memory.process(row.entity)
        assert process is not None
        if row.entity not in stamps:
            stamps[row.entity] = memory.stamps(process, there)
        stamp = stamps[row.entity]
        answer = memory.answer(row, stamp)
        if answer is not None:
            found[row.id] = answer.missing
        elif stamp is None or _reads_any(process, memory.failing):
            asked.append(row)  # At every look, so it takes no turn from those whose answers stay.
        elif left:
            asked.append(row)
            left -= 1
        else:
            has_more = True
    there.prefetch_produced(_asked_of_producers(asked, memory, there))
    for row in asked:
        process = memory.process(row.entity)
        assert process is not None
        missing = instance_inputs(
            process, memory.known, row.nominal, there.is_there, there.why_not
        ).missing
        found[row.id] = missing
        why = {name: there.why_not(name) for name in _inputs(process)}
        if not any(why.values()):
            memory.keep(row, stamps[row.entity], missing)
        failing |= {name for name, error in why.items() if error is not None}
    memory.failing = failing
    memory.keep_only({row.id for row in rows})
    return WaitingLook(found, has_more)


def _asked_of_producers(
    rows: Sequence[LiveInstance], memory: SchedulerMemory, there: DatasetAvailability
) -> dict[str, tuple[datetime, datetime]]:
    """Between which moments instances ask for data that processes fill, by dataset."""
    found: dict[str, tuple[datetime, datetime]] = {}
    for row in rows:
        process = memory.process(row.entity)
        assert process is not None
        if not _reads_produced(process, memory, there):
            continue
        spans = instance_inputs(process, memory.known, row.nominal, lambda _n, _m: True).spans
        for span in spans:
            if span.first is not None and span.last is not None:
                first, last = found.get(span.dataset, (span.first, span.last))
                found[span.dataset] = (min(first, span.first), max(last, span.last))
    return found


def _reads_produced(process: Entity, memory: SchedulerMemory, there: DatasetAvailability) -> bool:
    datasets = (memory.known[EntityKind.DATASET, name] for name in _inputs(process))
    return any(there.availability_of(one) is Availability.PRODUCED for one in datasets)


def _reads_any(process: Entity, names: AbstractSet[str]) -> bool:
    return bool(names) and not names.isdisjoint(_inputs(process))


def _inputs(process: Entity) -> list[str]:
    return [use["dataset"] for use in process.fields.get("inputs", ())]
