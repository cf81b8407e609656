"""A difference as tables for people, and as JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TextIO

from gateway.commands.diff_rows import ChangedRow, RowChange, TableDiff
from gateway.shell.result import Row, ShownColumn, ShownResult
from gateway.shell.table import style_for, write_table
from gateway.shell.values import display_text, to_json
from gateway.wording import counted

MARKS = {RowChange.INSERT: "+", RowChange.DELETE: "-", RowChange.UPDATE: "~"}
_PAST = {RowChange.INSERT: "inserted", RowChange.DELETE: "deleted", RowChange.UPDATE: "updated"}


def summary_line(found: TableDiff) -> str:
    """What differs, in one line, once all rows are read."""
    of = [f"{number:,} {_PAST[change]}" for change, number in found.counts.of.items() if number]
    if not of:
        return f"{found.table}: no differences"
    return f"{found.table}: {counted(found.counts.rows, 'row')} differ: {', '.join(of)}"


def split_rows(found: TableDiff, limit: int) -> tuple[list[ChangedRow], int]:
    """The first rows, and how many there are more; all are read."""
    first = list(islice(found.rows, limit))
    return first, sum(1 for _ in found.rows)


def write_as_tables(found: TableDiff, limit: int, out: TextIO) -> None:
    """The changed rows, the columns that changed, and the totals."""
    first, more = split_rows(found, limit)
    arrow = "→" if style_for(out).unicode else "->"
    if first:
        columns = (ShownColumn("", "VARCHAR"), *found.columns)
        rows = (_shown_row(row, arrow) for row in first)
        _write_rows(columns, rows, len(first), out)
    if more and limit:
        out.write(f"({counted(more, 'row')} more: --limit shows them)\n")
    out.write(f"{summary_line(found)}\n")
    if found.counts.rows:
        out.write("\n")
        kinds = "VARCHAR BIGINT DOUBLE DOUBLE DOUBLE".split()
        names = "column changed before after difference".split()
        columns = tuple(map(ShownColumn, names, kinds))
        lines = total_lines(found)
        _write_rows(columns, iter(lines), len(lines), out)


def _write_rows(
    columns: tuple[ShownColumn, ...], rows: Iterator[Row], number: int, out: TextIO
) -> None:
    style = replace(style_for(out), footer=False, remedy="--json has them whole")
    write_table(ShownResult("DIFF", number, columns, rows), out, style)


def _shown_row(row: ChangedRow, arrow: str) -> Row:
    values = list(row.before if row.after is None else row.after)  # type: ignore[arg-type]
    for place in row.changed:
        assert row.before is not None
        old, new = display_text(row.before[place]), display_text(values[place])
        values[place] = f"{old} {arrow} {new}"
    return (MARKS[row.change], *values)


def total_lines(found: TableDiff) -> list[Row]:
    """A line for the rows, and one for each column that changed or has a sum that did."""
    rows, *sums = found.totals()
    by_name = {total.name: total for total in sums}
    lines: list[Row] = [("(rows)", found.counts.rows, rows.before, rows.after, rows.difference)]
    for column, changed in zip(found.columns, found.counts.columns, strict=True):
        total = by_name.get(column.name)
        if total is not None and (changed or total.difference):
            lines.append((column.name, changed, total.before, total.after, total.difference))
        elif changed:
            lines.append((column.name, changed, "", "", ""))
    return lines


def write_as_json(found: TableDiff, limit: int | None, out: TextIO) -> None:
    """One object; its rows are written as they come, and what is counted behind them."""
    names = [c.name for c in found.columns]
    head = {"table": found.table, "from": found.since, "to": found.until}
    out.write("{" + "".join(f"{json.dumps(k)}: {to_json(v)}, " for k, v in head.items()))
    out.write('"rows": [')
    for number, row in enumerate(found.rows):
        if limit is None or number < limit:
            out.write(("," if number else "") + "\n " + to_json(_row_object(row, names)))
    counts = {_PAST[change]: number for change, number in found.counts.of.items()}
    columns = {n: c for n, c in zip(names, found.counts.columns, strict=True) if c}
    totals = {
        t.name: {"before": t.before, "after": t.after, "difference": t.difference}
        for t in found.totals()[1:]
    }
    rows = found.totals()[0]
    counts |= {"rows_before": int(rows.before), "rows_after": int(rows.after)}
    tail = {**counts, "columns": columns, "totals": totals}
    out.write("],\n " + to_json(tail).removeprefix("{") + "\n")


def _row_object(row: ChangedRow, names: list[str]) -> dict[str, object]:
    def as_object(values: Row | None) -> dict[str, object] | None:
        return None if values is None else dict(zip(names, values, strict=True))

    before, after = as_object(row.before), as_object(row.after)
    changed = [names[place] for place in row.changed]
    return {"change": row.change.value, "before": before, "after": after, "changed": changed}
