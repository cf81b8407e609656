"""What a scheduler keeps between its looks, so that each reads only what has changed.

The entities count until the records' stamp of them is another. What an instance waits for is known
until something that it depends on has changed: a definition, the version of a table, or an
instance that fills the dataset, which events tell of. The truth stays in the records: whoever
forgets all of this looks longer, and finds the same.
"""

from __future__ import annotations

from gateway.governance.dataset_availability import DatasetAvailability, KeptAnswers
from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.process_rules import (
    Availability,
    ProcessRules,
    process_rules,
    store_profile,
)
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records import entity_rows, event_rows
from journal.records.instance_rows import LiveInstance

Stamp = tuple[object, ...] | None
"""What an answer depends on; None where it has to be asked each time."""


@dataclass(frozen=True, slots=True)
class WaitingAnswer:
    """What of its inputs an instance lacked, when what it depends on was as ``stamp`` says."""

    instance: LiveInstance
    stamp: Stamp
    missing: tuple[str, ...]


class SchedulerMemory:
    """What one scheduler knows of a store's entities and waiting instances; see the module."""

    def __init__(self) -> None:
        self.known: dict[EntityKey, Entity] = {}
        self.versions: dict[EntityKey, int] = {}
        self.answers: KeptAnswers = {}
        self._waiting: dict[str, WaitingAnswer] = {}
        self.has_made = False
        """True after a look that made instances, and did nothing else."""
        self.failing: set[str] = set()
        """The datasets that the last look could not look at."""
        self.store_profiles: set[str] = set()
        """The profiles in whose stores processes run, or ran."""
        self._processes: dict[str, Entity] = {}
        self._entities: tuple[object, ...] | None = None
        self._filled_by: dict[str, set[str]] = {}
        self._produced: dict[str, int] = {}
        self._newest_event: int | None = None

    def refresh(self, records: RecordSession) -> None:
        """Read entities, and of events, what is new since the last time."""
        stamp = entity_rows.entities_stamp(records)
        if stamp != self._entities:
            self._load_entities(records)
            self._entities = stamp
        self._read_events(records)

    @property
    def is_filled(self) -> bool:
        """True once it has been refreshed."""
        return self._entities is not None

    def process(self, name: str) -> Entity | None:
        """A process that counts."""
        return self._processes.get(name)

    def rules(self, name: str) -> ProcessRules:
        """How the instances of a process that counts run."""
        return process_rules(self._processes[name])

    def stamps(self, process: Entity, there: DatasetAvailability) -> Stamp:
        """What the answers for the instances of a process depend on, as it is now."""
        found: list[object] = [self.versions[process.key]]
        for use in process.fields.get("inputs", ()):
            name = use["dataset"]
            dataset = self.known[EntityKind.DATASET, name]
            how = there.availability_of(dataset)
            if how is Availability.FLAG:
                return None
            is_produced = how is Availability.PRODUCED
            found += [
                self.versions[dataset.key],
                how,
                self._produced.get(name, 0) if is_produced else there.table_version(name),
            ]
        return tuple(found)

    def answer(self, row: LiveInstance, stamp: Stamp) -> WaitingAnswer | None:
        """What was found of a waiting instance, if nothing that it depends on has changed."""
        found = self._waiting.get(row.id)
        if found is None or stamp is None or found.stamp != stamp:
            return None
        return found if _same_wait(found.instance, row) else None

    def keep(self, row: LiveInstance, stamp: Stamp, missing: tuple[str, ...]) -> None:
        """Keep what an instance lacks."""
        self._waiting[row.id] = WaitingAnswer(row, stamp, missing)

    def keep_only(self, ids: set[str]) -> None:
        """Forget instances that wait no more."""
        if len(self._waiting) > len(ids):
            self._waiting = {k: v for k, v in self._waiting.items() if k in ids}

    def _load_entities(self, records: RecordSession) -> None:
        self.known.clear()
        self._processes.clear()
        self.versions.clear()
        self._filled_by.clear()
        self.store_profiles.clear()
        for row in entity_rows.load_entities(records):
            entity = Entity(EntityKind(row.kind), row.name, row.definition)
            if entity.kind is EntityKind.PROCESS:
                # What was made by a former definition may be run again.
                filled = self._filled_by.setdefault(row.name, set())
                filled.update(use["dataset"] for use in entity.fields.get("outputs", ()))
                self.store_profiles.update(filter(None, [store_profile(entity)]))
            if row.ended_at is None:
                self.known[entity.key] = entity
                if entity.kind is EntityKind.PROCESS:
                    self._processes[entity.name] = entity
                self.versions[entity.key] = row.version

    def _read_events(self, records: RecordSession) -> None:
        before = self._newest_event
        if before is None:
            self._newest_event = event_rows.newest_event(records)
            return
        found = event_rows.events_by_entity(records, before)
        if not found:
            return
        newest = max(highest for highest, _ in found.values())
        self._newest_event = newest
        if sum(number for _, number in found.values()) != newest - before:
            self._waiting.clear()  # Some were removed before this look.
            return
        for name, (highest, _) in found.items():
            for dataset in self._filled_by.get(name or "", ()):
                self._produced[dataset] = highest


def _same_wait(old: LiveInstance, new: LiveInstance) -> bool:
    return (old.fence, old.waiting_since) == (new.fence, new.waiting_since)
