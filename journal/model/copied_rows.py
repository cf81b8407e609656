"""Records from which tables CREATE TABLE AS copied the rows of a table.

The property ``copied_from`` holds their ids, so that it outlives renames. Whoever knows that nobody
is in the copy removes the property. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from journal.model.schema import CatalogSnapshot, Table

PROPERTY = "copied_from"


def copied_from(table: Table) -> frozenset[int]:
    """The ids of the tables that its first rows were read from; those that they came from, too."""
    ids = dict(table.properties).get(PROPERTY, "").split(",")
    return frozenset(int(one) for one in ids if one.strip().isdecimal())


def with_sources(table: Table, read: Collection[int], catalog: CatalogSnapshot) -> Table:
    """The table with a note of the tables that its rows are ``read`` from, by their ids."""
    sources = held_sources(read, catalog)
    for table_id in tuple(sources):
        source = catalog.by_id(table_id)
        sources |= frozenset() if source is None else copied_from(source)
    if not sources:
        return table
    note = (PROPERTY, ",".join(str(one) for one in sorted(sources)))
    return replace(table, properties=(*table.properties, note))


def held_sources(tables: Collection[int], catalog: CatalogSnapshot) -> set[int]:
    """The ids of tables that are read, and of those whose rows materialised views of them hold."""
    found = set(tables)
    for table_id in tables:
        made = catalog.by_id(table_id)
        if made is not None and made.materialized is not None:
            found |= set(made.materialized.sources)
    return found
