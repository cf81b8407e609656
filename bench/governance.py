"""How long listings of instances and looks of the scheduler take: python -m bench.governance

1,000 processes with 100 instances each by default; times are medians of ten, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import gateway
from gateway.governance.declarations import Declaration
from gateway.governance.entity import EntityKind
from gateway.governance.entity_operations import recorded_now
from gateway.governance.entity_scheduling import entity_status
from gateway.governance.entity_schema import read_entity
from gateway.governance.instance_operations import find_instances, summarize_instances
from gateway.governance.process_inputs import instance_id
from gateway.governance.process_scheduler import ProcessScheduler
from gateway.session.operations import no_progress
from journal.records import entity_rows, instance_rows, schedule_rows
from journal.records.entity_rows import EntityRow
from journal.records.instance_rows import InstanceFilter, InstanceRow
from journal.records.schedule_rows import ScheduleRow

START = datetime(2013, 1, 1, tzinfo=UTC)
STATES = ("SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "FAILED", "KILLED")


def fill(session: Any, entities: int, instances: int) -> datetime:
    """Put scheduled processes and their ended instances on record; when the next are due."""
    coming = START + timedelta(days=instances)
    with session.journal.exclusive_session() as records:
        for number in range(entities):
            name = f"process-{number}"
            fields = {"kind": "process", "name": name, "every": "1 day", "start": "2013-01-01"}
            entity = read_entity(Declaration({**fields, "sql": "SELECT 1"}))
            now = recorded_now(session)
            row = EntityRow("process", name, 1, entity.definition, "bench", now)
            entity_rows.add_entity(records, row)
            schedule_rows.put_schedule(
                records, ScheduleRow("process", name, "SCHEDULED", coming, now, "bench")
            )
            rows = []
            for index in range(instances):
                nominal = START + timedelta(days=index)
                state = STATES[(number + index) % len(STATES)]
                key = (instance_id(name, nominal), "process", name, nominal, "EXECUTION", state, 1)
                rows.append(InstanceRow(*key, fence=1, created_at=nominal, ended_at=nominal))
            instance_rows.add_instances(records, rows)
        records.commit()
    return coming


def median_ms(call: Callable[[], object], times: int = 10) -> float:
    """The median time of a call."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(found), 1)


def measure(url: str, entities: int, instances: int) -> dict[str, float]:
    """Times by what was asked."""
    with gateway.connect(url, autocommit=True) as connection:
        session = connection.session
        coming = fill(session, entities, instances)

        def listing(**wanted: Any) -> Callable[[], object]:
            wanted_filter = InstanceFilter(**{"limit": 1000, **wanted})
            return lambda: find_instances(session, no_progress, wanted_filter)

        found = {
            "list of a process": median_ms(listing(entity="process-7")),
            "list by state, by end": median_ms(
                listing(states=("FAILED",), order="ended_at", descending=True)
            ),
            "running": median_ms(listing(states=("RUNNING",))),
            "search": median_ms(listing(text="2013-02-01")),
            "page 50 of all": median_ms(listing(offset=50_000, limit=1_000)),
            "summary": median_ms(
                lambda: summarize_instances(session, no_progress, InstanceFilter())
            ),
            "entity status": median_ms(
                lambda: entity_status(session, no_progress, EntityKind.PROCESS)
            ),
        }
        before = coming - timedelta(hours=1)
        with ProcessScheduler(lambda: session, now=lambda: before) as scheduler:
            found["look, nothing due"] = median_ms(scheduler.tick)
        with ProcessScheduler(lambda: session, now=lambda: coming) as scheduler:
            began = time.perf_counter()
            scheduler.tick()
            found["look, all due at once"] = round((time.perf_counter() - began) * 1000, 1)
    return found


def main() -> None:
    """Measure, and write the times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=1_000)
    parser.add_argument("--instances", type=int, default=100, help="of each process")
    parser.add_argument("--url", help="an empty store; a new warehouse if it is left out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"palimpsest:///{folder}/warehouse"
        print(json.dumps(measure(url, given.entities, given.instances), indent=2))


if __name__ == "__main__":
    main()
