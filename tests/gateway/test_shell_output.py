"""Results on the screen and in files: fitted, cut, expanded, escaped, and with every digit."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from gateway.errors import mapped
from gateway.shell.formats import FORMATS, write_envelope
from gateway.shell.render_error import render_error
from gateway.shell.result import ShownColumn, ShownResult
from gateway.shell.table import Style, write_table
from journal.model.errors import Code, PalimpsestError, Position


def result(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> ShownResult:
    """A result out of plain values."""
    return ShownResult("SELECT", len(rows), tuple(ShownColumn(*c) for c in columns), iter(rows))


def drawn(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]], style: Style) -> str:
    """A table as it is drawn."""
    out = io.StringIO()
    write_table(result(columns, rows), out, style)
    return out.getvalue()


TWO = [("id", "INTEGER"), ("name", "VARCHAR")]


def test_numbers_stand_right_and_null_is_shown() -> None:
    text = drawn(TWO, [(1, "a"), (200, None)], Style())
    assert text.splitlines() == [
        "  id │ name",
        "─────┼──────",
        "   1 │ a",
        " 200 │ NULL",
        "(2 rows)",
    ]


def test_a_wide_column_is_cut_to_the_screen_where_nothing_is_expanded() -> None:
    text = drawn(TWO, [(1, "x" * 200)], Style(width=40, expanded="off"))
    *body, below = text.splitlines()
    assert max(len(line) for line in body) <= 40
    assert "…" in text
    assert below == r"(1 row; cut: 1 value of name; \x on shows them whole)"


@pytest.mark.parametrize("width", [20, 41, 60, 79, 100])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    columns = [(f"column_{i}", "VARCHAR") for i in range(12)]
    rows = [tuple(f"value {i} {'y' * i}" for i in range(12))] * 60
    text = drawn(columns, rows, Style(width=width, expanded="off"))
    body = text.splitlines()[:-1]
    assert max(len(line) for line in body) <= width
    assert "of 12 columns fit" in text


def test_wide_characters_take_two_cells() -> None:
    lines = drawn(TWO, [(1, "日本"), (2, "abcd")], Style()).splitlines()
    assert lines[2] == "  1 │ 日本"
    assert lines[1] == "────┼──────"


def test_few_rows_of_many_columns_are_expanded() -> None:
    columns = [(f"column_{i}", "VARCHAR") for i in range(12)]
    text = drawn(columns, [tuple("v" * 12 for _ in range(12))], Style(width=60))
    assert "── row 1 " in text
    assert " column_11 │ vvvvvvvvvvvv" in text


def test_rows_left_out_are_mentioned() -> None:
    text = drawn(TWO, [(i, "x") for i in range(10)], Style(rows=3))
    assert r"(3 rows shown, there are more: \pset rows 0 shows all)" in text


def test_nothing_a_terminal_would_obey_is_drawn() -> None:
    text = drawn(TWO, [(1, "\x1b[31mred\tline\x07")] * 30, Style())
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[31mred\\tline\\x07" in text


def test_lines_of_few_rows_are_kept_and_of_many_marked() -> None:
    assert drawn(TWO, [(1, "two\nlines"), (2, "one")], Style()).splitlines()[2:] == [
        "  1 │ two",
        "    │ lines",
        "  2 │ one",
        "(2 rows)",
    ]
    assert "two↵lines" in drawn(TWO, [(i, "two\nlines") for i in range(30)], Style())


VALUES = [
    ("n", "INTEGER"), ("d", "DECIMAL(20,4)"), ("t", "TIMESTAMP"), ("z", "TIMESTAMPTZ"),
    ("b", "BLOB"), ("l", "INTEGER[]"), ("s", "STRUCT(a INTEGER)"), ("f", "DOUBLE"),
    ("e", "VARCHAR"), ("o", "BOOLEAN"), ("x", "VARCHAR"),
]  # fmt: skip
ROW = (
    1, Decimal("12345678901234.5670"), dt.datetime(2024, 5, 1, 12),  # noqa: DTZ001
    dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), b"\x00\xff", [1, None], {"a": 1}, float("nan"),
    "", True, None,
)  # fmt: skip


def written(name: str) -> str:
    """The row of every kind of value in a format."""
    out = io.StringIO()
    FORMATS[name](result(VALUES, [ROW]), out, Style())
    return out.getvalue()


def test_json_keeps_every_digit() -> None:
    (row,) = json.loads(written("json"), parse_float=Decimal)
    assert row["d"] == Decimal("12345678901234.5670")
    assert row["t"] == "2024-05-01T12:00:00"
    assert row["b"] == "\\x00ff"
    assert row["l"] == [1, None]
    assert row["s"] == {"a": 1}
    assert row["f"] == "nan"
    assert row["x"] is None
    assert written("jsonl").count("\n") == 1


def test_csv_tells_null_from_empty_text() -> None:
    header, line = written("csv").splitlines()
    assert header == "n,d,t,z,b,l,s,f,e,o,x"
    assert line.startswith("1,12345678901234.5670,2024-05-01 12:00:00,2024-05-01 12:00:00+00,")
    assert line.endswith(',"",true,')


def test_json_names_that_come_twice_are_numbered() -> None:
    out = io.StringIO()
    FORMATS["jsonl"](result([("a", "INTEGER"), ("a", "INTEGER")], [(1, 2)]), out, Style())
    assert json.loads(out.getvalue()) == {"a": 1, "a_2": 2}


def test_envelope_is_one_line() -> None:
    out = io.StringIO()
    write_envelope(result(TWO, [(1, "a"), (2, None)]), out, Style())
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == {
        "status": "SELECT",
        "columns": [{"name": "id", "type": "INTEGER"}, {"name": "name", "type": "VARCHAR"}],
        "rows": [[1, "a"], [2, None]],
        "row_count": 2,
    }


def test_markdown_escapes_bars() -> None:
    out = io.StringIO()
    FORMATS["markdown"](result(TWO, [(1, "a|b")]), out, Style())
    assert out.getvalue().splitlines()[2] == "| 1 | a\\|b |"


def complained(statement: str, line: int, column: int, width: int = 100) -> list[str]:
    """The lines an error at a position is shown as."""
    error = PalimpsestError(
        Code.UNKNOWN_TABLE,
        "table x does not exist",
        advice="make it",
        position=Position(line, column),
    )
    return render_error(mapped(error), statement, width=width).splitlines()


def test_the_caret_stands_below_its_place() -> None:
    assert complained("select *\nfrom x", 2, 6) == [
        "ERROR PAL-201 (42P01): table x does not exist",
        " 2 │ from x",
        "   │      ^",
        "Hint: make it",
    ]


def test_the_caret_counts_cells_not_characters() -> None:
    lines = complained("select '日本', x", 1, 14)
    assert lines[2].index("^") == len(" 1 │ ") + 15


def test_long_lines_are_cut_around_the_caret() -> None:
    statement = "select " + "a, " * 200 + "x" + ", b" * 200
    lines = complained(statement, 1, 608, width=60)
    assert len(lines[1]) <= 60
    assert lines[1][lines[2].index("^")] == "x"


def test_a_position_outside_the_statement_is_not_shown() -> None:
    assert len(complained("select 1", 9, 1)) == 2
