"""Service levels: which marks are pending and missed, and that each is told of once (row F61)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import submit_entities
from gateway.governance.entity_scheduling import schedule_entities, suspend_entities
from gateway.governance.entity_schema import read_entity
from gateway.governance.service_level_looks import note_service_levels, service_levels
from gateway.governance.service_levels import (
    InstanceProgress,
    LevelMark,
    LevelState,
    open_levels,
    progress_of,
)
from gateway.session.operations import no_progress
from journal.model.errors import PalimpsestError
from journal.records import instance_rows
from journal.records.instance_data import DataUse, add_uses
from journal.records.instance_rows import InstanceRow

MARKS = {"should_start": "1 HOUR", "should_end": "3 HOURS", "low": "2 HOURS", "high": "4 HOURS"}
DAY = datetime(2013, 1, 1, tzinfo=UTC)
PROCESS, DATASET = EntityKind.PROCESS, EntityKind.DATASET


def _process(marks: dict[str, str], start: str = "2013-01-01") -> Entity:
    fields = {"kind": "process", "name": "daily", "every": "1 day", "start": start}
    return read_entity(Declaration({**fields, "sql": "SELECT 1", "sla": marks}))


def _open(progress: InstanceProgress, hours: float) -> dict[str, str]:
    found = open_levels(_process(MARKS), {DAY: progress}, DAY + timedelta(hours=hours))
    return {level.mark.value: level.state.value for level in found}


WAITS, RUNS, IS_DONE = InstanceProgress(), InstanceProgress(True), InstanceProgress(True, True)


@pytest.mark.parametrize(
    ("progress", "hours", "missed", "pending"),
    [
        (WAITS, -1, "", ""),
        (WAITS, 0, "", "should_start should_end low high"),
        (WAITS, 1, "should_start", "should_end low high"),
        (WAITS, 2.5, "should_start low", "should_end high"),
        (WAITS, 9, "should_start should_end low high", ""),
        (RUNS, 1.5, "", "should_end low high"),
        (RUNS, 3, "should_end low", "high"),
        (IS_DONE, 9, "", ""),
    ],
)
def test_f61_marks_by_the_time(
    progress: InstanceProgress, hours: float, missed: str, pending: str
) -> None:
    found = _open(progress, hours)
    assert sorted(m for m, s in found.items() if s == "MISSED") == sorted(missed.split())
    assert sorted(m for m, s in found.items() if s == "PENDING") == sorted(pending.split())


def test_f61_what_the_states_of_an_instance_mean() -> None:
    for state, is_started, is_done in (
        ("WAITING", False, False),
        ("READY", False, False),
        ("RUNNING", True, False),
        ("SUSPENDED", False, False),
        ("FAILED", True, False),
        ("KILLED", True, False),
        ("SUCCEEDED", True, True),
        ("PARTIAL", True, True),
    ):
        assert progress_of(state, DAY) == InstanceProgress(is_started, is_done)
    assert progress_of("TIMED_OUT", None) == InstanceProgress()


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ({"low": "4 HOURS", "high": "2 HOURS"}, "sla.low: does not come before high"),
        ({"should_start": "1 DAY", "should_end": "24 HOURS"}, "does not come before should_end"),
        ({"low": "soon"}, "sla.low: "),
        ({"medium": "1 HOUR"}, "sla.medium: is not a field here"),
    ],
)
def test_f61_marks_that_cannot_be_are_refused(marks: dict[str, str], said: str) -> None:
    with pytest.raises(PalimpsestError, match=said):
        _process(marks)


def test_f61_data_neither_starts_nor_ends() -> None:
    fields = {"kind": "dataset", "name": "t", "table": "t", "every": "1 day"}
    with pytest.raises(PalimpsestError, match="neither starts nor ends"):
        read_entity(Declaration({**fields, "start": "2013-01-01", "sla": {"should_end": "1 HOUR"}}))


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        yield con


def _events(con: Connection) -> list[tuple[object, ...]]:
    return con.execute(
        "SELECT name, entity FROM system.events WHERE name LIKE 'sla.%' ORDER BY seq"
    ).fetchall()


def _instance(con: Connection, nominal: datetime, state: str) -> None:
    """Put the instance of the process in a state, as the scheduler does."""
    row = InstanceRow(f"daily@{nominal}", "process", "daily", nominal, "EXECUTION", state, 1)
    if state != "WAITING":
        row = replace(row, started_at=nominal)
    with con.session.journal.exclusive_session() as records:
        known = instance_rows.load_instance(records, row.id)
        if known is None:
            instance_rows.add_instances(records, [row])
            use = DataUse(row.id, "output", "t", nominal, nominal)
            add_uses(records, [use])
        else:
            assert instance_rows.change_instance(records, known, row)
        records.commit()


def test_f61_each_mark_is_told_of_once_and_met_when_it_is_there(con: Connection) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    start = f"{today - timedelta(days=1):%Y-%m-%d}"
    fields = {"kind": "dataset", "name": "t", "table": "t", "every": "1 MINUTE", "start": start}
    data = read_entity(Declaration({**fields, "sla": {"high": "1000 DAYS"}}))
    process = _process({"high": "1 MINUTE"}, start)
    session = con.session
    submit_entities(session, no_progress, [data, process])
    assert note_service_levels(session, no_progress) == []
    schedule_entities(session, no_progress, [(PROCESS, "daily"), (DATASET, "t")])
    nominal = today - timedelta(days=1)
    _instance(con, nominal, "WAITING")
    missed = [level.nominal_time for level in note_service_levels(session, no_progress)]
    assert nominal in missed
    assert note_service_levels(session, no_progress) == []
    assert _events(con) == [("sla.high", "daily")] * len(missed)
    listed = service_levels(session, no_progress, PROCESS, "daily", only_missed=True)
    assert [level.nominal_time for level in listed] == missed
    _instance(con, nominal, "SUCCEEDED")
    assert note_service_levels(session, no_progress) == []
    late = con.execute(
        "SELECT count(*) FROM system.service_levels WHERE met_at IS NOT NULL"
    ).fetchall()
    assert late == [(1,)]
    listed = service_levels(session, no_progress, only_missed=True)
    assert [level.nominal_time for level in listed] == [m for m in missed if m != nominal]
    assert {level.mark for level in listed} <= {LevelMark.HIGH}
    assert {level.state for level in listed} <= {LevelState.MISSED}
    suspend_entities(session, no_progress, [(PROCESS, "daily")])
    assert service_levels(session, no_progress, PROCESS) == []


def test_f61_by_command(tmp_path: Path) -> None:
    root = tmp_path / "w"
    file = tmp_path / "p.yaml"
    today = datetime.now(UTC)
    file.write_text(
        f"kind: process\nname: daily\nevery: 1 day\nstart: {today:%Y-%m-%d}\nsql: SELECT 1\n"
        "catch_up: ALL\nsla: {should_start: 1 MINUTES, high: 30 DAYS}\n"
    )

    def run(*words: str) -> tuple[int, str]:
        environment = {"PALIMPSEST_WAREHOUSE": str(root)}
        done = CliRunner().invoke(main, list(words), env=environment)
        return done.exit_code, done.stdout

    assert run("init", str(root))[0] == 0
    assert run("entity", "submit", str(file))[0] == 0
    assert run("sla") == (0, "")
    assert run("entity", "schedule", "process", "daily")[0] == 0
    code, text = run("sla", "process", "daily", "--json")
    found = {level["mark"]: level["state"] for level in json.loads(text)}
    assert found["high"] == "PENDING"
    assert code == (1 if found["should_start"] == "MISSED" else 0)
