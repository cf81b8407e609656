"""``palimpsest lineage show``, ``impact``, ``path`` and ``diff`` over what was executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from tests.support.prepared_warehouse import prepared_warehouse


def _call(root: Path, *args: str) -> tuple[int, str]:
    given = ["lineage", *args, "-w", str(root)]
    result = CliRunner().invoke(main, given, prog_name="palimpsest")
    return result.exit_code, result.output


TABLES = (
    "CREATE TABLE flights (id INTEGER PRIMARY KEY, carrier VARCHAR, delay INTEGER)",
    "INSERT INTO flights VALUES (1, 'AA', 5), (2, 'BA', 20)",
    (
        "CREATE TABLE daily AS SELECT carrier, avg(delay) AS delay FROM flights"
        " WHERE id > 0 GROUP BY carrier"
    ),
    "CREATE VIEW late AS SELECT carrier FROM daily WHERE delay > 10",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse with a table that a view and a table come from."""
    prepared_warehouse(tmp_path / "w", TABLES)
    return tmp_path / "w"


def test_a_table_is_shown_with_both_directions(root: Path) -> None:  # L19
    code, shown = _call(root, "show", "daily")
    assert code == 0
    assert shown.splitlines() == [
        "main.daily",
        "  comes from",
        "    main.flights",
        "      carrier <- carrier (identity)",
        "      delay <- delay (aggregation)",
        "      rows decided by carrier (group by), id (filter)",
        "  goes to",
        "    main.late",
        "      carrier <- carrier (identity)",
        "      rows decided by delay (filter)",
    ]
    code, shown = _call(root, "show", "late.carrier", "--up", "2", "--json")
    lines = [json.loads(line) for line in shown.splitlines()]
    assert {line["level"] for line in lines} == {1, 2}
    assert {line["direction"] for line in lines} == {"up"}
    assert any(line["statement"].endswith("WHERE id > ? GROUP BY carrier") for line in lines)


@pytest.mark.parametrize(("form", "begins"), [("--dot", "digraph"), ("--svg", "<?xml")])
def test_graphs_lead_to_their_statements(root: Path, form: str, begins: str) -> None:  # L16
    code, shown = _call(root, "show", "daily", form)
    assert (code, shown[: len(begins)]) == (0, begins)
    assert form == "--dot" or "GROUP BY carrier" in shown


def test_what_comes_of_a_column_is_told_by_values_and_conditions(root: Path) -> None:  # L22
    code, shown = _call(root, "impact", "flights.delay", "--json", "--exit-code")
    assert code == 1
    assert [json.loads(line) for line in shown.splitlines()] == [
        {"level": 1, "table": "main.daily", "columns": ["delay"], "direct": True},
        {"level": 2, "table": "main.late", "columns": ["carrier"], "direct": False},
    ]
    code, shown = _call(root, "impact", "late", "--exit-code")
    assert (code, shown) == (0, "nothing that is known comes from late\n")


def test_a_way_is_shown_or_there_is_none(root: Path) -> None:
    code, shown = _call(root, "path", "flights", "late")
    assert (code, len(shown.splitlines())) == (0, 2)
    assert _call(root, "path", "late", "flights")[0] == 1
    code, shown = _call(root, "show", "nothing")
    assert code == 1


def test_differences_of_lineage_are_told(root: Path) -> None:  # L23
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        before = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0][0]
        con.execute("DROP VIEW late")
        con.execute("CREATE VIEW late AS SELECT carrier FROM flights")
    code, shown = _call(root, "diff", "--from", str(before), "--exit-code")
    assert code == 1
    assert shown.splitlines() == [
        "+ main.late.carrier <- main.flights.carrier (identity)",
        "- main.late.carrier <- main.daily.carrier (identity)",
        "- main.late.carrier <- main.daily.delay (filter)",
    ]
    assert _call(root, "diff", "--from", "now()", "--exit-code") == (0, "")


def test_what_is_no_point_in_time_is_named(root: Path) -> None:
    code, shown = _call(root, "diff", "--from", "nonsense")
    assert code == 1
    assert "PAL-230" in shown
    assert "nonsense is not a point in time" in shown


def test_a_preview_names_what_comes_from_the_tables_that_are_written(root: Path) -> None:
    given = ["preview", "DELETE FROM flights WHERE id = 1", "-w", str(root)]
    result = CliRunner().invoke(main, given, prog_name="palimpsest")
    assert "-- Downstream: main.daily, main.late" in result.output.splitlines()
