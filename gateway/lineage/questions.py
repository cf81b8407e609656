"""Answers questions of front ends about lineage, with the present names.

A role is told of what it sees, as in ``system.column_lineage``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gateway.lineage.node_names import NodeNames, all_shown
from gateway.lineage.walks import LEVELS_MAX, EdgeStep, path, walk
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lineage import (
    DIRECT,
    WHOLE,
    ColumnNode,
    NodeEdge,
    file_node,
    node_of,
    view_of,
)
from journal.model.schema import CatalogSnapshot, Table, TableName, fold
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.model.visibility import visible_to
from journal.records.lineage import EdgeRow, edges_beside, load_edges, statements_of
from rewriter.lineage.executed.relations_made import shown_names

if TYPE_CHECKING:
    from gateway.session.session import Session


class NamedEdge(NamedTuple):
    """An edge by the names of tables and columns; ``level`` says how far it is, from 1.

    There is no source where it is ``unknown``. ``statement`` has no values; it is None where the
    role does not see all that it names.
    """

    level: int
    source: str | None
    source_column: str | None
    target: str
    target_column: str
    kind: str
    subtype: str
    masking: bool
    unknown: str | None
    digest: str
    statement: str | None
    since: Version
    last_seen: datetime | None


class LineageAround(NamedTuple):
    """A table or column by its name, and the edges that lead to it and from it."""

    table: str
    column: str | None
    up: tuple[NamedEdge, ...] = ()
    down: tuple[NamedEdge, ...] = ()


@operation
def lineage_around(session: Session, _: Advance, name: str, up: int, down: int) -> LineageAround:
    """The edges within so many levels of ``table`` or ``table.column``.

    Raises UNKNOWN_TABLE and UNKNOWN_COLUMN.
    """
    with _LineageReader(session) as reader:
        start = reader.column_named(name)
        shows = reader.names.shows
        above = walk(start, reader.all_above, up, downstream=False, shows=shows)
        below = walk(start, reader.all_below, down, downstream=True, shows=shows)
        return LineageAround(*reader.name_of(start), reader.named(above), reader.named(below))


@operation
def lineage_path(session: Session, _: Advance, start: str, end: str) -> tuple[NamedEdge, ...]:
    """The edges of a shortest way on which ``end`` comes from ``start``; none if it does not.

    Raises UNKNOWN_TABLE and UNKNOWN_COLUMN.
    """
    with _LineageReader(session) as reader:
        ends = reader.column_named(start), reader.column_named(end)
        return reader.named(path(*ends, reader.below))


@operation
def lineage_changes(
    session: Session, _: Advance, since: Version, until: Version | None
) -> tuple[tuple[NamedEdge, ...], tuple[NamedEdge, ...]]:
    """The edges that came and that ceased between two versions; None: up to now.

    An edge ceases with its table or column, or with the query of its view.
    """
    state = session.journal.state
    with _LineageReader(session) as reader:
        last = state.version if until is None else until
        rows = load_edges(reader.records)
        names_before, names_then = (reader.names_at(state.catalog_at(v)) for v in (since, last))
        before, after = _in_force(rows, since, names_before), _in_force(rows, last, names_then)
        came = [EdgeStep(1, row) for edge, row in after.items() if edge not in before]
        ceased = [EdgeStep(1, row) for edge, row in before.items() if edge not in after]
        return reader.named(came, names_then), reader.named(ceased, names_before)


def downstream_of(session: Session, tables: Iterable[TableName]) -> tuple[str, ...]:
    """The tables, views and files that come from some tables, however far, by name."""
    with _LineageReader(session) as reader:
        relations = [reader.names.catalog.get(name) for name in tables]
        starts = [ColumnNode(node_of(found), WHOLE) for found in relations if found is not None]
        steps = [
            s for start in starts for s in walk(start, reader.below, LEVELS_MAX, downstream=True)
        ]
        own = {start.node for start in starts}
        nodes = dict.fromkeys(s.row.edge.target for s in steps if s.row.edge.target not in own)
        return tuple(str(reader.names.name(node)) for node in nodes)


def filled_from(session: Session, tables: Iterable[TableName]) -> tuple[NamedEdge, ...]:
    """For each table and file into which values of some tables went, however far, an edge into it.

    Its statement is one that filled it. Views are passed through: they hold nothing. What was only
    asked in a condition is no copy.
    """
    with _LineageReader(session) as reader:
        relations = [reader.names.catalog.get(name) for name in tables]
        starts = [ColumnNode(node_of(found), WHOLE) for found in relations if found is not None]

        def direct(nodes: Sequence[str]) -> list[EdgeRow]:
            return [row for row in reader.below(nodes) if row.edge.kind == DIRECT]

        own = {start.node for start in starts}
        first: dict[str, EdgeStep] = {}
        for start in starts:
            for step in walk(start, direct, LEVELS_MAX, downstream=True):
                first.setdefault(step.row.edge.target, step)
        held = [s for n, s in first.items() if n not in own and view_of(n) is None]
        return reader.named(held)


def _in_force(
    rows: Iterable[EdgeRow], version: Version, names: NodeNames
) -> dict[NodeEdge, EdgeRow]:
    """The edges that held at a version, between what there was then."""
    return {
        row.edge: row
        for row in rows
        if row.since <= version and (not row.until or row.until > version) and names.shows(row.edge)
    }


class _LineageReader(ExitStack):
    """Reads the lineage on record by the names of what a session's role sees, inside a block."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.records: RecordSession = self.enter_context(session.journal.reading_session())
        self.names = self.names_at(session.journal.state.catalog)

    def names_at(self, catalog: CatalogSnapshot) -> NodeNames:
        """The names in a catalog, as far as the role sees them now."""
        rights = self._session.catalog.rights_of(self._session.settings.role)
        return NodeNames(visible_to(catalog, rights))

    def all_below(self, nodes: Sequence[str]) -> list[EdgeRow]:
        """What comes from some nodes, also what the role does not see."""
        return edges_beside(self.records, nodes, downstream=True)

    def all_above(self, nodes: Sequence[str]) -> list[EdgeRow]:
        """What some nodes come from, also what the role does not see."""
        return edges_beside(self.records, nodes, downstream=False)

    def below(self, nodes: Sequence[str]) -> list[EdgeRow]:
        """What comes from some nodes."""
        return [row for row in self.all_below(nodes) if self.names.shows(row.edge)]

    def name_of(self, column: ColumnNode) -> tuple[str, str | None]:
        """A table or column by its name."""
        name = None if column.column == WHOLE else self.names.column(column)
        return str(self.names.name(column.node)), name

    def named(
        self, steps: Sequence[EdgeStep], names: NodeNames | None = None
    ) -> tuple[NamedEdge, ...]:
        """Edges by names, those of today unless others are given, with their statements."""
        names = names or self.names
        ids = dict.fromkeys(step.row.statement for step in steps)
        told = {s.id: s for s in statements_of(self.records, ids)}
        by_statement: dict[str, list[NodeEdge]] = {}
        for step in steps:
            by_statement.setdefault(step.row.statement, []).append(step.row.edge)
        is_seen = {name: all_shown(names, made) for name, made in by_statement.items()}
        found = []
        for level, row in steps:
            edge, statement = row.edge, told.get(row.statement)
            source = column = None
            if edge.source is not None and edge.source_column is not None:
                source = str(names.name(edge.source))
                column = names.column(ColumnNode(edge.source, edge.source_column))
            target_column = names.column(ColumnNode(edge.target, edge.target_column))
            found.append(
                NamedEdge(
                    *(level, source, column, str(names.name(edge.target))),
                    *(target_column or WHOLE, edge.kind, edge.subtype, bool(edge.masking)),
                    *(edge.unknown, statement.digest if statement else ""),
                    statement.text if statement and is_seen[row.statement] else None,
                    *(row.since, statement.last_seen if statement else None),
                )
            )
        return tuple(found)

    def column_named(self, name: str) -> ColumnNode:
        """The node of ``table``, or the column of ``table.column``."""
        path = self._session.settings.search_path
        found = self.names.node(name, path)
        if found is not None:
            return ColumnNode(found, WHOLE)
        table, _, column = name.rpartition(".")
        found = self.names.node(table, path) if table else None
        relation = None if found is None else self.names.relation(found)
        if found is None or relation is None:
            if "/" in name:
                return ColumnNode(file_node(name), WHOLE)
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f"there is no table, view or file {name}",
                advice="system.tables lists tables and views; a file is named by its path",
            )
        columns = {fold(shown): shown.lower() for shown in shown_names(relation)}
        if isinstance(relation, Table):
            columns = {fold(c.name): c.physical for c in relation.columns}
        if fold(column) not in columns:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f"{relation.name} has no column {column}",
                advice="its columns are " + ", ".join(shown_names(relation)),
            )
        return ColumnNode(found, columns[fold(column)])
