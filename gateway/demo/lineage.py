"""Where the columns of the airlines' report come from: told, and drawn for a browser."""

from __future__ import annotations

from pathlib import Path

from gateway.dbapi.connection import Connection
from gateway.demo import statements
from gateway.demo.teller import Teller
from rewriter.lineage.formats.plain import plain_lines
from rewriter.lineage.formats.svg import svg_text
from rewriter.lineage.graph import GraphStatement, LineageGraph
from rewriter.lineage.scripts import TracedStatement, trace_script
from rewriter.lineage.tables import KnownTables

DRAWING = "airline-report.svg"
_TITLE = "Where the airlines' report comes from"
_FILLED_BY = {
    "the schedule": statements.SCHEDULE,
    "delays, every day": statements.DELAYS,
    "cancellations, every day": statements.CANCELLATIONS,
    "the report": statements.REPORT,
}
"""The statements behind the report, the last of them its own."""


def show_report_lineage(connection: Connection, teller: Teller, root: Path) -> Path:
    """Make the report a view, tell what its columns come from, and draw that in ``root``."""
    connection.execute(statements.REPORT)
    connection.commit()
    teller.chapter(_TITLE)
    teller.sql(statements.REPORT + ";")
    known = KnownTables("duckdb")
    for definition in statements.TABLES.values():
        list(trace_script(definition, known))
    graph = LineageGraph()
    traced = TracedStatement(0, 0)
    for name, text in _FILLED_BY.items():
        (traced,) = trace_script(text, known)
        graph.add_statement(GraphStatement(name, text), traced.targets)
    for line in plain_lines("the report", traced):
        teller.say(f"  {line}")
    path = root / DRAWING
    path.write_text(svg_text(graph, _TITLE), encoding="utf-8")
    teller.say(f"  Open {path} in a browser: it leads on to the operations, with every statement.")
    return path
