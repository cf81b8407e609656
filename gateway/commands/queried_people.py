"""Turns the rows of a query into lines of a CSV file that names people.

The names of its columns are the types, as in the header of such a file; NULL names nobody.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from journal.model.errors import Code, PalimpsestError

if TYPE_CHECKING:
    from gateway.dbapi.connection import Connection

PEOPLE_MAX = 100_000
"""So many one request, or submission, takes."""


def people_lines(connection: Connection, query: str) -> list[str]:
    """The lines, a header first; raises SETTING_VALUE for a statement without rows."""
    cursor = connection.execute(query)
    if cursor.description is None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "--query takes a query whose columns are types of identifiers",
            advice="--query 'SELECT email FROM hr.leavers'",
        )
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([column[0] for column in cursor.description])
    # One more than is taken, so that whoever takes them says that they are too many.
    for row in cursor.fetchmany(PEOPLE_MAX + 1):
        writer.writerow(["" if value is None else str(value) for value in row])
    cursor.close()
    text.seek(0)
    return list(text)
