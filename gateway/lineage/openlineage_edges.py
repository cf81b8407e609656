"""Turns events of OpenLineage into edges that a catalog can record. Pure.

A dataset of a namespace that is ours, or one with such a name among its symlinks, is the table of
that name; any other is a file, by its namespace and name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gateway.activity.statement_text import shape_digest, without_literals
from gateway.lineage.ledger import lineage_under_id
from gateway.lineage.node_names import NodeNames
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import (
    WHOLE,
    CommittedLineage,
    NodeEdge,
    StatementLineage,
    file_node,
)
from journal.model.schema import CatalogSnapshot, Table, fold
from rewriter.lineage.sources import DIRECT, FILTER, INDIRECT, TRANSFORMATION

TAG = "OPENLINEAGE"
"""What the statements of events are called in system.lineage."""
_DONE = (None, "COMPLETE", "RUNNING", "OTHER")
_USUAL = {DIRECT: TRANSFORMATION, INDIRECT: FILTER}
"""Subtypes of transformations that have none."""
Json = Mapping[str, Any]


def lineage_of_event(
    event: Json, catalog: CatalogSnapshot, namespaces: Collection[str] = ()
) -> CommittedLineage | None:
    """What an event says; None for one of no outputs, and of runs that begin or fail.

    Raises LookupError, TypeError or AttributeError for what is no event.
    """
    if event.get("eventType") not in _DONE or "job" not in event:
        return None
    reader = _EventReader(NodeNames(catalog), frozenset(map(fold, namespaces)))
    edges = tuple(dict.fromkeys(reader.edges(event)))
    if not edges:
        return None
    job = event["job"]
    sql = ((job.get("facets") or {}).get("sql") or {}).get("query")
    text = f"{job['namespace']} {job['name']}"
    shown = text if sql is None else without_literals(str(sql), "spark")
    return lineage_under_id(StatementLineage(edges), shape_digest(shown), TAG, shown)


@dataclass(frozen=True, slots=True)
class _EventReader:
    """Reads datasets and facets; ``namespaces`` are folded."""

    names: NodeNames
    namespaces: frozenset[str]

    def edges(self, event: Json) -> Iterator[NodeEdge]:
        """The edges that lead to the outputs."""
        inputs = {self._key(one): one for one in event.get("inputs") or ()}
        for output in event.get("outputs") or ():
            target = self._node(output)
            facet = (output.get("facets") or {}).get("columnLineage")
            if facet is None:
                why = "the event has no lineage of columns"
                for one in inputs.values():
                    kind = (DIRECT, TRANSFORMATION, False, why)
                    yield NodeEdge(target, WHOLE, self._node(one), WHOLE, *kind)
                continue
            fields = {name: field["inputFields"] for name, field in facet["fields"].items()}
            for name, sources in {**fields, WHOLE: facet.get("dataset") or ()}.items():
                column = self._column(target, name)
                for source in sources:
                    yield from self._from_field(target, column, source, inputs)

    def _from_field(
        self, target: str, column: str, source: Json, inputs: Mapping[tuple[str, str], Json]
    ) -> Iterator[NodeEdge]:
        # Symlinks stand at the inputs.
        node = self._node(inputs.get(self._key(source), source))
        usual = {"type": INDIRECT if column == WHOLE else DIRECT}
        for way in source.get("transformations") or [usual]:
            kind = INDIRECT if str(way["type"]).upper() == INDIRECT else DIRECT
            subtype = str(way.get("subtype") or _USUAL[kind]).upper()
            of = self._column(node, source["field"])
            yield NodeEdge(target, column, node, of, kind, subtype, bool(way.get("masking")))

    def _key(self, dataset: Json) -> tuple[str, str]:
        return str(dataset["namespace"]), str(dataset["name"])

    def _node(self, dataset: Json) -> str:
        namespace, name = self._key(dataset)
        links = ((dataset.get("facets") or {}).get("symlinks") or {}).get("identifiers") or ()
        for space, called in [(namespace, name), *map(self._key, links)]:
            if fold(space) in self.namespaces:
                # Spark names a catalog before the schema.
                found = self.names.node(".".join(called.split(".")[-2:]), ())
                if found is not None:
                    return found
        return file_node(name if namespace == "file" else f"{namespace}/{name.lstrip('/')}")

    def _column(self, node: str, name: str) -> str:
        """A column as edges name it; the rows of a table that has no such column."""
        found = self.names.relation(node)
        if found is None or name == WHOLE:
            return name.lower() if found is not None else name
        if not isinstance(found, Table):
            return fold(name)
        return next((c.physical for c in found.columns if fold(c.name) == fold(name)), WHOLE)
