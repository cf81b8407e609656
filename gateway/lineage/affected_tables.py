"""Finds the tables that were filled from a table or column, directly or not."""

from __future__ import annotations

from typing import NamedTuple

from gateway.lineage.questions import LineageAround
from journal.model.lineage import DIRECT


class AffectedTable(NamedTuple):
    """A table that something goes to: how far it is, which columns, and whether values go there."""

    level: int
    table: str
    columns: list[str]
    direct: bool


def affected_tables(around: LineageAround) -> list[AffectedTable]:
    """The tables that edges downstream of a table or column lead to, nearest first."""
    direct = _with_values(around)
    found: dict[str, AffectedTable] = {}
    for edge in around.down:
        known = found.setdefault(edge.target, AffectedTable(edge.level, edge.target, [], False))
        if edge.target_column not in known.columns:
            known.columns.append(edge.target_column)
        if (edge.target, edge.target_column) in direct and not known.direct:
            found[edge.target] = known._replace(direct=True)
    return [f._replace(columns=sorted(f.columns)) for f in found.values()]


def _with_values(around: LineageAround) -> set[tuple[str, str]]:
    """The columns to which values come over edges that are all DIRECT."""
    found: set[tuple[str, str]] = set()
    left = [edge for edge in around.down if edge.kind == DIRECT]
    while True:
        reached = [
            e
            for e in left
            if (e.source == around.table and around.column in (None, e.source_column))
            or (e.source, e.source_column) in found
        ]
        if not reached:
            return found
        found.update((e.target, e.target_column) for e in reached)
        left = [e for e in left if e not in reached]
