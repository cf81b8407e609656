"""Walks recorded edges: sources and targets of a column level by level, and paths.

An edge into whole rows, as of a filter, leads on to all columns of its table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from journal.model.lineage import WHOLE, ColumnNode, NodeEdge
from journal.records.lineage import EdgeRow

Beside = Callable[[Sequence[str]], Iterable[EdgeRow]]
"""Gives the edges in force that lie at some nodes, in the direction of a walk."""
LEVELS_MAX = 100


class EdgeStep(NamedTuple):
    """An edge that a walk has come over, at which level, from 1."""

    level: int
    row: EdgeRow


def walk(
    start: ColumnNode,
    beside: Beside,
    levels: int,
    *,
    downstream: bool,
    shows: Callable[[NodeEdge], bool] = lambda _edge: True,
) -> list[EdgeStep]:
    """The edges within so many levels of a column, or of ``*`` for any column of a node.

    It goes over edges alone that ``shows`` takes; only those are asked of that are reached.
    """
    found: list[EdgeStep] = []
    seen, frontier = {start}, {start}
    told: set[tuple[str, NodeEdge]] = set()
    for level in range(1, min(levels, LEVELS_MAX) + 1):
        following: set[ColumnNode] = set()
        for row in beside(sorted({column.node for column in frontier})):
            near, far = ends(row.edge, downstream=downstream)
            if near is None or not _meets(near, frontier) or (row.statement, row.edge) in told:
                continue
            told.add((row.statement, row.edge))
            if not shows(row.edge):
                continue
            found.append(EdgeStep(level, row))
            if far is not None and far not in seen:
                following.add(far)
        seen |= following
        frontier = following
        if not frontier:
            break
    return found


def path(start: ColumnNode, end: ColumnNode, beside: Beside) -> list[EdgeStep]:
    """A shortest way downstream from one column or node to another; empty if there is none."""
    came: dict[ColumnNode, tuple[ColumnNode, EdgeRow] | None] = {start: None}
    frontier = {start}
    for _ in range(LEVELS_MAX):
        following: set[ColumnNode] = set()
        for row in beside(sorted({column.node for column in frontier})):
            near, far = ends(row.edge, downstream=True)
            before = _meets(near, frontier) if near is not None else None
            if before is None or far is None or far in came:
                continue
            came[far] = (before, row)
            following.add(far)
            if far.node == end.node and end.column in (WHOLE, far.column):
                return _steps_to(far, came)
        frontier = following
        if not frontier:
            break
    return []


def _steps_to(
    end: ColumnNode, came: dict[ColumnNode, tuple[ColumnNode, EdgeRow] | None]
) -> list[EdgeStep]:
    rows: list[EdgeRow] = []
    step = came[end]
    while step is not None:
        rows.append(step[1])
        step = came[step[0]]
    return [EdgeStep(level, row) for level, row in enumerate(reversed(rows), 1)]


def ends(edge: NodeEdge, *, downstream: bool) -> tuple[ColumnNode | None, ColumnNode | None]:
    """The near and the far end of an edge; None for the source of an unknown one."""
    target = ColumnNode(edge.target, edge.target_column)
    source = None
    if edge.source is not None and edge.source_column is not None:
        source = ColumnNode(edge.source, edge.source_column)
    return (source, target) if downstream else (target, source)


def _meets(near: ColumnNode, frontier: set[ColumnNode]) -> ColumnNode | None:
    """The column of the frontier through which an end of an edge is reached."""
    if near in frontier:
        return near
    whole = ColumnNode(near.node, WHOLE)
    if whole in frontier:
        return whole
    if near.column == WHOLE:
        return min((c for c in frontier if c.node == near.node), default=None)
    return None
