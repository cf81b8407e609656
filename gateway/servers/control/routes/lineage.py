"""Lineage over HTTP: what a table or column comes from and goes to, what it affects, and ways."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gateway.lineage.affected_tables import affected_tables
from gateway.lineage.questions import NamedEdge, lineage_around, lineage_path
from gateway.lineage.walks import LEVELS_MAX
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from journal.model.version import to_datetime

ROUTER = APIRouter(prefix="/lineage", tags=["lineage"], route_class=GovernedRoute)
_Levels = Annotated[int, Query(ge=0, le=LEVELS_MAX)]


class ColumnView(BaseModel):
    """A column of a table, a view or a file; ``*`` is whole rows."""

    table: str
    column: str


class ColumnEdgeView(BaseModel):
    """An edge, ``level`` of them away; there is no source where it is unknown, for a reason."""

    level: int
    source: ColumnView | None
    target: ColumnView
    type: str
    subtype: str
    masking: bool
    unknown: str | None
    statement_digest: str
    statement: str | None
    first_seen: datetime
    last_seen: datetime | None


class AroundView(BaseModel):
    """What a table or column comes from, and what comes from it, nearest first."""

    table: str
    column: str | None
    up: list[ColumnEdgeView]
    down: list[ColumnEdgeView]


class AffectedView(BaseModel):
    """A table that something goes to: which columns, and whether values go there."""

    level: int
    table: str
    columns: list[str]
    direct: bool


@ROUTER.get("")
def get_lineage(session: SessionOf, name: str, up: _Levels = 1, down: _Levels = 1) -> AroundView:
    """The edges within so many levels of ``table``, ``table.column`` or the path of a file."""
    found = session.perform(lineage_around, name, up, down)
    return AroundView(
        table=found.table,
        column=found.column,
        up=list(map(_edge_view, found.up)),
        down=list(map(_edge_view, found.down)),
    )


@ROUTER.get("/impact")
def list_affected(session: SessionOf, name: str) -> list[AffectedView]:
    """All tables, views and files that come from a table or column, however far."""
    found = session.perform(lineage_around, name, 0, LEVELS_MAX)
    return [AffectedView(**table._asdict()) for table in affected_tables(found)]


@ROUTER.get("/path")
def get_path(session: SessionOf, start: str, end: str) -> list[ColumnEdgeView]:
    """The edges of a shortest way on which ``end`` comes from ``start``; none if it does not."""
    return list(map(_edge_view, session.perform(lineage_path, start, end)))


def _edge_view(edge: NamedEdge) -> ColumnEdgeView:
    source = None
    if edge.source is not None and edge.source_column is not None:
        source = ColumnView(table=edge.source, column=edge.source_column)
    return ColumnEdgeView(
        level=edge.level,
        source=source,
        target=ColumnView(table=edge.target, column=edge.target_column),
        type=edge.kind,
        subtype=edge.subtype,
        masking=edge.masking,
        unknown=edge.unknown,
        statement_digest=edge.digest,
        statement=edge.statement,
        first_seen=to_datetime(edge.since),
        last_seen=edge.last_seen,
    )
