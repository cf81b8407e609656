"""Results written for programs and documents: CSV, JSON, JSON Lines, Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TextIO

from gateway.shell.csv_format import write_csv
from gateway.shell.result import ShownColumn, ShownResult
from gateway.shell.table import Style, write_table
from gateway.shell.values import display_text, to_json

Writer = Callable[[ShownResult, TextIO, Style], int]


def write_tsv(result: ShownResult, out: TextIO, style: Style) -> int:
    """Tab-separated values with a header."""
    return write_csv(result, out, style, "\t")


def write_json(result: ShownResult, out: TextIO, style: Style) -> int:
    """One array with an object per row."""
    names = _keys(result.columns)
    count = 0
    out.write("[")
    for row in result.rows:
        pairs = [f"{n}: {to_json(v)}" for n, v in zip(names, row, strict=True)]
        out.write((",\n " if count else "\n ") + "{" + ", ".join(pairs) + "}")
        count += 1
    out.write("\n]\n" if count else "]\n")
    return count


def write_jsonl(result: ShownResult, out: TextIO, style: Style) -> int:
    """One object per row, each on its line."""
    names = _keys(result.columns)
    count = 0
    for row in result.rows:
        pairs = [f"{n}: {to_json(v)}" for n, v in zip(names, row, strict=True)]
        out.write("{" + ", ".join(pairs) + "}\n")
        count += 1
    return count


def write_envelope(result: ShownResult, out: TextIO, style: Style) -> int:
    """What scripts read: status, columns with types, rows as arrays, their count; on one line."""
    columns = [{"name": c.name, "type": c.type} for c in result.columns]
    out.write(f'{{"status": {json.dumps(result.tag)}, "columns": {json.dumps(columns)}, "rows": [')
    count = 0
    for row in result.rows:
        out.write((", " if count else "") + to_json(row))
        count += 1
    rows = count if result.has_rows else max(result.row_count, 0)
    left_out = f', "skipped": {result.skipped}' if result.skipped else ""
    left_out += f', "rejected": {result.rejected}' if result.rejected else ""
    left_out += f', "notices": {to_json(result.notices)}' if result.notices else ""
    out.write(f'], "row_count": {rows}{left_out}}}\n')
    return count


def write_markdown(result: ShownResult, out: TextIO, style: Style) -> int:
    """A Markdown table."""
    out.write("| " + " | ".join(_escape(c.name) for c in result.columns) + " |\n")
    marks = ["---:" if c.is_number else "---" for c in result.columns]
    out.write("| " + " | ".join(marks) + " |\n")
    count = 0
    for row in result.rows:
        out.write("| " + " | ".join(_escape(display_text(v, style.null)) for v in row) + " |\n")
        count += 1
    return count


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def _keys(columns: Sequence[ShownColumn]) -> list[str]:
    """JSON keys of the columns; a name that comes again gets a number."""
    seen: dict[str, int] = {}
    keys = []
    for column in columns:
        seen[column.name] = seen.get(column.name, 0) + 1
        again = seen[column.name] > 1
        name = f"{column.name}_{seen[column.name]}" if again else column.name
        keys.append(json.dumps(name, ensure_ascii=False))
    return keys


FORMATS: dict[str, Writer] = {
    "table": write_table,
    "csv": write_csv,
    "tsv": write_tsv,
    "json": write_json,
    "jsonl": write_jsonl,
    "markdown": write_markdown,
}


def write_result(result: ShownResult, out: TextIO, name: str, style: Style) -> None:
    """Write a result in the named format; of a statement without rows, its status."""
    if result.has_rows:
        FORMATS[name](result, out, style)
    elif name in {"table", "markdown"} and style.footer:
        out.write(result.status + "\n")
