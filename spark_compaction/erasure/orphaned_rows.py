"""Counts rows that would refer to erased rows, or refuses the erasure.

The same in every store. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from journal.erasure.matching import shown_keys
from journal.model.dependents import Dependents, dependents_error, dependents_of
from journal.model.store_session import StoreSession
from journal.transactions.orphaned_rows import dangling
from journal.transactions.state import JournalState


def orphaned_rows(
    session: StoreSession,
    state: JournalState,
    keys: Mapping[int, pa.Table],
    chosen: Dependents | None,
) -> dict[int, dict[str, int]]:
    """By table and foreign key, the current rows that would refer to nothing without some keys.

    ``keys`` are those that go, by table; ``chosen`` is what the request says of dependents. Raises
    FOREIGN_KEY if there may be none.
    """
    if not state.catalog.references:
        return {}
    going: dict[int, exp.Query] = {}
    for table_id, found in keys.items():
        name = f"going_{table_id}"
        table = state.catalog.by_id(table_id)
        if table is not None:
            session.show_arrow(name, found)
            going[table_id] = shown_keys(table, name).distinct()
    left = dangling(session, state, going)
    session.hide(*[f"going_{table_id}" for table_id in going])
    for table_id, counts in left.items():
        table = state.catalog.by_id(table_id)
        if table is not None and dependents_of(table, chosen) is Dependents.REFUSE:
            raise dependents_error(table, counts, "erasing rows")
    return left
