"""Entities by command: what a file may say, what they refer to, their versions and their ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.governance.declarations import read_declarations
from gateway.governance.entity_schema import read_entity
from journal.model.errors import Code, PalimpsestError

DATASET = """\
kind: dataset
name: flights
table: flights
every: 1 day
start: 2013-01-01
timezone: America/New_York
tags: [demo, year]
"""
PROCESS = """\
kind: process
name: daily-delays
every: 24 hours
start: 2013-01-02T06:00
timezone: America/New_York
sql: INSERT INTO delays SELECT day, sum(delay) FROM flights GROUP BY day
inputs:
  - dataset: flights
    from: yesterday(0, 0)
    to: yesterday(0, 0)
"""
PROFILE = "kind: profile\nname: night\nurl: palimpsest:///srv/w\nengine: local\n"
BOTH = f"{PROCESS}---\n{DATASET}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse with the table that datasets name."""
    root = tmp_path / "warehouse"
    assert _run(root, "init", str(root)).exit_code == 0
    assert _run(root, "query", "CREATE TABLE flights (day DATE, delay INTEGER)").exit_code == 0
    return root


def _run(root: Path, *words: str) -> Result:
    environment = {"PALIMPSEST_WAREHOUSE": str(root)}
    return CliRunner().invoke(main, list(words), env=environment)


def _entity(root: Path, *words: str) -> Any:
    run = _run(root, "entity", *words, "--json")
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def _file(root: Path, text: str) -> str:
    path = root.parent / "entities.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _outcomes(found: Any) -> list[str]:
    return [f"{r['name']} {r['outcome']}" for r in found["results"]]


def test_f1_f11_submitting_checks_and_a_repeat_changes_nothing(root: Path) -> None:
    file = _file(root, BOTH)
    assert _outcomes(_entity(root, "validate", file)) == ["flights VALID", "daily-delays VALID"]
    assert _entity(root, "list") == []
    submitted = _entity(root, "submit", file)
    assert _outcomes(submitted) == ["flights SUBMITTED", "daily-delays SUBMITTED"]
    same = _file(root, BOTH.replace("24 hours", "24 HOUR"))
    again = _entity(root, "submit", same)
    assert _outcomes(again) == ["flights UNCHANGED", "daily-delays UNCHANGED"]
    assert {row["version"] for row in _entity(root, "list")} == {1}


def test_f4_what_is_stored_can_be_submitted_again(root: Path) -> None:
    _entity(root, "submit", _file(root, BOTH))
    written = _run(root, "entity", "definition", "dataset", "flights").stdout
    fields = _entity(root, "definition", "dataset", "flights")
    assert (fields["table"], fields["every"]) == ("main.flights", "1 DAY")
    assert fields["start"] == "2013-01-01T05:00:00+00:00"
    assert _outcomes(_entity(root, "submit", _file(root, written))) == ["flights UNCHANGED"]
    assert [row["name"] for row in _entity(root, "list", "--kind", "dataset")] == ["flights"]
    assert [row["name"] for row in _entity(root, "lookup", "FLIGHTS")] == ["flights"]


def test_f5_f6_dependencies_both_ways_and_what_they_keep(root: Path) -> None:
    here = DATASET + "profile: night\n"
    _entity(root, "submit", _file(root, f"{PROFILE}---\n{here}---\n{PROCESS}"))
    assert _entity(root, "dependency", "dataset", "flights") == {
        "depends_on": ["profile night"],
        "dependents": ["process daily-delays"],
    }
    assert _entity(root, "dependency", "process", "daily-delays")["depends_on"] == [
        "dataset flights",
        "profile night",
    ]
    refused = _run(root, "entity", "delete", "profile", "night")
    assert refused.exit_code == 1
    assert "PAL-210" in refused.stderr
    assert "dataset flights, process daily-delays depend on it" in refused.stderr
    for kind, name in (
        ("process", "daily-delays"),
        ("dataset", "flights"),
        ("profile", "night"),
    ):
        assert _outcomes(_entity(root, "delete", kind, name)) == [f"{name} DELETED"]
        assert _outcomes(_entity(root, "delete", kind, name)) == [f"{name} UNCHANGED"]
    assert _entity(root, "list") == []


def test_f6_f50_what_is_referred_to_comes_first(root: Path) -> None:
    run = _run(root, "entity", "submit", _file(root, PROCESS))
    assert run.exit_code == 1
    assert "PAL-262 process daily-delays refers to dataset flights" in run.stderr
    lost = _run(root, "entity", "submit", _file(root, DATASET.replace("flights", "lost")))
    assert "PAL-201 table main.lost does not exist" in lost.stderr


def test_f7_f8_an_update_ends_the_old_definition_and_keeps_it(root: Path) -> None:
    _entity(root, "submit", _file(root, BOTH))
    changed = _file(root, DATASET + "owner: ops\n")
    assert "PAL-263" in _run(root, "entity", "submit", changed).stderr
    assert _outcomes(_entity(root, "update", changed)) == ["flights UPDATED"]
    assert _outcomes(_entity(root, "update", changed)) == ["flights UNCHANGED"]
    first, second = _entity(root, "history", "dataset", "flights")
    assert first["ended_at"] is not None
    assert first["ended_at"] <= second["began_at"]
    assert (second["ended_at"], second["definition"]["owner"]) == (None, "ops")
    assert "owner" not in first["definition"]
    _entity(root, "delete", "process", "daily-delays")
    assert len(_entity(root, "history", "process", "daily-delays")) == 1
    _entity(root, "submit", _file(root, PROCESS))
    assert [v["version"] for v in _entity(root, "history", "process", "daily-delays")] == [1, 2]


def test_f7_names_and_starts_stay_and_dependents_remain_valid(root: Path) -> None:
    _entity(root, "submit", _file(root, BOTH))
    moved = _file(root, DATASET.replace("2013-01-01", "2013-02-01"))
    assert "the start cannot change" in _run(root, "entity", "update", moved).stderr
    ended = _file(root, DATASET + "end: 2013-01-01T12:00\n")
    assert _outcomes(_entity(root, "update", ended)) == ["flights UPDATED"]
    none = _file(root, DATASET.replace("flights\ntable", "others\ntable"))
    assert "PAL-262" in _run(root, "entity", "update", none).stderr


def test_f12_a_repeat_changes_only_what_failed(root: Path) -> None:
    other = DATASET.replace("name: flights", "name: rides").replace(
        "table: flights", "table: rides"
    )
    file = _file(root, f"{DATASET}---\n{other}")
    run = _run(root, "entity", "submit", file, "--json")
    found = json.loads(run.stdout)
    assert (run.exit_code, found["state"]) == (1, "PARTIAL")
    assert _outcomes(found) == ["flights SUBMITTED", "rides FAILED"]
    assert found["results"][1]["error"]["code"] == "PAL-201"
    _run(root, "query", "CREATE TABLE rides (a INTEGER)")
    assert _outcomes(_entity(root, "submit", file)) == ["flights UNCHANGED", "rides SUBMITTED"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("from: yesterday(0, 0)", "from: lastMonth(0, 0, 0)"), "before dataset flights starts"),
        (("to: yesterday(0, 0)", "to: yesterday(-24, 0)"), "after its end"),
        (("sql: INSERT INTO", "sql: INSRT INTO"), "process daily-delays: sql: "),
    ],
)
def test_f50_inputs_that_can_never_be_there_are_refused(
    root: Path, change: tuple[str, str], said: str
) -> None:
    run = _run(root, "entity", "validate", _file(root, BOTH.replace(*change)))
    assert run.exit_code == 1
    assert "PAL-261" in run.stderr
    assert said in run.stderr


WRONG = [
    ("kind: table\nname: a\n", "f.yaml:1: kind: cannot be 'table'"),
    ("name: a\n", "f.yaml:1: kind: cannot be None"),
    ("- a\n", "f.yaml:1: is not a list of fields"),
    ("kind: [\n", "f.yaml:2: "),
    ("kind: " + "[" * 3000, "f.yaml: is no YAML"),
    ("# nothing yet\n---\n", "f.yaml: declares nothing"),
    ("", "f.yaml: declares nothing"),
    ("kind: [[[[[[[[[a]]]]]]]]]\n", "f.yaml:1: refers to another place, or is nested"),
    (DATASET.replace("table: flights\n", ""), "f.yaml:1: lacks the field table"),
    (DATASET + "tables: [main.f*]\n", "f.yaml:1: has both table and tables"),
    (DATASET + "colour: red\n", "f.yaml:8: colour: is not a field here"),
    (DATASET + "every: 2 days\n", "f.yaml:8: has every twice"),
    (DATASET.replace("1 day", "daily"), 'f.yaml:4: every: "daily" is not a duration'),
    (DATASET.replace("2013-01-01", "soon"), "f.yaml:5: start: 'soon' is not a point in time"),
    (DATASET.replace("America/New_York", "Mars"), "f.yaml:6: timezone: 'Mars' is no time zone"),
    (DATASET.replace("America/New_York", "../etc"), "f.yaml:6: timezone: "),
    (DATASET + "end: 2012-01-01\n", "f.yaml:8: end: is not after the start"),
    (DATASET + "owner: &a [*a]\n", "f.yaml:8: "),
    (DATASET.replace("name: flights", "name: 1st"), "f.yaml:2: name: '1st' is no name"),
    (PROCESS.replace("to: yesterday(0, 0)", "to: later"), "f.yaml:10: inputs.0.to: "),
    (PROCESS.replace("    to: yesterday(0, 0)\n", ""), "f.yaml:8: inputs.0: lacks the field to"),
    (PROFILE.replace("///srv", "://ann:pw@srv"), "f.yaml:3: url: has a password"),
    (PROFILE.replace("local", "cloud"), "f.yaml:4: engine: cannot be 'cloud'"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=lambda v: v[-30:].strip())
def test_f1_f58_errors_name_file_line_and_field(text: str, said: str) -> None:
    with pytest.raises(PalimpsestError) as refused:
        [read_entity(one) for one in read_declarations(text, "f.yaml")]
    assert refused.value.code is Code.ENTITY
    assert refused.value.message.startswith(said)
    assert refused.value.advice
    assert "pw" not in refused.value.message


def test_documents_with_nothing_in_them_are_none() -> None:
    found = read_declarations(f"---\n{PROFILE}---\n# the end\n", "f.yaml")
    assert [read_entity(one).name for one in found] == ["night"]


def test_statements_are_read_in_the_dialect_of_their_process(root: Path) -> None:
    quoted = BOTH.replace("FROM flights", "FROM `flights`")
    assert "sql: " in _run(root, "entity", "validate", _file(root, quoted)).stderr
    spark = quoted.replace("kind: process", "kind: process\ndialect: spark")
    assert _entity(root, "validate", _file(root, spark))["state"] == "SUCCEEDED"


def test_changes_are_in_the_audit_log(root: Path) -> None:
    _entity(root, "submit", _file(root, DATASET))
    _entity(root, "submit", _file(root, DATASET))
    _entity(root, "delete", "dataset", "flights")
    log = json.loads(_run(root, "audit", "list", "--json").stdout)
    assert [e["action"] for e in log if e["object"] == "dataset flights"] == [
        "entity.submit",
        "entity.delete",
    ]
