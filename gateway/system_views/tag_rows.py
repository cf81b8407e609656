"""Rows about the tags of tables and columns that a role sees, as of now. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.system_views.source import SystemViewSource, tables_of
from journal.model.access import TableTag
from journal.model.schema import CatalogSnapshot, Table, fold, relation_key

COLUMNS = "schema table column tag kind origin path"
Row = tuple[Any, ...]
_Place = tuple[int, str]
"""A column, or a table as a whole: the id, and a physical name or an empty one."""


def tag_rows(seen: SystemViewSource) -> Iterator[Row]:
    """Each tag of a table or column; of inherited ones where they were set, and the path here."""
    access = seen.rights.access
    for table in tables_of(seen):
        for one in sorted(access.of(relation_key(table)).tags, key=lambda t: (t.column, t.tag)):
            name = _column_name(table, one.column)
            if one.column and name is None:
                continue  # The column was dropped; its past keeps the tag.
            places = _path_to((table.id, one.column), one, seen.catalog)
            path = [_place_name(place, seen.catalog) for place in places]
            kind = "inherited" if one.source else "set"
            yield (table.name.schema, table.name.name, name, one.tag, kind, path[0], path)


def _path_to(place: _Place, found: TableTag, catalog: CatalogSnapshot) -> list[_Place]:
    """The columns that an inherited tag came through, from where it was set."""
    path = [place]
    while found.source:
        place = (found.source, found.source_column)
        if place in path:
            break
        path.insert(0, place)
        table = catalog.by_id(place[0])
        tags = () if table is None else catalog.access.of(relation_key(table)).tags
        same = [t for t in tags if fold(t.tag) == fold(found.tag) and t.column in ("", place[1])]
        if not same:
            break  # It was taken off there since.
        found = min(same, key=lambda t: t.source)
    return path


def _place_name(place: _Place, catalog: CatalogSnapshot) -> str:
    table = catalog.by_id(place[0])
    if table is None:
        return f"dropped table {place[0]}"
    name = _column_name(table, place[1])
    return str(table.name) if not place[1] else f"{table.name}.{name or place[1]}"


def _column_name(table: Table, physical: str) -> str | None:
    return next((c.name for c in table.columns if c.physical == physical), None)
