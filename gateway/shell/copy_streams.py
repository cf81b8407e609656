r"""COPY .. FROM STDIN and TO STDOUT where programs have those: the shell and the command line.

In a script the data stands behind the statement, up to a line ``\.``; else it is what is piped in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TextIO

from gateway.dbapi.connection import Connection
from gateway.wording import counted

END_MARK = "\\."
_STREAM = re.compile(
    r"\s*copy\b.*\b(?:from\s+(?P<source>stdin)|to\s+(?P<sink>stdout))\b[^']*"
    r"(?:'(?:[^']|'')*'[^']*)*",
    re.IGNORECASE | re.DOTALL,
)


def copies_in(text: str) -> bool:
    """True for a COPY .. FROM STDIN."""
    found = _STREAM.fullmatch(text)
    return found is not None and found["source"] is not None


def copies_out(text: str) -> bool:
    """True for a COPY .. TO STDOUT."""
    found = _STREAM.fullmatch(text)
    return found is not None and found["sink"] is not None


def data_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines up to the end mark."""
    for line in lines:
        if line.rstrip("\r\n") == END_MARK:
            return
        yield line if line.endswith("\n") else line + "\n"


def copy_in(connection: Connection, text: str, lines: Iterable[str]) -> str:
    """Load lines; returns what to say about it."""
    cursor = connection.cursor()
    try:
        with cursor.copy(text) as copy:
            for line in data_lines(lines):
                copy.write(line)
        return f"COPY: {counted(cursor.rowcount, 'row')}."
    finally:
        cursor.close()


def copy_out(connection: Connection, text: str, out: TextIO) -> None:
    """Write what a COPY says."""
    cursor = connection.cursor()
    try:
        with cursor.copy(text) as copy:
            for piece in copy:
                out.write(piece.decode())
        out.flush()
    finally:
        cursor.close()
