"""The report of a job: the same fields wherever it is asked, and all of them documented."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import main
from gateway.jobs.kind_names import kind_names
from gateway.jobs.runs import Request, run_all
from journal.records.report import NUMBERS, UNKNOWN, JobReport, ReplacedSegment, Volume, Work
from tests.support.client import Client

NOW = "2021-01-11"
DOCS = Path(__file__).parents[2] / "docs" / "jobs.md"
_OF_THE_RUN = {"id", "seconds"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse with rows past their time, in a file and in the head."""
    client = Client(tmp_path / "warehouse")
    client("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    client("INSERT INTO t SELECT i, DATE '2020-01-01' + i::INT, 0 FROM range(100) r(i)")
    client("CALL system.flush('t')")
    client("UPDATE t SET n = 1 WHERE id < 5")
    client("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    client.close()
    return tmp_path / "warehouse"


def _said(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in _OF_THE_RUN}


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "kind", sorted(set(kind_names()) - {"access", "restore", "purge", "replicate"})
)
def test_a_plan_says_the_same_everywhere(root: Path, kind: str) -> None:
    options = {"retain": {"now": NOW}, "backup": {"name": "b"}}.get(kind, {})
    given = [f"--{name}={value}" for name, value in options.items()]
    command = ["job", kind, "t", *given, "--dry-run", "--json", "-w", str(root)]
    (told,) = json.loads(CliRunner().invoke(main, command, catch_exceptions=False).stdout)
    client = Client(root)
    arguments = "".join(f", {name} => '{value}'" for name, value in options.items())
    with client.connection.cursor() as cursor:
        cursor.execute(f"CALL system.{kind}('t'{arguments}, dry_run => true)")
        row = dict(zip([d[0] for d in cursor.description], cursor.fetchone(), strict=True))
    ((recorded, *numbers),) = client(
        f"SELECT report, {', '.join(NUMBERS)} FROM system.jobs WHERE id = '{row['job']}'"
    )
    session = client.connection.session
    table = next(session.journal.state.catalog.tables())
    (run,) = run_all(session, Request(kind, options, dry_run=True), [table])
    assert run.report is not None
    client.close()
    in_sql, in_python = json.loads(row["report"]), json.loads(json.dumps(run.report.to_json()))
    assert in_sql == json.loads(recorded)
    assert _said(told["report"]) == _said(in_sql) == _said(in_python)
    assert set(in_sql) == {f.name for f in fields(JobReport)}
    assert [row[name] for name in NUMBERS] == numbers == list(run.report.numbers().values())


def test_what_is_unknown_is_no_number() -> None:
    unknown = dict.fromkeys(("read.bytes", "written.bytes", "removed.bytes"), UNKNOWN)
    work = Work((ReplacedSegment("s1", 1, 10, 0, "asked"),), Volume(1, 8), (), unknown)
    report = JobReport.of(work, "1", "compact", "t", "planned")
    assert report.numbers() == {
        "rows_read": 10,
        "rows_written": 8,
        "rows_removed": 2,
        "bytes_read": None,
        "bytes_written": None,
        "bytes_removed": None,
    }
    assert report.to_json()["taken"][0]["bytes"] is None


def test_every_field_is_documented() -> None:
    section = DOCS.read_text().partition("## What a report says")[2].partition("\n## ")[0]
    missing = [f.name for f in fields(JobReport) if f"`{f.name}`" not in section]
    assert missing == []
