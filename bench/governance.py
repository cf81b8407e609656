"""How long listings and looks of the scheduler take at scale: python -m bench.governance

1,000 processes, half of which read what the other half fills, 500 datasets, and 100,000 instances
by default. Of each listing and look the median of ten, in milliseconds of wall and of processor
time, beside what it may take (listings 200, looks 100). The machine may be busy with other
work; processor time tells what the work itself costs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import gateway
from gateway.governance.declarations import Declaration
from gateway.governance.entity import EntityKind
from gateway.governance.entity_operations import list_entities, recorded_now
from gateway.governance.entity_scheduling import entity_status
from gateway.governance.entity_schema import read_entity
from gateway.governance.event_list import events_after
from gateway.governance.events import EventName, record_event
from gateway.governance.instance_operations import (
    find_instances,
    instance_dependencies,
    summarize_instances,
    triage_instance,
)
from gateway.governance.process_inputs import instance_id
from gateway.governance.process_scheduler import ProcessScheduler
from gateway.session.operations import no_progress
from journal.records import entity_rows, instance_data, instance_rows, schedule_rows
from journal.records.entity_rows import EntityRow
from journal.records.instance_data import DataUse
from journal.records.instance_rows import InstanceFilter, InstanceRow
from journal.records.schedule_rows import ScheduleRow

START = datetime(2013, 1, 1, tzinfo=UTC)
STATES = ("SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "FAILED", "KILLED")
LISTING_MS, LOOK_MS = 200, 100
Figures = dict[str, dict[str, float]]


def declared(number: int) -> list[dict[str, Any]]:
    """A process; each even one fills a dataset that the next one reads."""
    common = {"every": "1 day", "start": "2013-01-01"}
    process = {"kind": "process", "name": f"process-{number}", "sql": "SELECT 1", **common}
    name = f"data-{number - number % 2}"
    if number % 2:
        span = {"dataset": name, "from": "today(0, 0)", "to": "today(0, 0)"}
        return [{**process, "inputs": [span]}]
    dataset = {
        "kind": "dataset",
        "name": name,
        "table": "main.t",
        "available": "produced",
        **common,
    }
    return [dataset, {**process, "outputs": [{"dataset": name, "instance": "today(0, 0)"}]}]


def fill(session: Any, processes: int, instances: int) -> datetime:
    """Put scheduled processes and their ended instances on record; when the next are due."""
    coming = START + timedelta(days=instances)
    for begin in range(0, processes, 50):
        rows: list[InstanceRow] = []
        uses: list[DataUse] = []
        with session.journal.exclusive_session() as records:
            for number in range(begin, min(begin + 50, processes)):
                now = recorded_now(session)
                for fields in declared(number):
                    entity = read_entity(Declaration(fields))
                    row = EntityRow(entity.kind, entity.name, 1, entity.definition, "bench", now)
                    entity_rows.add_entity(records, row)
                name = f"process-{number}"
                schedule = ScheduleRow("process", name, "SCHEDULED", coming, now, "bench")
                schedule_rows.put_schedule(records, schedule)
                for index in range(instances):
                    nominal = START + timedelta(days=index)
                    state = STATES[(number // 2 + index) % len(STATES)]
                    key = (instance_id(name, nominal), "process", name, nominal, "EXECUTION")
                    ended = {"created_at": nominal, "started_at": nominal, "ended_at": nominal}
                    rows.append(InstanceRow(*key, state, 1, fence=1, **ended))
                    use = ("input" if number % 2 else "output", f"data-{number - number % 2}")
                    uses.append(DataUse(key[0], *use, nominal, nominal))
            instance_rows.add_instances(records, rows)
            instance_data.add_uses(records, uses)
            records.commit()
    return coming


def timed(call: Callable[[], object], most: float, times: int = 10) -> dict[str, float]:
    """The median wall and processor times of a call in milliseconds, and what it may take."""
    wall, cpu = [], []
    for _ in range(times):
        began, began_cpu = time.perf_counter(), time.process_time()
        call()
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - began_cpu) * 1000)
    figures = {"wall": statistics.median(wall), "cpu": statistics.median(cpu), "at most": most}
    return {name: round(value, 1) for name, value in figures.items()}


def listings(session: Any) -> Figures:
    """What each listing takes."""

    def listing(**wanted: Any) -> Callable[[], object]:
        wanted_filter = InstanceFilter(**{"limit": 1000, **wanted})
        return lambda: find_instances(session, no_progress, wanted_filter)

    nominal, failed = START + timedelta(days=31), START + timedelta(days=3)
    calls: dict[str, Callable[[], object]] = {
        "list of a process": listing(entity="process-7"),
        "by state, by end": listing(states=("FAILED",), order="ended_at", descending=True),
        "running": listing(states=("RUNNING",)),
        "search": listing(text="2013-02-01"),
        "page 50 of all": listing(offset=50_000),
        "summary": lambda: summarize_instances(session, no_progress, InstanceFilter()),
        "dependency": lambda: instance_dependencies(session, no_progress, "process-7", nominal),
        "triage": lambda: triage_instance(session, no_progress, "process-1", failed),
        "entity list": lambda: list_entities(session, no_progress, None),
        "entity status": lambda: entity_status(session, no_progress, EntityKind.PROCESS),
        "events": lambda: events_after(session, no_progress, None, 1000),
    }
    return {name: timed(call, LISTING_MS) for name, call in calls.items()}


def looks(session: Any, coming: datetime) -> Figures:
    """What looks take: with nothing due, with all processes due at once, and while half wait."""
    moment = [coming - timedelta(hours=1)]
    with ProcessScheduler(lambda: session, now=lambda: moment[0]) as scheduler:
        found = {"nothing due": timed(scheduler.tick, LOOK_MS)}
        moment[0] = coming
        walls, cpus = [], []
        while not walls or scheduler.has_more:
            began, began_cpu = time.perf_counter(), time.process_time()
            scheduler.tick()
            walls.append((time.perf_counter() - began) * 1000)
            cpus.append((time.process_time() - began_cpu) * 1000)
        found["all due at once, each look"] = {
            "wall": round(statistics.median(walls), 1),
            "cpu": round(statistics.median(cpus), 1),
            "looks": len(walls),
            "longest cpu": round(max(cpus), 1),
            "all cpu": round(sum(cpus), 1),
            "at most": LOOK_MS,
        }
        found["half wait, nothing changed"] = timed(scheduler.tick, LOOK_MS)
        with session.journal.reading_session() as records:
            ready = InstanceFilter(states=("READY",), limit=10)
            rows = instance_rows.list_instances(records, ready)

        def end_one() -> None:
            row = rows.pop()
            with session.journal.exclusive_session() as records:
                instance_rows.put_instances(records, [replace(row, state="SUCCEEDED")])
                record_event(session, records, EventName.INSTANCE_RUN, "process", row.entity)
                records.commit()
            scheduler.tick()

        found["one ends, and what waits for it is ready"] = timed(end_one, LOOK_MS, times=5)
    return found


def measure(url: str, processes: int, instances: int) -> dict[str, Figures]:
    """Figures by what was asked."""
    with gateway.connect(url, autocommit=True) as connection:
        session = connection.session
        connection.execute("CREATE TABLE t (a INTEGER)")
        coming = fill(session, processes, instances)
        return {"listings": listings(session), "looks": looks(session, coming)}


def main() -> None:
    """Measure, and write the times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=1_000)
    parser.add_argument("--instances", type=int, default=100, help="of each process")
    parser.add_argument("--url", help="an empty store; a new warehouse if it is left out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"palimpsest:///{folder}/warehouse"
        print(json.dumps(measure(url, given.processes, given.instances), indent=2))


if __name__ == "__main__":
    main()
