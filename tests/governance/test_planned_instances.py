"""Which instances a process has, and which data each is about (rows F20 and F21)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.governance import planned_instances as module
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity
from gateway.governance.entity_schema import read_entity
from gateway.governance.planned_instances import PlannedInstance, planned_instances
from journal.model.errors import Code, PalimpsestError

HOURLY = {
    "kind": "dataset",
    "name": "log",
    "table": "log",
    "every": "20 minutes",
    "start": "2010-01-02",
}


def _process(**more: Any) -> Entity:
    fields = {"kind": "process", "name": "test", "every": "30 minutes", "sql": "SELECT 1"}
    return read_entity(Declaration({**fields, "start": "2010-01-02T01:00", **more}))


def _input(first: str, last: str) -> dict[str, str]:
    return {"dataset": "log", "from": first, "to": last}


def _planned(
    process: Entity, start: datetime, end: datetime | None = None
) -> list[PlannedInstance]:
    dataset = read_entity(Declaration(HOURLY))
    return planned_instances(process, {dataset.key: dataset, process.key: process}, start, end)


def _at(hour: int, minute: int = 0) -> datetime:
    return datetime(2010, 1, 2, hour, minute, tzinfo=UTC)


def test_f20_a_start_alone_is_one_instance_and_with_an_end_a_span() -> None:
    process = _process()
    assert [one.nominal for one in _planned(process, _at(1, 30))] == [_at(1, 30)]
    span = _planned(process, _at(1, 10), _at(2, 30))
    assert [one.nominal for one in span] == [_at(1, 30), _at(2), _at(2, 30)]


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (_at(0), None, "does not lie within the time"),
        (_at(0), _at(2), "does not lie within the time"),
        (_at(2), _at(3), "does not lie within the time"),
        (_at(2), _at(1, 30), "the end, is before"),
        (_at(1, 10), None, "has no instance at 2010-01-02T01:10:00Z"),
    ],
)
def test_f20_what_lies_outside_of_its_time_is_refused(
    start: datetime, end: datetime | None, said: str
) -> None:
    process = _process(end="2010-01-02T03:00")
    with pytest.raises(PalimpsestError, match=said) as refused:
        _planned(process, start, end)
    assert refused.value.code is Code.SETTING_VALUE
    assert refused.value.advice


def test_f21_inputs_are_the_instances_from_one_to_the_other() -> None:
    process = _process(
        inputs=[_input("now(0, -60)", "now(0, 20)")],
        outputs=[{"dataset": "log", "instance": "now(0, 0)"}],
    )
    (found,) = _planned(process, _at(1, 30))
    (use,) = found.inputs
    # At 00:30 and 01:50 the dataset has no instance, so those before count.
    assert use.instances == (_at(0, 20), _at(0, 40), _at(1), _at(1, 20), _at(1, 40))
    assert use.expressions == ("now(0, -60)", "now(0, 20)")
    assert found.outputs[0].instances == (_at(1, 20),)


def test_what_depends_on_data_is_shown_as_declared() -> None:
    (found,) = _planned(_process(inputs=[_input("latest(-2)", "latest(0)")]), _at(1))
    assert found.inputs[0].instances is None
    assert found.inputs[0].expressions == ("latest(-2)", "latest(0)")


def test_there_is_an_end_to_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INSTANCES_MAX", 3)
    assert len(_planned(_process(), _at(1), _at(2))) == 3
    with pytest.raises(PalimpsestError, match="process test has more than 3 instances"):
        _planned(_process(), _at(1), _at(3))
    wide = _process(inputs=[_input("now(-1, 0)", "now(0, 20)")])
    with pytest.raises(PalimpsestError, match="more than 3 instances of log"):
        _planned(wide, _at(1))


def _run(root: Path, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": str(root)})


def test_f21_the_command_shows_them(tmp_path: Path) -> None:
    root, file = tmp_path / "warehouse", tmp_path / "all.yaml"
    _run(root, "init", str(root))
    _run(root, "query", "CREATE TABLE log (a INTEGER)")
    process = _process(inputs=[_input("today(0, 0)", "now(0, 0)")])
    fields = [HOURLY, {"kind": "process", "name": "test", **process.fields}]
    file.write_text("---\n".join(json.dumps(one) + "\n" for one in fields))  # JSON is YAML.
    assert _run(root, "entity", "submit", str(file)).exit_code == 0
    shown = _run(root, "instance", "params", "test", "--start", "2010-01-02T01:00Z")
    span = "2010-01-02T00:00Z to 2010-01-02T01:00Z"
    assert shown.stdout.splitlines() == [
        "2010-01-02T01:00Z",
        f"  reads log: {span}, 4 instances (today(0, 0) to now(0, 0))",
    ]
    words = ("--start", "2010-01-02T02:00+01:00", "--end", "2010-01-02T01:30", "--json")
    found = json.loads(_run(root, "instance", "params", "test", *words).stdout)
    assert [one["nominal"][11:16] for one in found] == ["01:00", "01:30"]
    assert len(found[1]["inputs"][0]["instances"]) == 5
    assert "PAL-262" in _run(root, "instance", "params", "rest", "--start", "2010-01-02").stderr
    assert _run(root, "instance", "params", "test", "--start", "soon").exit_code == 2
