"""Rows about materialised views: as of when their rows are, and of which tables they are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from journal.model.schema import CatalogSnapshot, Table
from journal.model.version import to_datetime
from journal.sql.native_words import shown_text
from journal.transactions.state import JournalState

COLUMNS = [
    ("schema", pa.string()),
    ("name", pa.string()),
    ("is_populated", pa.bool_()),
    ("refreshed_version", pa.int64()),
    ("refreshed_at", pa.timestamp("us", "UTC")),
    ("reads_query", pa.bool_()),
    ("sources", pa.list_(pa.string())),
    ("definition", pa.string()),
]


def materialized_rows(catalog: CatalogSnapshot, state: JournalState) -> Iterator[tuple[Any, ...]]:
    """One row for each materialised view, by its name."""
    views = [t for t in catalog.tables() if t.materialized is not None]
    for view in sorted(views, key=lambda v: v.name.key):
        made, held = view.materialized, state.tables.get(view.id)
        assert made is not None
        masks = () if held is None else held.manifest.masks
        when = None if made.refreshed is None else to_datetime(made.refreshed)
        yield (
            *(view.name.schema, view.name.name, made.refreshed is not None, made.refreshed, when),
            made.refreshed is not None and set(masks) != set(made.masks),
            [str(t.name) for t in map(catalog.by_id, made.sources) if isinstance(t, Table)],
            shown_text(made.shown_query),
        )
