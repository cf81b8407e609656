"""A difference as a page for a browser: one file, without scripts, that loads nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, TextIO

from gateway.commands.diff_formats import MARKS, split_rows, summary_line, total_lines
from gateway.commands.diff_rows import ChangedRow, TableDiff
from gateway.shell.result import ShownColumn
from gateway.shell.values import file_text
from gateway.wording import counted

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --ins: #2ea04333; --del: #f8514933; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; }
body { padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0 2rem; display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; }
th, td { text-align: left; vertical-align: top; }
td { font-family: ui-monospace, monospace; font-size: 13px; white-space: pre-wrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.insert, ins { background: var(--ins); } tr.delete, del { background: var(--del); }
ins { text-decoration: none; } .key { font-weight: 600; } .null { opacity: .5; font-style: italic; }
"""


def write_page(found: TableDiff, limit: int, out: TextIO) -> None:
    """Write the page, with the first ``limit`` changed rows; all are counted."""
    first, more = split_rows(found, limit)
    title = escape(f"{found.table}: {found.since} to {found.until or 'now'}")
    out.write('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n')
    out.write('<meta name="viewport" content="width=device-width, initial-scale=1">\n')
    out.write(f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n")
    out.write(f"<h1>{escape(found.table)}</h1>\n")
    span = f"From <b>{escape(found.since)}</b> to <b>{escape(found.until or 'now')}</b>."
    out.write(f"<p>{span}</p>\n<p>{escape(summary_line(found))}.</p>\n")
    if found.counts.rows:
        out.writelines(_columns_table(found))
    if first:
        out.writelines(_rows_table(found, first))
    if more:
        out.write(f"<p>{counted(more, 'row')} more not shown.</p>\n")
    out.write("</body>\n</html>\n")


def _columns_table(found: TableDiff) -> Iterator[str]:
    yield "<table>\n<caption>Columns and totals</caption>\n<thead><tr>"
    for name in ("column", "rows changed", "before", "after", "difference"):
        yield f'<th scope="col">{name}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for name, *numbers in total_lines(found):
        cells = "".join(f'<td class="n">{_text(number)}</td>' for number in numbers)
        yield f'<tr><th scope="row">{escape(str(name))}</th>{cells}</tr>\n'
    yield "</tbody>\n</table>\n"


def _rows_table(found: TableDiff, rows: list[ChangedRow]) -> Iterator[str]:
    yield '<table>\n<caption>Rows</caption>\n<thead><tr><th scope="col">change</th>'
    for place, column in enumerate(found.columns):
        yield f'<th scope="col"{_class(column, place in found.keys)}>{escape(column.name)}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for row in rows:
        kind = row.change.value
        yield f'<tr class="{kind}"><td title="{kind}">{MARKS[row.change]}</td>'
        for place, column in enumerate(found.columns):
            yield f"<td{_class(column, place in found.keys)}>{_cell(row, place)}</td>"
        yield "</tr>\n"
    yield "</tbody>\n</table>\n"


def _class(column: ShownColumn, is_key: bool) -> str:
    names = [name for name, holds in (("n", column.is_number), ("key", is_key)) if holds]
    return f' class="{" ".join(names)}"' if names else ""


def _cell(row: ChangedRow, place: int) -> str:
    values = row.before if row.after is None else row.after
    assert values is not None
    new = _text(values[place])
    if place not in row.changed or row.before is None:
        return new
    return f"<del>{_text(row.before[place])}</del> <ins>{new}</ins>"


def _text(value: Any) -> str:
    if value is None:
        return '<span class="null">NULL</span>'
    return escape(file_text(value))
