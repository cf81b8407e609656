"""The demonstration comes out right, leaves other folders alone, and says what it lacks."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.demo import statements
from gateway.demo.lineage import DRAWING, show_report_lineage
from gateway.demo.teller import Teller


def demo(*args: str) -> tuple[int, str, str]:
    """Run the demonstration: exit code, output, errors."""
    result = CliRunner().invoke(main, ["demo", *args], prog_name="palimpsest")
    return result.exit_code, result.stdout, result.stderr


def test_a_folder_that_is_not_its_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    code, _, complaint = demo("--warehouse", str(tmp_path))
    assert code == 1
    assert "that no demonstration made" in complaint
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_without_the_data_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, complaint = demo("--json", "--warehouse", str(tmp_path / "w"))
    assert code == 1
    assert "palimpsest-gateway[demo]" in json.loads(complaint)["error"]["advice"]
    assert not (tmp_path / "w").exists()


def test_the_lineage_of_the_report_is_told_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}") as connection:
        for definition in statements.TABLES.values():
            connection.execute(definition)
        drawing = show_report_lineage(connection, Teller(), tmp_path)
    told = capsys.readouterr().out
    assert "mean_delay <- flights.dep_delay (aggregation)" in told
    assert "airline <- airlines.name (identity)" in told
    text = drawing.read_text()
    assert "operations.dep_delay -&gt; flights.dep_delay: identity" in text
    assert "flights.dep_delay -&gt; airline_report.mean_delay: aggregation" in text


@pytest.mark.slow
def test_the_year_comes_out_equal(tmp_path: Path) -> None:
    code, output, complaint = demo("--json", "--warehouse", str(tmp_path / "w"))
    assert code == 0, complaint
    summary = json.loads(output)
    assert (tmp_path / "w" / DRAWING).is_file()
    assert summary["equal"] is True
    assert summary["loaded"]["flights"] == 336_776
    assert summary["replay"]["commits"] == 365
    assert summary["upkeep"]["equal"] is True
    assert summary["upkeep"]["erasure"]["request"]["state"] == "COMPLETED"
    assert summary["upkeep"]["erasure"]["bytes_left"] == 0
    assert [s["state"] for s in summary["upkeep"]["steps"]].count("SUCCEEDED") == 5
    governed = summary["governed"]
    assert governed["instances"] == {"SUCCEEDED": 52}
    assert governed["year"]["again"] == ["weekly-delays@2013-07-09T10:00Z"]
    assert governed["erasure"] == {
        "state": "COMPLETED",
        "refused": True,
        "rows_left": 0,
        "equal": True,
    }
    assert sum(count for _, count in summary["served"]["psycopg"]) > 300_000
    assert summary["replay"]["updated"] + summary["replay"]["deleted"] == 336_776
