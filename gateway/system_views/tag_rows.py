"""Rows about the tags of tables and columns that a role sees, as of now. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.system_views.source import SystemViewSource, relations_of
from journal.model.access import TableTag
from journal.model.lineage import WHOLE
from journal.model.schema import CatalogSnapshot, Relation, Table, fold, relation_key
from rewriter.context import RewriteContext, no_scan_info
from rewriter.definitions.shown_columns import columns_showing
from rewriter.lineage.inherited_tags import TagReader

COLUMNS = "schema table column tag kind origin path"
Row = tuple[Any, ...]
_Place = tuple[int, str]
"""A column, or a table as a whole: the id, and a physical name or an empty one."""


def tag_rows(seen: SystemViewSource) -> Iterator[Row]:
    """Each tag of a table, view or column; of inherited ones where they were set, and the path."""
    for relation in relations_of(seen):
        if isinstance(relation, Table) and relation.materialized is None:
            yield from _of_table(relation, seen)
        else:
            yield from _of_view(relation, seen)


def _of_table(table: Table, seen: SystemViewSource) -> Iterator[Row]:
    tags = seen.rights.access.of(relation_key(table)).tags
    for one in sorted(tags, key=lambda t: (t.column, t.tag)):
        name = _column_name(table, one.column)
        if one.column and name is None:
            continue  # The column was dropped; its past keeps the tag.
        places = _path_to((table.id, one.column), one, seen.catalog)
        path = [_place_name(place, seen.catalog) for place in places]
        kind = "inherited" if one.source else "set"
        yield (table.name.schema, table.name.name, name, one.tag, kind, path[0], path)
        for made in sorted(columns_showing(table, one.column) - {one.column}):
            way = [*path, _place_name((table.id, made), seen.catalog)]
            shown = _column_name(table, made)
            row = (table.name.schema, table.name.name, shown, one.tag, "inherited")
            yield (*row, path[0], way)


def _of_view(view: Relation, seen: SystemViewSource) -> Iterator[Row]:
    """A view has the tags of the columns that it shows, as of now."""
    if not any(access.tags for access in seen.rights.access.objects.values()):
        return
    reader = TagReader(RewriteContext(seen.catalog, no_scan_info))
    names = {fold(name): name for name in _names_of(view)}
    for folded, source in sorted(reader.tags_of_view(view)):
        name = None if folded == WHOLE else names.get(folded, folded)
        table = seen.catalog.by_id(source.table_id)
        tags = () if table is None else seen.rights.access.of(relation_key(table)).tags
        same = [t for t in tags if fold(t.tag) == fold(source.tag)]
        same = [t for t in same if t.column in ("", source.column)]
        places = _path_to((source.table_id, source.column), same[0], seen.catalog)
        path = [_place_name(place, seen.catalog) for place in places]
        path.append(str(view.name) if name is None else f"{view.name}.{name}")
        row = (view.name.schema, view.name.name, name, source.tag, "inherited")
        yield (*row, path[0], path)


def _names_of(view: Relation) -> list[str]:
    return [c.name for c in view.columns] if isinstance(view, Table) else list(view.columns)


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
        return f"table {place[0]}"  # It was dropped, or the role does not see it.
    name = _column_name(table, place[1])
    return str(table.name) if not place[1] else f"{table.name}.{name or place[1]}"


def _column_name(table: Table, physical: str) -> str | None:
    return next((c.name for c in table.columns if c.physical == physical), None)
