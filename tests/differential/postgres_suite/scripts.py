"""The statements of a script of psql, with the rows that stand behind a COPY; never runs anything.

Backslash commands are left out, and what needs a variable of psql with them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.shell.splitting import next_end, piece_of


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """A statement, the 1-based line where it begins, and the rows that it copies in."""

    line: int
    text: str
    rows: str | None = None


_FROM_STDIN = re.compile(r"^\s*copy\b.*\bfrom\s+stdin\b", re.I | re.S)
_BODY = re.compile(r"\bbegin\s+atomic\b", re.I)
_BODY_END = re.compile(r"\bend\s*;", re.I)
_VARIABLE = re.compile(r"(?<!:):['\"a-z_{]", re.I)
_QUOTED = re.compile(r"'[^']*'")


def read_script(text: str) -> Iterator[ScriptStatement]:
    """The statements of a script, in their order."""
    start = place = 0
    while start < len(text):
        end, after, command = next_end(text, place, "postgres", commands=True)
        after = len(text) if after is None else after
        if command:
            # A command ends its line; `\\gset` and the like also end the statement before them.
            line_end = _line_end(text, after)
            start = place = line_end if not text[start:end].strip() or text[after] == "g" else place
            place = max(place, line_end)
            continue
        if text.count("(", start, end) > text.count(")", start, end) and after < len(text):
            place = after
            continue
        if _BODY.search(text, start, end):
            closing = _BODY_END.search(text, end)
            end = after = len(text) if closing is None else closing.end()
        piece = piece_of(text, start, end, complete=True)
        start = place = after
        if piece is None:
            continue
        rows = None
        if _FROM_STDIN.match(piece.text):
            begin = _line_end(text, start)
            stop = text.find("\n\\.", begin - 1)
            rows = text[begin : max(stop + 1, begin)]
            if stop >= 0:
                # A COPY that PostgreSQL refuses may have no rows behind it.
                start = place = _line_end(text, stop + 1)
        if not _VARIABLE.search(_QUOTED.sub("''", piece.text)):
            yield ScriptStatement(piece.line + 1, piece.text, rows)


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1
