"""Tables show whole values: none is cut in a file, and no number or time anywhere."""

from __future__ import annotations

import datetime as dt
import io
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Sequence
from decimal import Decimal
from fcntl import ioctl
from pathlib import Path
from typing import Any, Protocol

import pytest

import gateway
from gateway.shell.result import ShownColumn, ShownResult
from gateway.shell.table import Style, write_table
from tests.conftest import ROOT

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LATE = "SELECT CASE WHEN i < 5000 THEN i ELSE i * 4000000 END AS n, i AS m FROM range(5002) t(i)"
NUMBER, LARGE = 20004000000, 170141183460469231731687303715884105727
MOMENT = dt.datetime(2024, 5, 1, 12, 30, 15, 123456)  # noqa: DTZ001
EXACT: list[tuple[str, str, Any, str]] = [
    ("b", "BIGINT", NUMBER, str(NUMBER)),
    ("h", "HUGEINT", LARGE, str(LARGE)),
    ("d", "DECIMAL(20,4)", Decimal("-12345678901234.5670"), "-12345678901234.5670"),
    ("f", "DOUBLE", -1.7976931348623157e308, "-1.7976931348623157e+308"),
    ("t", "TIMESTAMP", MOMENT, "2024-05-01 12:30:15.123456"),
    ("z", "TIMESTAMP WITH TIME ZONE", MOMENT.replace(tzinfo=dt.UTC),
     "2024-05-01 12:30:15.123456+00"),
    ("k", "TIMESTAMP WITH TIME ZONE",
     dt.datetime(2024, 5, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=45))),
     "2024-05-01 12:00:00+05:45"),
    ("y", "DATE", MOMENT.date(), "2024-05-01"),
    ("c", "TIME", MOMENT.time(), "12:30:15.123456"),
    ("i", "INTERVAL", dt.timedelta(days=400, seconds=1), "400 days, 0:00:01"),
    ("v", "VARIANT", NUMBER, str(NUMBER)),
]  # fmt: skip


def drawn(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]], style: Style) -> str:
    """A table as it is drawn."""
    out = io.StringIO()
    made = tuple(ShownColumn(*column) for column in columns)
    write_table(ShownResult("SELECT", len(rows), made, iter(rows)), out, style)
    return out.getvalue()


class Run(Protocol):
    """Runs a command on the test's warehouse."""

    def __call__(self, *arguments: str, width: int | None = None) -> str:
        """What ``palimpsest`` writes to a terminal of some columns, or to a pipe."""


@pytest.fixture
def run(commands: Path, tmp_path: Path) -> Run:
    place = str(tmp_path / "w")
    gateway.connect(f"palimpsest:///{place}").close()

    def written(*arguments: str, width: int | None = None) -> str:
        return _written([str(commands / "palimpsest"), *arguments, "-w", place], width)

    return written


def _written(command: list[str], width: int | None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    if width is None:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
    with subprocess.Popen(command, env=environment, stdout=theirs, stdin=theirs) as process:
        os.close(theirs)
        seen = b""
        while piece := _read(ours):
            seen += piece
    os.close(ours)
    assert process.returncode == 0
    return _ESCAPES.sub("", seen.decode()).replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed.
        return b""


@pytest.mark.parametrize("place", ["pipe", "file"])
def test_no_value_is_cut_where_there_is_no_terminal(run: Run, tmp_path: Path, place: str) -> None:
    if place == "file":
        run("query", LATE, "-o", str(tmp_path / "rows"))
        text = (tmp_path / "rows").read_text()
    else:
        text = run("query", LATE)
    assert text.splitlines()[-3:] == [
        " 20000000000 │ 5000",
        " 20004000000 │ 5001",
        "(5,002 rows)",
    ]
    assert "…" not in text


def test_long_texts_behind_the_measured_rows_are_whole_in_a_file() -> None:
    rows = [(i, "x", None) for i in range(5001)] + [(NUMBER, "日本" * 40, [NUMBER] * 20)]
    text = drawn([("n", "BIGINT"), ("t", "VARCHAR"), ("l", "BIGINT[]")], rows, Style())
    assert "日本" * 40 in text
    assert ", ".join([str(NUMBER)] * 20) in text
    assert "…" not in text


@pytest.mark.parametrize("expanded", ["auto", "off", "on"])
@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize(("name", "kind", "value", "shown"), EXACT)
def test_what_is_exact_is_whole_at_every_width(
    name: str, kind: str, value: object, shown: str, width: int, expanded: str
) -> None:
    columns = [("id", "INTEGER"), ("text", "VARCHAR"), (name, kind)]
    text = drawn(columns, [(1, "x" * 90, value)], Style(width=width, expanded=expanded))
    columns_left_out = f"left out: text, {name}" in text or f"left out: {name}" in text
    assert re.search(rf"(?<!\S){re.escape(shown)}(?!\S)", text) or columns_left_out
    if expanded != "off":
        assert not columns_left_out


@pytest.mark.parametrize("width", [40, 80])
def test_a_late_number_is_whole_at_a_terminal(width: int) -> None:
    rows = [(i, "x" * 100) for i in range(5000)] + [(NUMBER, "y" * 100)]
    columns = [("n", "BIGINT"), ("t", "VARCHAR")]
    text = drawn(columns, rows, Style(width=width, expanded="off"))
    assert f" {NUMBER} │ y" in text


@pytest.mark.parametrize("width", [40, 80])
def test_a_row_that_does_not_fit_a_terminal_is_expanded(run: Run, width: int) -> None:
    values = f"{NUMBER} AS n, TIMESTAMP '2024-05-01 12:30:15.123456' AS t, NULL AS nothing"
    text = run("query", f"SELECT {values}, repeat('日本', 30) AS w", width=width)
    assert text.splitlines()[1:] == [
        f" n       │ {NUMBER}",
        " t       │ 2024-05-01 12:30:15.123456",
        " nothing │ NULL",
        f" w       │ {'日本' * 30}",
        "(1 row)",
    ]
    assert run("query", "SELECT 7 AS a, 8 AS b", width=width).splitlines() == [
        " a │ b", "───┼───", " 7 │ 8", "(1 row)",
    ]  # fmt: skip


def test_the_shell_says_what_it_cut_where_it_may_not_expand(run: Run) -> None:
    sql = f"SELECT {NUMBER} AS n, repeat('word ', 30) AS note"
    text = run("shell", "-c", "\\x off", "-c", sql, width=40)
    lines = text.splitlines()
    assert lines[-2] == f" {NUMBER} │ word word word word wor…"
    assert lines[-1] == r"(1 row; cut: 1 value of note; \x on shows them whole)"


def test_many_rows_that_do_not_fit_are_expanded() -> None:
    columns = [(f"c{i}", "BIGINT") for i in range(6)]
    text = drawn(columns, [(NUMBER,) * 6] * 200, Style(width=40))
    assert text.count("── row ") == 200
    assert text.count(str(NUMBER)) == 1200


def test_the_log_shows_whole_versions_at_a_narrow_terminal(run: Run) -> None:
    run("query", "CREATE TABLE t (a INTEGER)")
    text = run("log", width=40)
    assert re.search(r"^ version +│ \d{16}$", text, re.MULTILINE)
    assert re.search(
        r"^ committed_at +│ \d{4}-\d\d-\d\d [\d:]{8}\.\d{1,6}\+00$", text, re.MULTILINE
    )
    assert "…" not in text


def test_the_line_below_says_what_was_cut() -> None:
    columns = [("n", "BIGINT"), ("note", "VARCHAR"), ("more", "VARCHAR")]
    rows = [(NUMBER, "x" * 30, "short"), (1, "日本" * 9, None), (2, "y", "z" * 90)]
    lines = drawn(columns, rows, Style(width=40, expanded="off")).splitlines()
    assert max(len(line) for line in lines[:-1]) <= 40
    assert lines[2].startswith(f" {NUMBER} │ xxxx")
    assert lines[-1] == r"(3 rows; cut: 2 values of note, 1 value of more; \x on shows them whole)"


def test_the_line_below_says_what_was_left_out() -> None:
    columns = [(f"c{i}", "BIGINT") for i in range(9)]
    lines = drawn(columns, [(NUMBER,) * 9], Style(width=40, expanded="off")).splitlines()
    assert lines[2] == f" {NUMBER} │ … │ {NUMBER}"
    assert lines[-1].endswith(
        r"; 2 of 9 columns fit, left out: c1, c2, c3, c4, c5 and 2 more; \x on shows them whole)"
    )


@pytest.mark.parametrize(
    ("value", "cut"),
    [
        ([1, NUMBER, NUMBER], "[1, …"),
        ([NUMBER, NUMBER], "[…"),
        ({"a": NUMBER}, '{"a": …'),
        ("invoice 20004000000", "invoice …"),
        ("2024-05-01 12:30:15", "2024-05-01…"),
        ("at 2024-05-01 12:30", "at …"),
        ("plain words, and more", "plain word…"),
    ],
)
def test_a_cut_never_goes_through_a_number(value: object, cut: str) -> None:
    width = 2 + len("plain words")
    text = drawn([("v", "JSON")], [(value,)], Style(width=width, expanded="off"))
    assert text.splitlines()[2].strip() == cut


def test_one_column_is_never_cut_nor_expanded_by_itself() -> None:
    text = drawn([("plan", "VARCHAR")], [("x" * 90 + "\ny",)], Style(width=40))
    assert text.splitlines() == [
        " plan", "─" * 40, " " + "x" * 90, " y", "(1 row)",
    ]  # fmt: skip


def test_lines_of_a_text_stay_lines_when_expanded() -> None:
    columns = [("a", "INTEGER"), ("text", "VARCHAR")]
    lines = drawn(columns, [(1, "x" * 50 + "\nsecond")], Style(width=40)).splitlines()
    assert lines[1:-1] == [" a    │ 1", f" text │ {'x' * 50}", "      │ second"]
