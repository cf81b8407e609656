"""The forms in which ``palimpsest lineage`` shows edges of executed statements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gateway.lineage.questions import NamedEdge
from journal.model.lineage import WHOLE
from journal.model.version import to_datetime
from rewriter.lineage.graph import GraphStatement, LineageEdge, LineageGraph

_OF_ROWS = frozenset({"JOIN", "FILTER", "GROUP_BY", "SORT"})
"""How columns decide about whole rows."""


def edge_lines(edges: Sequence[NamedEdge], *, downstream: bool) -> Iterator[str]:
    """For people: by level and by pairs of tables, what decides about all rows once."""
    pairs: dict[tuple[int, str, str], list[NamedEdge]] = {}
    for edge in edges:
        pairs.setdefault((edge.level, edge.source or "", edge.target), []).append(edge)
    for (level, source, target), found in sorted(pairs.items()):
        indent = "  " * (level - 1)
        yield f"{indent}{(target if downstream else source) or 'unknown'}" + (
            ""
            if level == 1
            else f" {'from' if downstream else 'into'} {source if downstream else target}"
        )
        deciding = {e.source_column: e for e in found if e.subtype in _OF_ROWS}
        values = [e for e in found if e.subtype not in _OF_ROWS]
        for line in dict.fromkeys(_short(edge) for edge in values):
            yield f"{indent}  {line}"
        if deciding:
            told = ", ".join(f"{c} ({_how(e)})" for c, e in sorted(deciding.items(), key=repr))
            yield f"{indent}  rows decided by {told}"


def _short(edge: NamedEdge) -> str:
    if edge.unknown is not None:
        return f"{edge.target_column} <- unknown: {edge.unknown}"
    return f"{edge.target_column} <- {edge.source_column} ({_how(edge)})"


def edge_line(edge: NamedEdge) -> str:
    """One edge for people."""
    if edge.source is None:
        return f"{edge.target}.{edge.target_column} <- unknown: {edge.unknown}"
    to, of = f"{edge.target}.{edge.target_column}", f"{edge.source}.{edge.source_column}"
    return f"{to} <- {of} ({_how(edge)})"


def change_lines(sign: str, edges: Sequence[NamedEdge], *, as_json: bool) -> Iterator[str]:
    """Edges that came, ``+``, or ceased, ``-``."""
    for edge in edges:
        if as_json:
            change = "came" if sign == "+" else "ceased"
            yield json_text({"change": change, **json_edge(edge)})
        else:
            yield f"{sign} {edge_line(edge)}"


def graph_of_edges(edges: Sequence[NamedEdge]) -> LineageGraph:
    """The edges as a graph, with the statements behind them."""
    graph = LineageGraph()
    places: dict[str, int] = {}
    for edge in edges:
        if edge.source is None or edge.source_column is None:
            graph.add_column(edge.target, edge.target_column)
            graph.unknown[edge.target, edge.target_column] = edge.unknown or ""
            continue
        if edge.digest not in places:
            places[edge.digest] = len(graph.statements)
            graph.statements.append(GraphStatement(edge.digest, edge.statement or ""))
        column = WHOLE if edge.subtype in _OF_ROWS else edge.target_column
        drawn = LineageEdge(
            *(edge.source, edge.source_column, edge.target, column),
            *(edge.kind, edge.subtype, edge.masking),
        )
        graph.add_edge(drawn, places[edge.digest])
    return graph


def json_edge(edge: NamedEdge) -> dict[str, Any]:
    """One edge for programs."""
    found: dict[str, Any] = {
        "level": edge.level,
        "source": None,
        "target": {"table": edge.target, "column": edge.target_column},
        "type": edge.kind,
        "subtype": edge.subtype,
    }
    if edge.source is not None:
        found["source"] = {"table": edge.source, "column": edge.source_column}
    if edge.masking:
        found["masking"] = True
    if edge.unknown is not None:
        found["unknown"] = edge.unknown
    seen = edge.last_seen.isoformat() if edge.last_seen else None
    first = to_datetime(edge.since).isoformat()
    return found | {
        "statement_digest": edge.digest,
        "statement": edge.statement,
        "first_seen": first,
        "last_seen": seen,
    }


def json_text(line: dict[str, Any]) -> str:
    """A line of JSON."""
    return json.dumps(line, ensure_ascii=False)


def _how(edge: NamedEdge) -> str:
    return edge.subtype.lower().replace("_", " ") + (", masked" if edge.masking else "")
