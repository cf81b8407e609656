"""SQL laid out for a reader: sqlglot's pretty printer, with what fits a line put on one.

Only white space changes: a text that sqlglot would write otherwise raises ValueError.
"""

from __future__ import annotations

import textwrap

import sqlglot

WIDTH = 120
_ROOM = 2
"""Columns left at the end of a line for what the file puts behind it."""


def laid_out(sql: str, dialect: str) -> str:
    """The statement in lines of at most ``WIDTH`` columns, where its names and literals allow."""
    tree = sqlglot.parse_one(sql, read=dialect)
    again = tree.sql(dialect=dialect, comments=False)
    if again != sql:
        raise ValueError(f"sqlglot writes it otherwise:\n{sql}\n{again}")
    pretty = tree.sql(
        dialect=dialect, comments=False, pretty=True, max_text_width=WIDTH - 40, copy=False
    )
    lines = _joined(pretty.splitlines())
    return "\n".join(part for line in lines for part in _broken(line))


def _joined(lines: list[str]) -> list[str]:
    """Lines, each block of which stands on one line where that fits."""
    found: list[str] = []
    place = 0
    while place < len(lines):
        end = _block_end(lines, place)
        whole = _one_line(lines[place:end])
        if len(whole) <= WIDTH - _ROOM:
            found.append(whole)
            place = end
        else:
            found.append(lines[place])
            place += 1
    return found


def _block_end(lines: list[str], start: int) -> int:
    """Where the lines end that belong to the first: those below it, and its closing bracket."""
    depth = _indent(lines[start])
    end = start + 1
    while end < len(lines):
        is_closing = _indent(lines[end]) == depth and lines[end].lstrip().startswith(")")
        if _indent(lines[end]) <= depth and not is_closing:
            break
        end += 1
    return end


def _one_line(lines: list[str]) -> str:
    text = lines[0]
    for line in lines[1:]:
        part = line.strip()
        tight = text.endswith("(") or part.startswith(")")
        text += part if tight else f" {part}"
    return text


def _broken(line: str) -> list[str]:
    """A line in several where it is too long: sqlglot leaves a row of VALUES whole."""
    further = " " * (_indent(line) + 2)
    parts = textwrap.wrap(
        line,
        WIDTH - _ROOM,
        subsequent_indent=further,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if any(part.count("'") % 2 for part in parts):
        raise ValueError(f"a literal is too long for a line: {line}")
    return parts


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
