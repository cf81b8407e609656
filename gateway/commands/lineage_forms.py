"""The forms in which ``palimpsest lineage analyze`` shows what statements of scripts write."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gateway.openlineage.client_modules import EVENTS, client_module
from rewriter.lineage.formats.cypher import cypher_lines
from rewriter.lineage.formats.dot import dot_lines
from rewriter.lineage.formats.graphml import graphml_text
from rewriter.lineage.formats.plain import plain_lines
from rewriter.lineage.formats.svg import svg_text
from rewriter.lineage.graph import GraphStatement, LineageGraph
from rewriter.lineage.scripts import TracedStatement
from rewriter.lineage.sources import ColumnSource


class ScriptStatement(NamedTuple):
    """A statement of a script, and the script's file."""

    file: str
    traced: TracedStatement

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.file}:{self.traced.line}"

    @property
    def is_unknown(self) -> bool:
        """Whether something of it could not be told."""
        traced = self.traced
        return traced.unknown is not None or any(t.unknown is not None for t in traced.targets)


GRAPHS: dict[str, Callable[[LineageGraph], str]] = {
    "dot": lambda graph: "\n".join(dot_lines(graph)) + "\n",
    "graphml": graphml_text,
    "cypher": lambda graph: "\n".join(cypher_lines(graph)) + "\n",
    "svg": svg_text,
}
"""The forms that show all statements as one graph, by name."""


def graph_of(statements: Iterable[ScriptStatement]) -> LineageGraph:
    """The graph of what statements write."""
    graph = LineageGraph()
    for statement in statements:
        named = GraphStatement(statement.place, statement.traced.text)
        graph.add_statement(named, statement.traced.targets)
    return graph


def text_lines(statement: ScriptStatement) -> Iterator[str]:
    """For people."""
    return plain_lines(statement.place, statement.traced)


def json_lines(statement: ScriptStatement) -> Iterator[str]:
    """One JSON object for each column that a statement writes."""
    traced = statement.traced
    place: dict[str, Any] = {
        "file": statement.file,
        "statement": traced.number,
        "line": traced.line,
    }
    if traced.unknown is not None:
        yield json.dumps({**place, "unknown": traced.unknown}, ensure_ascii=False)
    for target in traced.targets:
        line = {
            **place,
            "target": {"table": target.table, "column": target.column},
            "sources": [_json_source(source) for source in target.sources],
        }
        if target.unknown is not None:
            line["unknown"] = target.unknown
        yield json.dumps(line, ensure_ascii=False)


def _json_source(source: ColumnSource) -> dict[str, Any]:
    found: dict[str, Any] = {
        "table": source.table,
        "column": source.column,
        "type": source.kind,
        "subtype": source.subtype,
    }
    if source.masking:
        found["masking"] = True
    return found


def openlineage_lines(dialect: str, namespace: str) -> Callable[[ScriptStatement], Iterator[str]]:
    """What gives the event of a statement as a line of JSON.

    The run of a statement has the same id each time, so that a second analysis replaces the first.
    Raises NOT_SUPPORTED without the extra ``openlineage``.
    """
    events = client_module(EVENTS)
    at = datetime.now(UTC)

    def lines(statement: ScriptStatement) -> Iterator[str]:
        traced = statement.traced
        if not traced.targets and traced.unknown is None:
            return
        job = f"{statement.file}#{traced.number}"
        run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{namespace}\n{job}\n{traced.text}"))
        said = (traced.text, dialect, traced.targets, traced.unknown)
        run = events.TracedRun(namespace, job, run_id, at, *said)
        yield events.event_json(events.run_event(run))

    return lines
