"""The sources of a session's temporary tables, which lineage names in their place.

What comes from a temporary table comes from what the table was filled from. A value. The table's
past counts as well: rows that were removed since are not told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType

from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import (
    UNKNOWN,
    WHOLE,
    ColumnNode,
    NodeEdge,
    StatementLineage,
    unknown_edge,
)
from rewriter.lineage.sources import DIRECT, ColumnSource, deciding, passed


@dataclass(frozen=True, slots=True)
class TemporaryOrigins:
    """By column of a temporary table the edges that lead to it, none of them from another one."""

    edges: Mapping[ColumnNode, frozenset[NodeEdge]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    filled: frozenset[str] = frozenset()
    """The tables whose statements were followed."""

    def with_edges(self, lineage: StatementLineage) -> TemporaryOrigins:
        """The origins after a statement that may have filled temporary tables."""
        found = dict(self.edges)
        for edge in lineage.edges:
            if edge.target in lineage.temporary:
                of = ColumnNode(edge.target, edge.target_column)
                known = found.get(of, frozenset())
                found[of] = known | frozenset(self._without_temporary(edge, lineage.temporary))
        filled = self.filled | {n.node for n in lineage.writes if n.node in lineage.temporary}
        return replace(self, edges=MappingProxyType(found), filled=filled)

    def followed(self, lineage: StatementLineage) -> tuple[NodeEdge, ...]:
        """The edges of a statement, with what temporary tables come from in their place."""
        found: dict[NodeEdge, None] = {}
        for edge in lineage.edges:
            if edge.target not in lineage.temporary:
                found.update(dict.fromkeys(self._without_temporary(edge, lineage.temporary)))
        return tuple(found)

    def _without_temporary(self, edge: NodeEdge, own: frozenset[str]) -> Iterator[NodeEdge]:
        if edge.source is None or edge.source_column is None or edge.source not in own:
            yield edge
            return
        if edge.source not in self.filled:
            why = "the rows of a temporary table come from statements that were not followed"
            yield unknown_edge(edge.target, edge.target_column, why)
            return
        for before in sorted(self._of(ColumnNode(edge.source, edge.source_column)), key=repr):
            yield _joined(before, edge)

    def _of(self, column: ColumnNode) -> frozenset[NodeEdge]:
        rows = self.edges.get(ColumnNode(column.node, WHOLE), frozenset())
        if column.column != WHOLE:
            return rows | self.edges.get(column, frozenset())
        return frozenset(
            e for of, edges in self.edges.items() if of.node == column.node for e in edges
        )


def _joined(before: NodeEdge, edge: NodeEdge) -> NodeEdge:
    """The edge from the source of one to the target of the next."""
    if before.kind == UNKNOWN or before.source is None or before.source_column is None:
        return unknown_edge(edge.target, edge.target_column, before.unknown or "")
    source = ColumnSource(
        before.source, before.source_column, before.kind, before.subtype, before.masking
    )
    if edge.kind == DIRECT:
        (found,) = passed([source], edge.subtype, masking=edge.masking)
    else:
        (found,) = deciding([source], edge.subtype)
    return NodeEdge(edge.target, edge.target_column, *found)
