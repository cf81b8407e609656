"""Templates make entities of parameters (row F65): list, describe, validate, instantiate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.governance.entity_templates import find_template, instantiate, list_templates
from journal.model.errors import Code, PalimpsestError

GIVEN = {
    "gdpr-erasure": {"tables": "main.*"},
    "mirror": {"tables": "main.*", "url": "palimpsest:////tmp/copy"},
    "nightly-compaction": {"tables": "main.t, main.u*", "at": "30 4 * * *"},
    "retention-by-regulation": {
        "tables": "main.*",
        "regulation": "HGB",
        "column": "day",
        "keep": "10 YEARS",
    },
}
OURS = """
template: ours
description: A report a day.
parameters:
  table: {description: "what is counted"}
  labels: {description: "labels", type: list, default: "a, b"}
---
kind: process
name: count-${table}
every: 1 day
start: 2013-01-01
end: 2013-01-03
sql: INSERT INTO counts SELECT count(*) FROM ${table}
tags: ${labels}
"""


def _run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, words, prog_name="palimpsest")
    return done.exit_code, done.stdout, done.stderr


def test_f65_each_template_makes_valid_entities() -> None:
    assert {one.name for one in list_templates()} == GIVEN.keys()
    for template in list_templates():
        assert template.description
        assert all(one.description for one in template.parameters)
        assert instantiate(template, GIVEN[template.name])
    (compaction,) = instantiate(find_template("nightly-compaction"), GIVEN["nightly-compaction"])
    assert compaction.fields["tables"] == ["main.t", "main.u*"]
    assert compaction.fields["policies"] == {"SCHEDULE_COMPACT": "30 4 * * *"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "lacks tables"),
        ({"tables": "main.*", "when": "now"}, "no parameter when"),
        ({"tables": "no pattern"}, "is no pattern of tables"),
        ({"tables": "main.*", "at": "soon"}, "policies"),
        ({"tables": "main.*", "name": "a b"}, "is no name"),
    ],
)
def test_f65_wrong_parameters_are_told(given: dict[str, str], said: str) -> None:
    with pytest.raises(PalimpsestError) as caught:
        instantiate(find_template("nightly-compaction"), given)
    assert caught.value.code is Code.ENTITY
    assert said in caught.value.message


def test_f65_a_value_stays_a_value(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(OURS)
    (made,) = instantiate(find_template(str(path)), {"table": "t", "labels": "x: {y}, [z"})
    assert made.fields["tags"] == ["x: {y}", "[z"]
    path.write_text(OURS.replace("labels}", "lables}"))
    with pytest.raises(PalimpsestError, match="no parameter lables"):
        find_template(str(path))
    path.write_text("kind: dataset\nname: a\n")
    with pytest.raises(PalimpsestError, match="is no template"):
        find_template(str(path))


@pytest.mark.long
def test_f65_commands(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        con.execute("CREATE TABLE t (day DATE)")
        con.execute("CREATE TABLE counts (n BIGINT)")
    assert "mirror" in _run("template", "list")[1]
    described = json.loads(_run("template", "describe", "mirror", "--json")[1])
    assert [one["name"] for one in described["parameters"]][:2] == ["name", "url"]
    words = ("retention-by-regulation", "-p", "tables=main.*", "-p", "regulation=HGB")
    words = (*words, "-p", "column=day", "-p", "keep=10 YEARS", "-w", root)
    assert _run("template", "validate", *words)[0] == 0
    assert _run("template", "instantiate", *words)[0] == 0
    code, told, _ = _run("template", "instantiate", *words, "--json")
    assert code == 0
    assert json.loads(told)["results"][0]["outcome"] == "UNCHANGED"
    mirrored = ("mirror", "-p", "tables=main.t", "-p", f"url=file://{tmp_path}/vault", "-w", root)
    assert _run("template", "instantiate", *mirrored)[0] == 0
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        policy = {row[0]: row[1] for row in con.execute("SHOW EFFECTIVE POLICY t").fetchall()}
        assert policy["REPLICATION"] == "TO 'mirror', EVERY 2 HOURS, DELAY 10 MINUTES"
    assert _run("job", "replicate", "--all", "-w", root)[0] == 0
    assert len(list((tmp_path / "vault").rglob("backup.json"))) == 1
    path = tmp_path / "ours.yaml"
    path.write_text(OURS)
    code, told, _ = _run("template", "instantiate", str(path), "-p", "table=t", "-w", root)
    assert (code, told.strip()) == (0, "process count-t: scheduled, version 1")
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        shown = con.execute("SHOW EFFECTIVE POLICY t").fetchall()
        assert ("RETENTION", "10 YEARS ON COLUMN day ACTION = DELETE", "dataset", "retention") in {
            tuple(row[:4]) for row in shown
        }
    code, _, told = _run("template", "instantiate", "mirrors", "-w", root)
    assert code == 1
    assert "there is no template mirrors" in told
