"""Declared processes for tests: a warehouse's tables, entities, and a scheduler with a clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import submit_entities
from gateway.governance.entity_scheduling import schedule_entities
from gateway.governance.entity_schema import read_entity
from gateway.governance.instance_operations import find_instances
from gateway.governance.process_runner import InstanceRun
from gateway.governance.process_scheduler import run_processes
from gateway.session.operations import no_progress
from journal.records.instance_rows import InstanceFilter

SUM = (
    "DELETE FROM delays WHERE day = CAST($flights_from AS DATE); "
    "INSERT INTO delays SELECT day, sum(delay), $instance FROM flights"
    " WHERE day = CAST($flights_from AS DATE) GROUP BY day"
)
YESTERDAY = "yesterday(0, 0)"


def make_tables(con: Connection) -> None:
    """The tables of the flights and of their sums."""
    con.execute("CREATE TABLE flights (day DATE, delay INTEGER)")
    con.execute("CREATE TABLE delays (day DATE, total BIGINT, made_by VARCHAR)")


def dataset(name: str, **more: Any) -> Entity:
    """A daily dataset over the table of its name."""
    fields = {"kind": "dataset", "name": name, "table": name, "every": "1 day"}
    return read_entity(Declaration({**fields, "start": "2013-01-01", **more}))


def flights(**more: Any) -> Entity:
    """The flights: an instance is there once there is a row of its day."""
    return dataset("flights", where="day = CAST($instance AS DATE)", **more)


def process(name: str = "daily", **more: Any) -> Entity:
    """A process that sums the delays of the day before."""
    fields: dict[str, Any] = {"kind": "process", "name": name, "every": "1 day"}
    fields |= {"start": "2013-01-02", "sql": SUM}
    fields["inputs"] = [{"dataset": "flights", "from": YESTERDAY, "to": YESTERDAY}]
    fields |= more
    return read_entity(Declaration({k: v for k, v in fields.items() if v is not None}))


def schedule(con: Connection, at: datetime, *entities: Entity) -> None:
    """Submit entities, and schedule the processes among them at a moment."""
    for result in submit_entities(con.session, no_progress, entities):
        assert result.error is None, result.error
    keys = [entity.key for entity in entities if entity.kind is EntityKind.PROCESS]
    for result in schedule_entities(con.session, no_progress, keys, at):
        assert result.error is None, result.error


def run(con: Connection, at: datetime, parallel: int = 1) -> list[InstanceRun]:
    """What runs at a moment."""
    return run_processes(con.session, no_progress, parallel, at)


def states(con: Connection) -> list[tuple[Any, ...]]:
    """Day of January and state of each instance."""
    rows = find_instances(con.session, no_progress, InstanceFilter())
    return [(row.nominal.day, row.state) for row in rows]


def day(number: int, hour: int = 0, month: int = 1) -> datetime:
    """A moment of January 2013."""
    return datetime(2013, month, number, hour, tzinfo=UTC)


def seen(runs: Sequence[InstanceRun]) -> list[tuple[int, str]]:
    """Day and state of runs."""
    return [(run.nominal.day, run.state) for run in runs]
