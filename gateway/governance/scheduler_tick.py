"""One look of the scheduler at the records: makes instances, moves their states, begins some.

    due schedules -> instances, WAITING
    WAITING -> READY where the inputs are there; TIMED_OUT past the limit
    RUNNING -> READY where the runner is gone; TIMED_OUT, or READY again, past the limit
    READY   -> RUNNING, as parallel and order allow
    ended   -> WAITING where late data came

Whoever looks holds the scheduler's lock, and a fencing token that each of its transactions checks:
one that goes on after it lost the lock records nothing. A look makes and moves so many instances,
and says if there are more. Nothing runs here.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.dataset_availability import DatasetAvailability
from gateway.governance.entity import EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.entity_scheduling import SCHEDULED
from gateway.governance.instance_making import EXECUTION, MADE_AT_ONCE, make_instances
from gateway.governance.instance_states import InstanceEvent, InstanceState
from gateway.governance.instance_transitions import Settled, UnsettledError
from gateway.governance.late_looks import LateLook, first_look, look_at_inputs
from gateway.governance.looked_instances import InstanceChanges
from gateway.governance.process_inputs import DataSpan, instance_inputs, instance_outputs
from gateway.governance.process_rules import STEPS, ProcessRules, RunOrder, store_profile
from gateway.governance.process_stores import ProcessStores
from gateway.governance.scheduler_memory import SchedulerMemory
from gateway.governance.settling import settle
from gateway.governance.started_instance import StartedInstance
from gateway.governance.waiting_instances import look_at_waiting
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import instance_rows, schedule_rows
from journal.records.instance_rows import AttemptRow, InstanceFilter, InstanceRow, LiveInstance

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.processes")
LEASE = "instances"
MOVED_AT_ONCE = 100
"""How many instances become READY in one transaction."""
_S = InstanceState


@dataclass(frozen=True, slots=True)
class FoundChange:
    """What happens to an instance by itself; without an event only what it lacks is another."""

    row: LiveInstance
    event: InstanceEvent | None
    missing: tuple[str, ...] = ()


class SchedulerTick:
    """One look at the records of a store; see the module's head.

    ``owner`` names the scheduler, ``is_alive`` says whether another one is still there, ``mine``
    are the attempts that run in this process, by instance and fence. ``memory`` is what earlier
    looks found, ``stores`` are those in which processes with a profile run.
    """

    def __init__(
        self,
        session: Session,
        owner: str,
        now: datetime,
        is_alive: Callable[[str], bool],
        mine: Collection[tuple[str, int]],
        memory: SchedulerMemory,
        stores: ProcessStores,
    ) -> None:
        self._stores = stores
        self._session = session
        self._journal = session.journal
        self._owner = owner
        self._now = now
        self._is_alive = is_alive
        self._mine = mine
        self._memory = memory
        self._fence: int | None = None
        self._alive: dict[str, bool] = {}
        self.has_more = False
        """True if another look would find something to do at once."""

    def run(self, slots: int) -> list[StartedInstance]:
        """Look, and begin at most so many instances; those that are RUNNING for us now.

        Where as many instances are due as one look makes, it does nothing else, and the next look
        takes up those that are there: neither keeps the other waiting, and no look is long.
        """
        with self._journal.reading_session() as records:
            due = schedule_rows.due_schedules(records, "process", SCHEDULED, self._now, 1)
            if due or not self._memory.is_filled:
                # A look with nothing to do reads what the first one with much to do needs.
                self._memory.refresh(records)
        has_made, self._memory.has_made = self._memory.has_made, False
        if due and not has_made:
            if self._make_instances():
                self.has_more = self._memory.has_made = True
                return []
        elif due:
            self.has_more = True
        with self._journal.reading_session() as records:
            live = instance_rows.live_instances(records, EXECUTION)
            late = instance_rows.instances_to_check(records, self._now, EXECUTION)
            if not live and not late:
                return []
            self._memory.refresh(records)
        there = DatasetAvailability(
            *(self._session, self._memory.known, self._memory.answers), self._stores
        )
        looks = [look for row in late if (look := self._late_look(row, there)) is not None]
        changes = self._changes(live, there)
        ready = self._ready(live, changes)
        if not looks and not changes and not (ready and slots):
            return []
        return self._record_settled(changes, looks, ready, there, slots)

    def _record_settled(
        self,
        changes: dict[str, FoundChange],
        looks: Sequence[LateLook],
        ready: dict[str, list[LiveInstance]],
        there: DatasetAvailability,
        slots: int,
    ) -> list[StartedInstance]:
        """Record what was found, having asked other stores of instances that it stops.

        Those whose store is out of reach stay as they are.
        """
        settled: dict[str, int] = {}
        out_of_reach: set[str] = set()
        while True:
            lease = self._fence
            try:
                return self._record(changes, looks, ready, there, slots, (settled, out_of_reach))
            except UnsettledError as found:
                self._fence = lease  # What took it was undone.
                try:
                    if found.row.id in settled:
                        out_of_reach.add(found.row.id)  # It has begun anew; the next look sees it.
                    else:
                        settle(self._session, self._stores, found.row, settled)
                        settled.setdefault(found.row.id, found.row.fence)
                except PalimpsestError as error:
                    _LOG.warning("%s cannot be stopped: %s", found.row.id, error)
                    out_of_reach.add(found.row.id)

    def _check_fence(self, records: StoreSession) -> None:
        """Take the lease, or raise if somebody else has taken it since we did."""
        if self._fence is None:
            self._fence = schedule_rows.take_lease(records, LEASE, self._owner, self._now)
        elif schedule_rows.lease_fence(records, LEASE) != self._fence:
            raise PalimpsestError(
                Code.INSTANCE_FENCED,
                "another scheduler has taken over, and this one records nothing more",
                advice="it goes on when the other has ended",
            )

    def _make_instances(self) -> bool:
        """Make the instances that are due; True if it made as many as one look makes."""
        with self._journal.exclusive_session() as records:
            self._check_fence(records)
            due = schedule_rows.due_schedules(
                *(records, "process", SCHEDULED, self._now), MADE_AT_ONCE + 1
            )
            self.has_more = make_instances(self._session, records, due, self._memory, self._now)
            records.commit()
        return self.has_more or len(due) >= MADE_AT_ONCE

    def _changes(
        self, live: Sequence[LiveInstance], there: DatasetAvailability
    ) -> dict[str, FoundChange]:
        """What happens to instances by themselves, by id."""
        found: dict[str, FoundChange] = {}
        waiting: list[LiveInstance] = []
        for row in live:
            if self._memory.process(row.entity) is None:
                found[row.id] = FoundChange(row, InstanceEvent.KILL)
            elif row.state == _S.RUNNING:
                event = self._end_of_attempt(row)
                if event is not None:
                    found[row.id] = FoundChange(row, event)
            elif row.state == _S.WAITING:
                waiting.append(row)
        look = look_at_waiting(waiting, self._memory, there)
        turned = 0
        for row in waiting:
            missing = look.missing.get(row.id)
            if missing is None:
                continue
            change = self._waiting_change(row, missing)
            turned += change is not None
            if change is not None and turned <= MOVED_AT_ONCE:
                found[row.id] = change
        self.has_more = self.has_more or look.has_more or turned > MOVED_AT_ONCE
        return found

    def _end_of_attempt(self, row: LiveInstance) -> InstanceEvent | None:
        """What ends an attempt that runs; None if it goes on."""
        if not self._runs(row):
            return InstanceEvent.LOSE_RUNNER
        if row.deadline is None or row.deadline > self._now:
            return None
        retry = self._rules(row).retry
        again = retry.on_timeout and retry.next_try(row.tries, self._now)
        return InstanceEvent.RETRY if again else InstanceEvent.TIME_OUT

    def _waiting_change(self, row: LiveInstance, missing: tuple[str, ...]) -> FoundChange | None:
        if not missing:
            return FoundChange(row, InstanceEvent.INPUTS_READY)
        if (row.waiting_since or self._now) + self._rules(row).timeout <= self._now:
            return FoundChange(row, InstanceEvent.TIME_OUT, missing)
        return None if missing == row.missing else FoundChange(row, None, missing)

    def _rules(self, row: LiveInstance | InstanceRow) -> ProcessRules:
        return self._memory.rules(row.entity)

    def _runs(self, row: LiveInstance) -> bool:
        if row.owner == self._owner:
            return (row.id, row.fence) in self._mine
        owner = row.owner or ""
        if owner not in self._alive:
            self._alive[owner] = self._is_alive(owner)
        return self._alive[owner]

    def _ready(
        self, live: Sequence[LiveInstance], changes: dict[str, FoundChange]
    ) -> dict[str, list[LiveInstance]]:
        """The instances that may begin, by process, as many and in such order as it says.

        What the look itself makes READY is among them.
        """
        by_process: dict[str, list[LiveInstance]] = defaultdict(list)
        running: dict[str, int] = defaultdict(int)
        turned = {InstanceEvent.INPUTS_READY, InstanceEvent.LOSE_RUNNER}
        for row in live:
            change = changes.get(row.id)
            event = None if change is None else change.event
            if event in turned or (row.state == _S.READY and event is None):
                if row.not_before is None or row.not_before <= self._now:
                    by_process[row.entity].append(row)
            elif row.state == _S.RUNNING and event is None:
                running[row.entity] += 1
        found: dict[str, list[LiveInstance]] = {}
        for name, rows in by_process.items():
            rules = self._rules(rows[0])
            free = rules.parallel - running[name]
            newest_first = rules.order is not RunOrder.FIFO
            ordered = sorted(rows, key=lambda row: row.nominal, reverse=newest_first)
            if rules.order is RunOrder.LAST_ONLY:
                found[name] = ordered  # The older ones give way, also while one runs.
            elif free > 0:
                found[name] = ordered[:free]
        return found

    def _record(
        self,
        changes: dict[str, FoundChange],
        looks: Sequence[LateLook],
        ready: dict[str, list[LiveInstance]],
        there: DatasetAvailability,
        slots: int,
        known: tuple[Settled, Collection[str]],
    ) -> list[StartedInstance]:
        wanted = self._concerned(ready, slots)
        touched = {*changes, *(row.id for rows in wanted.values() for row in rows)}
        with self._journal.exclusive_session() as records:
            self._check_fence(records)
            made = InstanceChanges(self._session, records, touched, self._now, *known)
            for change in changes.values():
                self._apply(made, change)
            for look in looks:
                look.record(self._session, records, self._now)
            self.has_more = self.has_more or any(look.late for look in looks)
            started: list[StartedInstance] = []
            busy = self._running_now(records, wanted)
            for name, rows in wanted.items():
                rules = self._rules(rows[0])
                current = [row for one in rows if (row := made.current(one.id)) is not None]
                if rules.order is RunOrder.LAST_ONLY:
                    current = _give_way(made, current)
                free = rules.parallel - busy.get(name, 0) + made.stopped[name]
                for row in current[: max(0, min(free, slots - len(started)))]:
                    one = self._start(made, row, rules, there)
                    if one is not None:
                        started.append(one)
            made.record()
            records.commit()
        return started

    def _concerned(
        self, ready: dict[str, list[LiveInstance]], slots: int
    ) -> dict[str, list[LiveInstance]]:
        """Those of the ready instances that a look with so many slots has to do with."""
        found: dict[str, list[LiveInstance]] = {}
        left = slots
        for name, rows in sorted(ready.items(), key=lambda item: item[1][0].nominal):
            is_last_only = self._rules(rows[0]).order is RunOrder.LAST_ONLY
            part = rows if is_last_only else rows[: max(left, 0)]
            if part:
                found[name] = part
                left -= min(len(part), 1 if is_last_only else len(part))
        return found

    def _running_now(
        self, records: StoreSession, ready: dict[str, list[LiveInstance]]
    ) -> dict[str, int]:
        """How many instances of processes run, as of this transaction."""
        if not ready:
            return {}
        wanted = InstanceFilter(life_cycle=EXECUTION, states=(_S.RUNNING.value,))
        return {name: n for name, _state, n in instance_rows.count_states(records, wanted)}

    def _apply(self, made: InstanceChanges, change: FoundChange) -> None:
        row, event, missing = change.row, change.event, change.missing
        if event is None:
            made.set_missing(row, missing)
            return
        more: dict[str, Any] = {}
        if event is InstanceEvent.RETRY:
            more["not_before"] = self._rules(row).retry.next_try(row.tries, self._now)
        if event is InstanceEvent.TIME_OUT and missing:
            more |= {"error": f"waited in vain for {', '.join(missing)}"}
        elif event in {InstanceEvent.TIME_OUT, InstanceEvent.RETRY}:
            more |= {"error": "it ran for longer than its timeout"}
        if made.apply(row, event, **more) and event in {
            InstanceEvent.TIME_OUT,
            InstanceEvent.RETRY,
        }:
            made.add_timeout(row, missing)

    def _start(
        self,
        made: InstanceChanges,
        row: InstanceRow,
        rules: ProcessRules,
        there: DatasetAvailability,
    ) -> StartedInstance | None:
        process, known = self._memory.process(row.entity), self._memory.known
        assert process is not None
        spans = instance_inputs(process, known, row.nominal, there.is_there).spans
        outputs = instance_outputs(process, known, row.nominal)
        late = tuple(json.loads(row.consumed or "{}").get("late", ()))
        handlers = {} if rules.late is None else rules.late.handlers
        is_handled = bool(late) and all(handlers.get(name) for name in late)
        step = "late" if is_handled else next(step for step in STEPS if step in process.fields)
        profile = store_profile(process)
        is_fenced = profile is not None and step in {"sql", "late"}
        changed = made.apply(
            *(row, InstanceEvent.START),
            profile=profile,
            unsettled=row.unsettled or is_fenced,
            tries=row.tries + 1,
            fence=row.fence + 1,
            version=self._memory.versions[process.key],
            owner=self._owner,
            started_at=self._now,
            ended_at=None,
            deadline=self._now + rules.timeout,
        )
        if changed is None:
            return None
        attempt = AttemptRow(
            *(row.id, changed.fence, row.runs, step, "RUNNING", self._owner, self._now)
        )
        made.attempts.append(attempt)
        read = _tables_read(profile, spans, known, there)
        check_at = first_look(process, known, spans, there, self._now)
        return StartedInstance(
            *(changed, attempt, process, spans, tuple(outputs), read[0], late, check_at),
            *(read[1], read[2], row.unsettled),
        )

    def _late_look(self, row: InstanceRow, there: DatasetAvailability) -> LateLook | None:
        process = self._memory.process(row.entity)
        if process is None:
            return LateLook(row)
        return look_at_inputs(row, process, self._memory.known, there, self._now)


def _tables_read(
    profile: str | None,
    spans: Sequence[DataSpan],
    known: KnownEntities,
    there: DatasetAvailability,
) -> tuple[dict[str, int], dict[str, str], dict[str, Version]]:
    """What an attempt reads, by dataset: tables here by id, tables of its own store by name.

    Of tables in other stores there is the version of now, which is no newer than what it reads.
    """
    here: dict[str, int] = {}
    at_profile: dict[str, str] = {}
    versions: dict[str, Version] = {}
    for span in spans:
        fields = known[EntityKind.DATASET, span.dataset].fields
        place, table = fields.get("profile"), there.table_of(span.dataset)
        if place is None and profile is None:
            if table is not None:
                here[span.dataset] = table.id
            continue
        if place == profile:
            at_profile[span.dataset] = fields["table"]
        versions[span.dataset] = there.table_version(span.dataset)
    return here, at_profile, versions


def _give_way(made: InstanceChanges, rows: Sequence[InstanceRow]) -> list[InstanceRow]:
    """Kill all but the newest."""
    if not rows:
        return []
    said = f"{rows[0].id} took its place: the order is LAST_ONLY"
    for row in rows[1:]:
        made.apply(row, InstanceEvent.KILL, error=said)
    return [rows[0]]
