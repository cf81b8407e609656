"""Records from which tables CREATE TABLE AS copied the rows of a table, and what it was before.

The property ``copied_from`` holds their ids, so that it outlives renames. Whoever knows that nobody
is in the copy removes the property. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from journal.model.schema import CatalogSnapshot, Table

PROPERTY = "copied_from"
MOVED = "moved_from"
"""The property with the ids that a table had before its rows moved to another journal."""


def copied_from(table: Table) -> frozenset[int]:
    """The ids of the tables that its first rows were read from; those that they came from, too."""
    return _ids(table, PROPERTY)


def moved_from(table: Table) -> frozenset[int]:
    """The ids that a table had before its rows moved, whose journals hold its earlier past."""
    return _ids(table, MOVED)


def with_moved(table: Table, old: Table) -> Table:
    """The table with a note that it was ``old``, under another id."""
    kept = tuple(p for p in table.properties if p[0] != MOVED)
    return replace(table, properties=(*kept, _note(MOVED, moved_from(old) | {old.id})))


def with_sources(table: Table, read: Collection[int], catalog: CatalogSnapshot) -> Table:
    """The table with a note of the tables that its rows are ``read`` from, by their ids."""
    sources = held_sources(read, catalog)
    for table_id in tuple(sources):
        source = catalog.by_id(table_id)
        sources |= frozenset() if source is None else copied_from(source)
    if not sources:
        return table
    return replace(table, properties=(*table.properties, _note(PROPERTY, sources)))


def held_sources(tables: Collection[int], catalog: CatalogSnapshot) -> set[int]:
    """The ids of tables that are read, and of those whose rows materialised views of them hold."""
    found = set(tables)
    for table_id in tables:
        made = catalog.by_id(table_id)
        if made is not None and made.materialized is not None:
            found |= set(made.materialized.sources)
    return found


def _ids(table: Table, name: str) -> frozenset[int]:
    ids = dict(table.properties).get(name, "").split(",")
    return frozenset(int(one) for one in ids if one.strip().isdecimal())


def _note(name: str, ids: Collection[int]) -> tuple[str, str]:
    return name, ",".join(str(one) for one in sorted(ids))
