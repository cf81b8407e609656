"""Rows of a database that stay and refer to what an erasure takes: counted, or a refusal.

Rows that are to go as well are not followed here; whoever asks for that is told. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from journal.dangling import dangling
from journal.dependents import Dependents, dependents_of, refused
from journal.errors import Code, PalimpsestError
from journal.state import JournalState
from journal.stores.postgres.store import PostgresSession


def left_behind(
    session: PostgresSession,
    committed: JournalState,
    keys: Mapping[int, pa.Table],
    chosen: Dependents | None,
) -> dict[int, dict[str, int]]:
    """By table and foreign key, the current rows that would refer to nothing without some keys.

    Raises FOREIGN_KEY if there may be none, NOT_SUPPORTED if they are to go, too.
    """
    parents = [
        reference.parent
        for table_id in keys
        for reference in committed.catalog.references.get(table_id, ())
        if reference.parent.id == table_id
    ]
    for table in parents:
        if dependents_of(table, chosen) is Dependents.CASCADE:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"a PostgreSQL store takes nothing along that refers to rows of {table.name}",
                advice="onboard these tables by the referring column and name both identifiers,"
                " or choose REPORT or REFUSE: docs/erasure.md",
            )
    if not parents:
        return {}
    going = {}
    for table_id, found in keys.items():
        session.show_arrow(f"going_{table_id}", found)
        going[table_id] = exp.select("*").from_(f"going_{table_id}")
    left = dangling(session, committed, going)
    for table in parents:
        if table.id in left and dependents_of(table, chosen) is Dependents.REFUSE:
            raise refused(table, left[table.id], "erasing rows")
    return left
