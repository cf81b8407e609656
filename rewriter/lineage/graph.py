"""Lineage as a graph: columns, edges between them, and the statements behind each edge.

Everything that draws or exports lineage takes a ``LineageGraph``; the writers are in ``formats``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.sources import DIRECT, WHOLE
from rewriter.lineage.targets import ColumnTarget, row_sources, targets_by_table


class LineageEdge(NamedTuple):
    """A column that another one comes from; ``*`` as a column stands for the rows of its table."""

    table: str
    column: str
    to_table: str
    to_column: str
    kind: str
    subtype: str
    masking: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether it gives the value."""
        return self.kind == DIRECT

    @property
    def source(self) -> str:
        """Where it comes from, in one name."""
        return f"{self.table}.{self.column}"

    @property
    def target(self) -> str:
        """Where it goes to, in one name."""
        return f"{self.to_table}.{self.to_column}"

    @property
    def description(self) -> str:
        """How the target comes from the source, in a word or two."""
        masked = ", masked" if self.masking else ""
        return self.subtype.lower().replace("_", " ") + masked


class GraphStatement(NamedTuple):
    """A statement behind edges: what it is called, and its text, if that is known."""

    name: str
    text: str = ""


@dataclass(slots=True)
class LineageGraph:
    """Tables with the columns that lineage names, and the edges between them.

    ``edges`` have the places of their statements in ``statements``. ``unknown`` says of columns why
    what they come from cannot be told.

    >>> graph = LineageGraph()
    >>> graph.add_edge(LineageEdge("s", "a", "t", "b", "DIRECT", "IDENTITY"))
    >>> graph.columns
    {'s': {'a': None}, 't': {'b': None}}
    """

    columns: dict[str, dict[str, None]] = field(default_factory=dict)
    edges: dict[LineageEdge, dict[int, None]] = field(default_factory=dict)
    statements: list[GraphStatement] = field(default_factory=list)
    unknown: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_statement(self, statement: GraphStatement, targets: Sequence[ColumnTarget]) -> None:
        """Add what a statement writes; what decides about all of its rows goes to the rows."""
        if not targets:
            return
        place = len(self.statements)
        self.statements.append(statement)
        for table, written in targets_by_table(targets).items():
            shared = row_sources(written)
            # A table shows its columns in the order in which the statement gives them.
            for target in written:
                self.add_column(table, target.column)
                if target.unknown is not None:
                    self.unknown[table, target.column] = target.unknown
            edges = [(s, WHOLE) for s in sorted(shared)]
            edges += [(s, t.column) for t in written for s in t.sources if s not in shared]
            for s, column in edges:
                edge = LineageEdge(s.table, s.column, table, column, s.kind, s.subtype, s.masking)
                self.add_edge(edge, place)

    def add_column(self, table: str, column: str) -> None:
        """Know a column, or with ``*`` the table alone."""
        columns = self.columns.setdefault(table, {})
        if column != WHOLE:
            columns[column] = None

    def add_edge(self, edge: LineageEdge, statement: int | None = None) -> None:
        """Add an edge, and the place of a statement behind it."""
        self.add_column(edge.table, edge.column)
        self.add_column(edge.to_table, edge.to_column)
        behind = self.edges.setdefault(edge, {})
        if statement is not None:
            behind[statement] = None

    def nodes(self) -> Iterator[tuple[str, str]]:
        """Every table, as its rows, followed by its columns."""
        for table, columns in self.columns.items():
            yield table, WHOLE
            yield from ((table, column) for column in columns)

    def names_of_statements(self, edge: LineageEdge) -> list[str]:
        """What the statements behind an edge are called."""
        return [self.statements[place].name for place in self.edges[edge]]
