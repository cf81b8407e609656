"""Writes the rows of a cursor to standard output: a table for people, JSON for scripts."""

from __future__ import annotations

import sys

from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor
from gateway.shell.formats import write_result
from gateway.shell.result import ShownResult
from gateway.shell.table import style_for


def write_rows(cursor: Cursor, connection: Connection, *, as_json: bool) -> None:
    """Write the rows of the cursor's result."""
    result = ShownResult.of(cursor, connection)
    write_result(result, sys.stdout, "json" if as_json else "table", style_for(sys.stdout))
    sys.stdout.flush()
