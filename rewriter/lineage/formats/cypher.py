"""A lineage graph as statements of Cypher, which Neo4j and Memgraph run."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.lineage.graph import LineageGraph
from rewriter.lineage.sources import WHOLE

_ESCAPED = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)


def cypher_lines(graph: LineageGraph) -> Iterator[str]:
    """Statements that merge tables, their columns, the statements of SQL and the edges.

    Everything is merged by its name, so that a second run changes nothing. An edge leads from a
    column to a column, or to a table where it decides about its rows:
    ``(:Column)-[:DIRECT {subtype, masking, statements}]->(:Column)``.
    """
    for label in ("Table", "Column", "Statement"):
        yield (
            f"CREATE CONSTRAINT {label.lower()}_id IF NOT EXISTS"
            f" FOR (n:{label}) REQUIRE n.id IS UNIQUE;"
        )
    for name, text in graph.statements:
        yield f"MERGE (n:Statement {{id: {_text(name)}}}) SET n.text = {_text(text)};"
    for table, column in graph.nodes():
        if column == WHOLE:
            yield f"MERGE (:Table {{id: {_text(table)}}});"
            continue
        why = graph.unknown.get((table, column))
        unknown = f" SET c.unknown = {_text(why)}" if why is not None else ""
        yield (
            f"MATCH (t:Table {{id: {_text(table)}}})"
            f" MERGE (c:Column {{id: {_text(f'{table}.{column}')}}})"
            f" SET c.name = {_text(column)}{unknown} MERGE (t)-[:HAS_COLUMN]->(c);"
        )
    for edge in graph.edges:
        names = ", ".join(_text(name) for name in graph.names_of_statements(edge))
        source, target = _node(edge.table, edge.column), _node(edge.to_table, edge.to_column)
        yield (
            f"MATCH (a:{source}), (b:{target})"
            f" MERGE (a)-[e:{edge.kind} {{subtype: {_text(edge.subtype)},"
            f" masking: {'true' if edge.masking else 'false'}}}]->(b)"
            f" SET e.statements = [{names}];"
        )


def _node(table: str, column: str) -> str:
    label, name = ("Table", table) if column == WHOLE else ("Column", f"{table}.{column}")
    return f"{label} {{id: {_text(name)}}}"


def _text(value: str) -> str:
    """A string literal."""
    return "'" + value.translate(_ESCAPED) + "'"
