"""Names the nodes of lineage as the catalog and the reader's rights allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import (
    CLIENT,
    WHOLE,
    ColumnNode,
    NodeEdge,
    file_of,
    node_of,
    table_id_of,
    view_of,
)
from journal.model.schema import CatalogSnapshot, Relation, Table, View, fold
from rewriter.definitions.new_relations import kind_of_relation
from rewriter.lineage.executed.relations_made import shown_names
from rewriter.reading.system import system_names

_OF_SYSTEM = frozenset(
    f"{schema}.{name}"
    for schema in ("system", "information_schema")
    for name in system_names(schema)
)


class NodeName(NamedTuple):
    """A table, view or file by its name; files have no schema."""

    schema: str | None
    name: str
    kind: str

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(slots=True)
class NodeNames:
    """Names in a catalog; of what is dropped, or not seen, there is none."""

    catalog: CatalogSnapshot
    _views: dict[str, Relation] = field(init=False)

    def __post_init__(self) -> None:
        relations = self.catalog.relations.values()
        self._views = {node_of(found): found for found in relations if isinstance(found, View)}

    def relation(self, node: str) -> Relation | None:
        """The table or view that a node is."""
        table_id = table_id_of(node)
        return self._views.get(node) if table_id is None else self.catalog.by_id(table_id)

    def name(self, node: str) -> NodeName | None:
        """What a node is called."""
        found = self.relation(node)
        if found is not None:
            return NodeName(found.name.schema, found.name.name, kind_of_relation(found).lower())
        path, view = file_of(node), view_of(node)
        if path is not None:
            return NodeName(None, path, "file")
        if view in _OF_SYSTEM:
            schema, _, name = view.partition(".")
            return NodeName(schema, name, "view")
        return NodeName(None, "client", "client") if node == CLIENT else None

    def column(self, of: ColumnNode) -> str | None:
        """What a column is called now; ``*`` for whole rows, None for one that is gone."""
        found = self.relation(of.node)
        if of.column == WHOLE or found is None:
            return of.column
        if isinstance(found, Table):
            return next((c.name for c in found.columns if c.physical == of.column), None)
        return next((n for n in shown_names(found) if n.lower() == of.column), None)

    def shows(self, edge: NodeEdge) -> bool:
        """Whether both ends of an edge are there to be seen."""
        ends = [ColumnNode(edge.target, edge.target_column)]
        if edge.source is not None and edge.source_column is not None:
            ends.append(ColumnNode(edge.source, edge.source_column))
        return all(self.name(e.node) is not None and self.column(e) is not None for e in ends)

    def node(self, name: str, path: Sequence[str]) -> str | None:
        """The table or view of a name, looked up in the schemas of a path if it gives none."""
        relations = self.catalog.relations
        schema, _, bare = name.rpartition(".")
        places = [schema] if schema else [*path, self.catalog.home]
        found = (relations.get((fold(place), fold(bare))) for place in places)
        return next((node_of(relation) for relation in found if relation is not None), None)


def all_shown(names: NodeNames, edges: Iterable[NodeEdge]) -> bool:
    """Whether somebody sees every end of some edges, and so may see what made them."""
    return all(names.shows(edge) for edge in edges)
