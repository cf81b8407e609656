"""A lineage graph as GraphML, which Gephi, yEd, Cytoscape and networkx open."""

from __future__ import annotations

from xml.etree import ElementTree

from rewriter.lineage.formats.xml_document import xml_document
from rewriter.lineage.graph import LineageGraph

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_KEYS = {
    "node": {"table": "string", "column": "string", "unknown": "string"},
    "edge": {"type": "string", "subtype": "string", "masking": "boolean", "statements": "string"},
}


def graphml_text(graph: LineageGraph) -> str:
    """The text of a GraphML file: a node for each column and for the rows of each table.

    Edges have ``type``, ``subtype`` and ``masking`` as OpenLineage names them, and in
    ``statements`` the names of their statements, one a line.
    """
    root = ElementTree.Element("graphml", xmlns=_NAMESPACE)
    for owner, keys in _KEYS.items():
        for name, kind in keys.items():
            given = {"id": name, "for": owner, "attr.name": name, "attr.type": kind}
            ElementTree.SubElement(root, "key", given)
    body = ElementTree.SubElement(root, "graph", id="lineage", edgedefault="directed")
    for table, column in graph.nodes():
        node = ElementTree.SubElement(body, "node", id=f"{table}.{column}")
        values = {"table": table, "column": column}
        if (table, column) in graph.unknown:
            values["unknown"] = graph.unknown[table, column]
        _add_values(node, values)
    for place, edge in enumerate(graph.edges):
        ends = {"id": f"e{place}", "source": edge.source, "target": edge.target}
        values = {
            "type": edge.kind,
            "subtype": edge.subtype,
            "masking": "true" if edge.masking else "false",
            "statements": "\n".join(graph.names_of_statements(edge)),
        }
        _add_values(ElementTree.SubElement(body, "edge", ends), values)
    ElementTree.indent(root)
    return xml_document(root)


def _add_values(owner: ElementTree.Element, values: dict[str, str]) -> None:
    for name, value in values.items():
        ElementTree.SubElement(owner, "data", key=name).text = value
