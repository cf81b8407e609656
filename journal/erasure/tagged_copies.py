"""Finds tables that may hold copies of erased values, and that a request does not search.

Tags are inherited with the values of columns, so an inherited tag leads back to the column that the
values came from; and a table knows the tables that CREATE TABLE AS has filled it from. What is
found is told with the request, for a person to decide on, and with the statements that have filled
the table: nothing is erased that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from journal.model.access import TableTag
from journal.model.copied_rows import copied_from
from journal.model.lineage import DIRECT, table_node
from journal.model.schema import CatalogSnapshot, Table, fold, relation_key
from journal.model.store_session import RecordSession
from journal.records.lineage import edges_beside, statements_of

_STATEMENTS_MAX = 3
_TEXT_MAX = 200

Sought = Mapping[int, frozenset[str] | None]
"""By the id of a table its columns, by physical name, that somebody is looked for by; None: all."""


def told_copies(
    session: RecordSession, table: Table, sought: Sought, catalog: CatalogSnapshot
) -> str:
    """What columns of a table hold copies of, and what filled them; nothing if none does."""
    found: dict[str, str] = {}
    columns: set[str] | None = set()
    for one in catalog.access.of(relation_key(table)).tags:
        for source_id, column in _sources(one, catalog):
            source = catalog.by_id(source_id)
            if source is None or source_id == table.id or source_id not in sought:
                continue
            wanted = sought[source_id]
            if wanted is None or not column or column in wanted:
                place = f"{source.name}.{_name(source, column)}" if column else str(source.name)
                found.setdefault(_name(table, one.column), place)
                if columns is not None:
                    columns = {*columns, one.column} if one.column else None
    told = [
        f"{f'column {name}' if name else 'it'} holds values of {place}"
        for name, place in found.items()
    ]
    if not told:
        ids = sorted(copied_from(table) & sought.keys() - {table.id})
        names = [str(source.name) for i in ids if (source := catalog.by_id(i)) is not None]
        told = [f"it was made from rows of {', '.join(names)}"] if names else []
        columns = None
    return "; ".join([*told, *_filled_by(session, table, columns)]) if told else ""


def _filled_by(session: RecordSession, table: Table, columns: set[str] | None) -> Iterator[str]:
    """The statements, without their values, that have filled columns of a table; None: any."""
    node = table_node(table.id)
    ids = {
        row.statement
        for row in edges_beside(session, [node], downstream=False)
        if row.edge.kind == DIRECT and row.edge.source != node
        if columns is None or row.edge.target_column in columns
    }
    filled = sorted(statements_of(session, ids), key=lambda s: (s.first_version, s.id))
    for statement in filled[:_STATEMENTS_MAX]:
        text = " ".join(statement.text.split())
        yield f"filled by {text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + ' ..'}"
    if len(filled) > _STATEMENTS_MAX:
        yield f"and by {len(filled) - _STATEMENTS_MAX} more: palimpsest lineage show {table.name}"


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
