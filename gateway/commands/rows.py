"""Writes the rows of a cursor to standard output: a table for people, JSON for scripts."""

from __future__ import annotations

import sys
from typing import Any

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


def dict_rows(connection: Connection, sql: str) -> list[dict[str, Any]]:
    """The rows of a query, each by the names of its columns."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
