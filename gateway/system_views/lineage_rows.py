"""Rows of ``system.lineage``, ``system.column_lineage`` and ``system.usage``.

Edges are shown where both ends are there and the role sees them; a statement is shown where all its
edges are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa

from gateway.lineage.node_names import NodeName, NodeNames, all_shown
from gateway.system_views.source import SystemViewSource
from journal.model.lineage import DIRECT, ColumnNode, NodeEdge
from journal.model.version import to_datetime
from journal.records.lineage import (
    EdgeRow,
    LineageStatement,
    load_edges,
    load_statements,
    load_usage,
)

Row = tuple[Any, ...]
_TEXT, _NUMBER, _FLAG = pa.string(), pa.int64(), pa.bool_()
_MOMENT = pa.timestamp("us", "UTC")
_Found = tuple[list[EdgeRow], dict[str, LineageStatement], set[str]]


def _load(seen: SystemViewSource, names: NodeNames) -> _Found:
    """Edges in force that are shown, statements by id, and the ids of those that are shown."""
    with seen.records() as session:
        edges, told = load_edges(session), load_statements(session)
    of_statement: dict[str, list[NodeEdge]] = defaultdict(list)
    for row in edges:
        of_statement[row.statement].append(row.edge)
    shown = {name for name, made in of_statement.items() if all_shown(names, made)}
    in_force = [row for row in edges if not row.until and names.shows(row.edge)]
    return in_force, {one.id: one for one in told}, shown


def lineage_rows(seen: SystemViewSource) -> Iterator[Row]:
    """One row for each statement that fills a table or file from another one."""
    names = NodeNames(seen.catalog)
    edges, statements, shown = _load(seen, names)
    found: dict[tuple[str, str | None, str], list[EdgeRow]] = defaultdict(list)
    for row in edges:
        found[row.edge.target, row.edge.source, row.statement].append(row)
    for (target, source, name), rows in found.items():
        told, is_shown = statements.get(name), name in shown
        unknown = next((row.edge.unknown for row in rows if row.edge.unknown), None)
        yield (
            *_named(names, source),
            *_named(names, target),
            *(any(row.edge.kind == DIRECT for row in rows), len(rows), unknown),
            *((told.digest, told.text if is_shown else None, told.tag) if told else (None,) * 3),
            *((told.user, told.application) if told else (None, None)),
            to_datetime(min(row.since for row in rows)),
            *((told.last_seen, told.runs) if told else (None, None)),
        )


def column_lineage_rows(seen: SystemViewSource) -> Iterator[Row]:
    """One row for each column that a statement fills or decides from another one."""
    names = NodeNames(seen.catalog)
    edges, statements, _ = _load(seen, names)
    for row in edges:
        edge, told = row.edge, statements.get(row.statement)
        source = None
        if edge.source is not None and edge.source_column is not None:
            source = names.column(ColumnNode(edge.source, edge.source_column))
        yield (
            *(*_named(names, edge.source)[:2], source),
            *_named(names, edge.target)[:2],
            names.column(ColumnNode(edge.target, edge.target_column)),
            *(edge.kind, edge.subtype, bool(edge.masking), edge.unknown),
            *(told.digest if told else None, to_datetime(row.since)),
            told.last_seen if told else None,
        )


def usage_rows(seen: SystemViewSource) -> Iterator[Row]:
    """How often tables and their columns were read and written on a day."""
    names = NodeNames(seen.catalog)
    with seen.records() as session:
        found = load_usage(session)
    for row in found:
        name, column = names.name(row.of.node), names.column(row.of)
        if name is None or column is None:
            continue
        uses = row.uses
        yield (
            *(date.fromisoformat(row.day), name.schema, name.name, column or None),
            *(uses.reads, uses.writes, uses.last_read, uses.last_written),
        )


def _named(names: NodeNames, node: str | None) -> NodeName | tuple[None, None, None]:
    found = None if node is None else names.name(node)
    return (None, None, None) if found is None else found


LINEAGE_RELATIONS: dict[str, tuple[Any, Any]] = {
    "sys_lineage": (
        [
            *(("source_schema", _TEXT), ("source_table", _TEXT), ("source_kind", _TEXT)),
            *(("target_schema", _TEXT), ("target_table", _TEXT), ("target_kind", _TEXT)),
            *(("is_direct", _FLAG), ("edges", _NUMBER), ("unknown", _TEXT)),
            *(("statement_digest", _TEXT), ("statement", _TEXT), ("tag", _TEXT), ("user", _TEXT)),
            *(("application", _TEXT), ("first_seen", _MOMENT), ("last_seen", _MOMENT)),
            ("runs", _NUMBER),
        ],
        lineage_rows,
    ),
    "sys_column_lineage": (
        [
            *(("source_schema", _TEXT), ("source_table", _TEXT), ("source_column", _TEXT)),
            *(("target_schema", _TEXT), ("target_table", _TEXT), ("target_column", _TEXT)),
            *(("type", _TEXT), ("subtype", _TEXT), ("masking", _FLAG), ("unknown", _TEXT)),
            *(("statement_digest", _TEXT), ("first_seen", _MOMENT), ("last_seen", _MOMENT)),
        ],
        column_lineage_rows,
    ),
    "sys_usage": (
        [
            *(("day", pa.date32()), ("schema", _TEXT), ("table", _TEXT), ("column", _TEXT)),
            *(("reads", _NUMBER), ("writes", _NUMBER)),
            *(("last_read", _MOMENT), ("last_written", _MOMENT)),
        ],
        usage_rows,
    ),
}
"""The columns of these relations, and their rows, by the names that plans give them."""
