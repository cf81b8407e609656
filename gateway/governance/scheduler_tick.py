"""One look of the scheduler at the records: makes instances, moves their states, begins some.

    due schedules -> instances, WAITING
    WAITING -> READY where the inputs are there; TIMED_OUT past the limit
    RUNNING -> READY where the runner is gone; TIMED_OUT, or READY again, past the limit
    READY   -> RUNNING, as parallel and order allow
    ended   -> WAITING where late data came

Whoever looks holds the scheduler's lock, and a fencing token that each of its transactions checks:
one that goes on after it lost the lock records nothing. Nothing runs here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.governance.catching_up import due_times
from gateway.governance.dataset_availability import DatasetAvailability, KeptAnswers
from gateway.governance.entity import Entity, EntityKey, EntityKind
from gateway.governance.entity_operations import entity_of
from gateway.governance.entity_scheduling import SCHEDULED
from gateway.governance.events import EventName, EventStatus, record_event
from gateway.governance.instance_states import InstanceEvent, InstanceState
from gateway.governance.instance_transitions import changed_instance
from gateway.governance.late_looks import LateLook, first_look, look_at_inputs
from gateway.governance.process_inputs import (
    DataSpan,
    instance_id,
    instance_inputs,
    instance_outputs,
)
from gateway.governance.process_rules import STEPS, ProcessRules, RunOrder, process_rules
from gateway.governance.process_runner import StartedInstance
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import StoreSession
from journal.records import entity_rows, instance_rows, schedule_rows
from journal.records.instance_rows import AttemptRow, DataUse, InstanceFilter, InstanceRow

if TYPE_CHECKING:
    from gateway.session.session import Session

LEASE = "instances"
EXECUTION = "EXECUTION"
SCHEDULES_AT_ONCE = 20
"""Of how many processes one transaction makes instances."""
_LIVE = ("WAITING", "READY", "RUNNING")
_S = InstanceState


class SchedulerTick:
    """One look at the records of a store; see the module's head.

    ``owner`` names the scheduler, ``is_alive`` says whether another one is still there, ``mine``
    are the attempts that run in this process, by instance and fence. ``kept`` are answers of
    earlier looks.
    """

    def __init__(
        self,
        session: Session,
        owner: str,
        now: datetime,
        is_alive: Callable[[str], bool],
        mine: Collection[tuple[str, int]],
        kept: KeptAnswers,
    ) -> None:
        self._session = session
        self._journal = session.journal
        self._owner = owner
        self._now = now
        self._is_alive = is_alive
        self._mine = mine
        self._kept = kept
        self._fence: int | None = None
        self._known: dict[EntityKey, Entity] = {}
        self._versions: dict[EntityKey, int] = {}
        self._alive: dict[str, bool] = {}
        self.has_more = False
        """True if another look would find something to do at once."""

    def run(self, slots: int) -> list[StartedInstance]:
        """Look, and begin at most so many instances; those that are RUNNING for us now."""
        with self._journal.reading_session() as records:
            due = schedule_rows.due_schedules(records, "process", SCHEDULED, self._now)
        if due:
            self._load_entities()
            self._make_instances()
        with self._journal.reading_session() as records:
            wanted = InstanceFilter(life_cycle=EXECUTION, states=_LIVE)
            live = instance_rows.list_instances(records, wanted)
            late = instance_rows.instances_to_check(records, self._now, EXECUTION)
        if not live and not late:
            return []
        if not due:
            self._load_entities()
        there = DatasetAvailability(self._session, self._known, self._kept)
        looks = [look for row in late if (look := self._late_look(row, there)) is not None]
        changes = self._changes(live, there)
        ready = self._ready(live, changes)
        if not looks and not changes and not (ready and slots):
            return []
        return self._record(changes, looks, ready, there, slots)

    def _load_entities(self) -> None:
        with self._journal.reading_session() as records:
            rows = [row for row in entity_rows.load_entities(records) if row.ended_at is None]
        for row in rows:
            entity = entity_of(row)
            self._known[entity.key] = entity
            self._versions[entity.key] = row.version

    def _process(self, row: InstanceRow) -> Entity | None:
        return self._known.get((EntityKind.PROCESS, row.entity))

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

    def _make_instances(self) -> None:
        with self._journal.exclusive_session() as records:
            self._check_fence(records)
            due = schedule_rows.due_schedules(records, "process", SCHEDULED, self._now)
            self.has_more = len(due) > SCHEDULES_AT_ONCE
            for schedule in due[:SCHEDULES_AT_ONCE]:
                process = self._known.get((EntityKind.PROCESS, schedule.name))
                if process is None or schedule.next_at is None:
                    continue
                found = due_times(process, schedule.next_at, self._now)
                self._add_instances(records, process, found.nominal)
                schedule_rows.move_schedule(records, schedule.kind, schedule.name, found.next_at)
                is_due = found.next_at is not None and found.next_at <= self._now
                self.has_more = self.has_more or is_due
            records.commit()

    def _add_instances(
        self, records: StoreSession, process: Entity, nominal: Sequence[datetime]
    ) -> None:
        if not nominal:
            return
        span = InstanceFilter(
            entity=process.name, life_cycle=EXECUTION, since=nominal[0], until=nominal[-1]
        )
        there = {row.id for row in instance_rows.list_instances(records, span)}
        rows, uses = [], []
        for moment in nominal:
            instance = instance_id(process.name, moment)
            if instance in there:
                continue
            rows.append(
                InstanceRow(
                    *(instance, "process", process.name, moment, EXECUTION, _S.WAITING.value),
                    version=self._versions[process.key],
                    created_at=self._now,
                    waiting_since=self._now,
                )
            )
            inputs = instance_inputs(process, self._known, moment, lambda _n, _m: True).spans
            outputs = instance_outputs(process, self._known, moment)
            uses += _uses(instance, "input", inputs) + _uses(instance, "output", outputs)
        instance_rows.add_instances(records, rows)
        instance_rows.add_data(records, uses)
        if rows:
            record_event(
                *(self._session, records, EventName.INSTANCE_GENERATE, "process", process.name),
                nominal=rows[-1].nominal,
                data={"instances": len(rows)},
            )

    def _changes(
        self, live: Sequence[InstanceRow], there: DatasetAvailability
    ) -> dict[str, tuple[InstanceRow, InstanceEvent | None, tuple[str, ...]]]:
        """What happens to instances by themselves: row, event, and the inputs that are missing."""
        found: dict[str, tuple[InstanceRow, InstanceEvent | None, tuple[str, ...]]] = {}
        for row in live:
            process = self._process(row)
            if process is None:
                found[row.id] = (row, InstanceEvent.KILL, ())
                continue
            rules = process_rules(process)
            if row.state == _S.RUNNING:
                if not self._runs(row):
                    found[row.id] = (row, InstanceEvent.LOSE_RUNNER, ())
                elif row.deadline is not None and row.deadline <= self._now:
                    again = rules.retry.on_timeout and rules.retry.next_try(row.tries, self._now)
                    event = InstanceEvent.RETRY if again else InstanceEvent.TIME_OUT
                    found[row.id] = (row, event, ())
            elif row.state == _S.WAITING:
                inputs = instance_inputs(process, self._known, row.nominal, there.is_there)
                since = row.waiting_since or self._now
                if not inputs.missing:
                    found[row.id] = (row, InstanceEvent.INPUTS_READY, ())
                elif since + rules.timeout <= self._now:
                    found[row.id] = (row, InstanceEvent.TIME_OUT, inputs.missing)
                elif inputs.missing != row.missing:
                    found[row.id] = (row, None, inputs.missing)
        return found

    def _runs(self, row: InstanceRow) -> bool:
        if row.owner == self._owner:
            return (row.id, row.fence) in self._mine
        owner = row.owner or ""
        if owner not in self._alive:
            self._alive[owner] = self._is_alive(owner)
        return self._alive[owner]

    def _ready(
        self,
        live: Sequence[InstanceRow],
        changes: dict[str, tuple[InstanceRow, InstanceEvent | None, tuple[str, ...]]],
    ) -> dict[str, list[InstanceRow]]:
        """The instances that may begin, by process, as many and in such order as it says.

        What the look itself makes READY is among them.
        """
        by_process: dict[str, list[InstanceRow]] = defaultdict(list)
        running: dict[str, int] = defaultdict(int)
        turned = {InstanceEvent.INPUTS_READY, InstanceEvent.LOSE_RUNNER}
        for row in live:
            change = changes.get(row.id)
            event = None if change is None else change[1]
            if event in turned or (row.state == _S.READY and event is None):
                if row.not_before is None or row.not_before <= self._now:
                    by_process[row.entity].append(row)
            elif row.state == _S.RUNNING and event is None:
                running[row.entity] += 1
        found: dict[str, list[InstanceRow]] = {}
        for name, rows in by_process.items():
            rules = process_rules(self._known[EntityKind.PROCESS, name])
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
        changes: dict[str, tuple[InstanceRow, InstanceEvent | None, tuple[str, ...]]],
        looks: Sequence[LateLook],
        ready: dict[str, list[InstanceRow]],
        there: DatasetAvailability,
        slots: int,
    ) -> list[StartedInstance]:
        with self._journal.exclusive_session() as records:
            self._check_fence(records)
            changed: dict[str, InstanceRow] = {}
            for row, event, missing in changes.values():
                after = self._apply(records, row, event, missing)
                if after is not None:
                    changed[row.id] = after
            for look in looks:
                look.record(self._session, records, self._now)
            self.has_more = self.has_more or any(look.late for look in looks)
            started: list[StartedInstance] = []
            busy = self._running_now(records, ready)
            for name, rows in sorted(ready.items(), key=lambda item: item[1][0].nominal):
                current = [changed.get(row.id, row) for row in rows]
                rules = process_rules(self._known[EntityKind.PROCESS, name])
                if rules.order is RunOrder.LAST_ONLY:
                    current = self._let_give_way(records, current)
                free = rules.parallel - busy.get(name, 0)
                for row in current[: max(0, min(free, slots - len(started)))]:
                    one = self._start(records, row, rules, there)
                    if one is not None:
                        started.append(one)
            records.commit()
        return started

    def _running_now(
        self, records: StoreSession, ready: dict[str, list[InstanceRow]]
    ) -> dict[str, int]:
        """How many instances of processes run, as of this transaction."""
        if not ready:
            return {}
        wanted = InstanceFilter(life_cycle=EXECUTION, states=(_S.RUNNING.value,))
        return {name: n for name, _state, n in instance_rows.count_states(records, wanted)}

    def _apply(
        self,
        records: StoreSession,
        row: InstanceRow,
        event: InstanceEvent | None,
        missing: tuple[str, ...],
    ) -> InstanceRow | None:
        if event is None:
            after = replace(row, missing=missing)
            return after if instance_rows.change_instance(records, row, after) else None
        more: dict[str, object] = {}
        if event is InstanceEvent.RETRY:
            process = self._process(row)
            assert process is not None
            more["not_before"] = process_rules(process).retry.next_try(row.tries, self._now)
        if event is InstanceEvent.TIME_OUT and missing:
            more |= {"error": f"waited in vain for {', '.join(missing)}"}
        elif event in {InstanceEvent.TIME_OUT, InstanceEvent.RETRY}:
            more |= {"error": "it ran for longer than its timeout"}
        changed = changed_instance(records, row, event, self._now, **more)
        if changed is not None and event in {InstanceEvent.TIME_OUT, InstanceEvent.RETRY}:
            record_event(
                *(self._session, records, EventName.INSTANCE_TIMEOUT, row.kind, row.entity),
                nominal=row.nominal,
                status=EventStatus.FAILED,
                data={"missing": list(missing)} if missing else {"attempt": row.fence},
            )
        return changed

    def _let_give_way(
        self, records: StoreSession, rows: Sequence[InstanceRow]
    ) -> list[InstanceRow]:
        """Kill all but the newest."""
        said = f"{rows[0].id} took its place: the order is LAST_ONLY"
        for row in rows[1:]:
            changed_instance(records, row, InstanceEvent.KILL, self._now, error=said)
        return [rows[0]]

    def _start(
        self,
        records: StoreSession,
        row: InstanceRow,
        rules: ProcessRules,
        there: DatasetAvailability,
    ) -> StartedInstance | None:
        process = self._process(row)
        assert process is not None
        spans = instance_inputs(process, self._known, row.nominal, there.is_there).spans
        outputs = instance_outputs(process, self._known, row.nominal)
        late = tuple(json.loads(row.consumed or "{}").get("late", ()))
        handlers = {} if rules.late is None else rules.late.handlers
        is_handled = bool(late) and all(handlers.get(name) for name in late)
        step = "late" if is_handled else next(step for step in STEPS if step in process.fields)
        changed = changed_instance(
            *(records, row, InstanceEvent.START, self._now),
            tries=row.tries + 1,
            fence=row.fence + 1,
            version=self._versions[process.key],
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
        instance_rows.add_attempt(records, attempt)
        tables = {s.dataset: t.id for s in spans if (t := there.table_of(s.dataset)) is not None}
        check_at = first_look(process, self._known, spans, there, self._now)
        return StartedInstance(
            changed, attempt, process, spans, tuple(outputs), tables, late, check_at
        )

    def _late_look(self, row: InstanceRow, there: DatasetAvailability) -> LateLook | None:
        process = self._process(row)
        if process is None:
            return LateLook(row)
        return look_at_inputs(row, process, self._known, there, self._now)


def _uses(instance: str, use: str, spans: Sequence[DataSpan]) -> list[DataUse]:
    return [
        DataUse(instance, use, span.dataset, span.first, span.last)
        for span in spans
        if span.first is not None and span.last is not None
    ]
