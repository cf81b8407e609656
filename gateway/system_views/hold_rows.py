"""Rows of ``system.holds``: conditions in the words and the columns' names of today."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gateway.system_views.source import SystemViewSource
from journal.erasure.holds import Hold, held_in
from journal.model.schema import CatalogSnapshot
from journal.sql.native_words import shown_text
from journal.sql.unique_keys import logical_text

_TEXT, _MOMENT = pa.string(), pa.timestamp("us", "UTC")
COLUMNS = [
    *(("id", _TEXT), ("scope", _TEXT), ("table_id", pa.int64()), ("predicate", _TEXT)),
    *(("subject_column", _TEXT), ("reason", _TEXT), ("placed_by", _TEXT), ("placed_at", _MOMENT)),
    *(("released_by", _TEXT), ("released_at", _MOMENT)),
]


def hold_rows(seen: SystemViewSource) -> Iterator[tuple[Any, ...]]:
    """One row for each hold, oldest first."""
    with seen.records() as session:
        holds = held_in(session)
    for hold in holds:
        yield (
            *(hold.id, hold.scope.value, hold.table_id, _condition(hold, seen.catalog)),
            *(hold.subject_column, hold.reason, hold.placed_by, hold.placed_at),
            *(hold.released_by, hold.released_at),
        )


def _condition(hold: Hold, catalog: CatalogSnapshot) -> str | None:
    if hold.predicate is None:
        return None
    table = None if hold.table_id is None else catalog.by_id(hold.table_id)
    return shown_text(hold.predicate) if table is None else logical_text(table, hold.predicate)
