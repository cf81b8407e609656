"""What is offered where: tables after FROM, columns after an alias, commands after a backslash."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.shell.backslash import COMMANDS
from gateway.shell.completion import Completer, is_noisy
from journal.model.schema import CatalogSnapshot, Column, Table, TableName, View

DEPTS = Table(1, TableName("main", "depts"), (Column("deptno", "deptno", "INTEGER"),
              Column("Full Name", "Full Name", "TEXT")), ("deptno",))  # fmt: skip
EMPS = Table(2, TableName("hr", "emps"), (Column("empno", "empno", "INTEGER"),), ("empno",))
RICH = View(TableName("main", "rich"), "SELECT 1 AS pay", ("pay",))
CATALOG = (
    CatalogSnapshot.empty().with_schema("hr").with_relation(DEPTS).with_relation(EMPS)
    .with_relation(RICH)
)  # fmt: skip


def offered(text: str) -> list[str]:
    """Candidates at the bar in ``text``, or at its end."""
    cursor = text.find("|") if "|" in text else len(text)
    completer = Completer(lambda: CATALOG, lambda: "main")
    return [c.text for c in completer.candidates(text.replace("|", "", 1), cursor, COMMANDS)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT * FROM ", "depts"),
        ("SELECT * FROM de", "depts"),
        ("SELECT * FROM depts JOIN ", "depts"),
        ("SELECT * FROM depts d, ri", "rich"),
        ("SELECT * FROM hr.", "emps"),
        ("INSERT INTO d", "depts"),
        ("SELECT d.| FROM depts d", "deptno"),
        ("SELECT d.dep| FROM depts AS d", "deptno"),
        ("SELECT e. FROM hr.emps e".replace("e. ", "e.| "), "empno"),
        ("SELECT | FROM depts", "deptno"),
        ("UPDATE depts SET ", "deptno"),
        ("SELECT * FROM depts WHERE dept", "deptno"),
        ("SELECT * FROM depts d JOIN hr.emps ON e", "empno"),
        ('SELECT depts."F| FROM depts', '"Full Name"'),
        ("sel", "select"),
        ("SEL", "SELECT"),
        ("SELECT * FROM depts wh", "when"),
        ("SELECT co", "coalesce"),
        ("SELECT * FROM system.tr", "transactions"),
        ("SELECT * FROM system.usa", "usage"),
        ("\\pset format j", "json"),
        ("\\pset pag", "pager"),
        ("\\d", "\\d"),
        ("\\d dep", "depts"),
        ("\\prev", "\\preview"),
        ("\\preview select * from de", "depts"),
    ],
)
def test_the_likeliest_comes_first(text: str, first: str) -> None:
    assert offered(text)[0] == first


@pytest.mark.parametrize("text", ["SELECT 'fro", "SELECT 1 -- fro", "SELECT x.", "zzz"])
def test_nothing_is_offered_where_nothing_fits(text: str) -> None:
    assert offered(text) == []


@pytest.mark.parametrize(
    ("text", "noisy"),
    [("SELECT ", True), ("SELECT * FROM ", False), ("SELECT a", False), ("", True)],
)
def test_lists_open_by_themselves_only_where_they_help(text: str, noisy: bool) -> None:
    assert is_noisy(text) is noisy


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM '%s/day",
        "SELECT * FROM read_csv('%s/day",
        "COPY depts FROM '%s/day",
        "COPY depts TO '%s/day",
        "\\i %s/day",
        "\\copy depts from '%s/day",
    ],
)
def test_names_of_files_are_completed(tmp_path: Path, text: str) -> None:
    (tmp_path / "days.csv").touch()
    (tmp_path / "daily").mkdir()
    (tmp_path / "other.csv").touch()
    assert offered(text % tmp_path) == ["days.csv"]
    assert offered((text % tmp_path)[:-1]) == ["daily/", "days.csv"]
