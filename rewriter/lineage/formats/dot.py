"""A lineage graph for Graphviz: tables as boxes of columns, edges between the columns."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from rewriter.lineage.graph import LineageEdge, LineageGraph
from rewriter.lineage.sources import WHOLE


def dot_lines(graph: LineageGraph) -> Iterator[str]:
    """The lines of a Graphviz file: whole arrows for values, dashed ones for what decides."""
    yield "digraph lineage {"
    yield '  rankdir=LR; node [shape=plain, fontname="sans-serif"];'
    for table, columns in graph.columns.items():
        rows = "".join(
            f'<tr><td port="{_html_text(name)}" align="left">{_html_text(name)}</td></tr>'
            for name in columns
        )
        head = f'<td port="{WHOLE}" bgcolor="lightgray"><b>{_html_text(table)}</b></td>'
        box = f'<table border="0" cellborder="1" cellspacing="0"><tr>{head}</tr>{rows}</table>'
        yield f"  {_dot_name(table)} [label=<{box}>];"
    seen: set[tuple[str, str, bool]] = set()
    for edge in graph.edges:
        key = edge.source, edge.target, edge.is_direct
        if key not in seen:
            seen.add(key)
            yield _edge_line(edge)
    yield "}"


def _edge_line(edge: LineageEdge) -> str:
    tail = f"{_dot_name(edge.table)}:{_dot_name(edge.column)}"
    head = f"{_dot_name(edge.to_table)}:{_dot_name(edge.to_column)}"
    return f"  {tail} -> {head}{'' if edge.is_direct else ' [style=dashed, color=gray]'};"


def _dot_name(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _html_text(name: str) -> str:
    return escape(name, {'"': "&quot;"})
