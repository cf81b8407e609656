"""What requests look for in copies out of reach, in the catalog beside a store: a table for each.

A table that is dropped leaves no rows behind, as deleted rows of a shared one would. Decides
nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

_PREFIX = "palimpsest_sought_"


def _table(request_id: str) -> sa.Table:
    return sa.Table(f"{_PREFIX}{request_id}", sa.MetaData(), sa.Column("sought", sa.Text))


def keep(connection: Connection, request_id: str, sought: str) -> None:
    """Write down what a request looks for."""
    table = _table(request_id)
    table.create(connection)
    connection.execute(sa.insert(table).values(sought=sought))


def kept(connection: Connection, request_id: str) -> str | None:
    """What a request looks for; None if that is lost."""
    if request_id not in names(connection):
        return None
    found = connection.scalar(sa.select(_table(request_id).c.sought))
    return None if found is None else str(found)


def names(connection: Connection) -> set[str]:
    """The requests for which something is kept."""
    there = sa.inspect(connection).get_table_names()
    return {n.removeprefix(_PREFIX) for n in there if n.startswith(_PREFIX)}


def forget(connection: Connection, request_id: str) -> None:
    """Drop what a request looked for."""
    _table(request_id).drop(connection)
