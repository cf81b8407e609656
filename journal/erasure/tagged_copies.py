"""Copies of what a request looks for, in tables that it does not search.

Tags are inherited with the values of columns, so an inherited tag leads back to the column that the
values came from; and a table knows the tables that CREATE TABLE AS has filled it from. What is
found is told with the request, for a person to decide on: nothing is erased that nobody asked for.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from journal.model.access import TableTag
from journal.model.copied_rows import copied_from
from journal.model.schema import CatalogSnapshot, Table, fold, relation_key

Sought = Mapping[int, frozenset[str] | None]
"""By the id of a table its columns, by physical name, that somebody is looked for by; None: all."""


def told_copies(table: Table, sought: Sought, catalog: CatalogSnapshot) -> str:
    """What columns of a table hold copies of, in words; nothing if none does."""
    found: dict[str, str] = {}
    for one in catalog.access.of(relation_key(table)).tags:
        for source_id, column in _sources(one, catalog):
            source = catalog.by_id(source_id)
            if source is None or source_id == table.id or source_id not in sought:
                continue
            wanted = sought[source_id]
            if wanted is None or not column or column in wanted:
                place = f"{source.name}.{_name(source, column)}" if column else str(source.name)
                found.setdefault(_name(table, one.column), place)
    told = [
        f"{f'column {name}' if name else 'it'} holds values of {place}"
        for name, place in found.items()
    ]
    if not told:
        ids = sorted(copied_from(table) & sought.keys() - {table.id})
        names = [str(source.name) for i in ids if (source := catalog.by_id(i)) is not None]
        told = [f"it was made from rows of {', '.join(names)}"] if names else []
    return "; ".join(told)


def _sources(tag: TableTag, catalog: CatalogSnapshot) -> Iterator[tuple[int, str]]:
    """The columns that an inherited tag came through, the nearest first."""
    seen: set[tuple[int, str]] = set()
    left = [tag]
    while left:
        one = left.pop()
        place = (one.source, one.source_column)
        if not one.source or place in seen:
            continue
        seen.add(place)
        yield place
        table = catalog.by_id(one.source)
        known = () if table is None else catalog.access.of(relation_key(table)).tags
        left += [t for t in known if fold(t.tag) == fold(tag.tag) and _meets(t.column, place[1])]


def _meets(one: str, other: str) -> bool:
    return "" in (one, other) or one == other


def _name(table: Table, physical: str) -> str:
    return next((c.name for c in table.columns if c.physical == physical), physical)
