"""Events of statements that this gateway has run: START, and COMPLETE or FAIL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from openlineage.client import event_v2 as openlineage

from gateway.lineage.node_names import NodeNames
from gateway.lineage.statement_end import StatementEnd
from gateway.openlineage.events import TracedRun, run_event
from journal.model.errors import PalimpsestError
from journal.model.lineage import WHOLE, ColumnNode, NodeEdge
from journal.model.version import to_datetime
from rewriter.lineage.sources import ColumnSource
from rewriter.lineage.targets import ColumnTarget


def events_of(end: StatementEnd, namespace: str) -> Iterator[openlineage.RunEvent]:
    """The events of a statement, in order; it has one run, whose id is made here."""
    targets = tuple(_targets(end))
    ended = datetime.fromtimestamp(end.ended_s, UTC)
    started = ended if end.version is None else min(to_datetime(end.version), ended)
    named = [*(target.table for target in targets), *(one.name for one in end.changed), "nothing"]
    run = TracedRun(
        namespace,
        f"{end.found.tag} {named[0]} {end.found.digest}",
        str(uuid.uuid4()),
        ended,
        end.found.text,
        "duckdb",
        targets,
        started=started,
        version=end.version if end.error is None else None,
        error=None if end.error is None else _error_text(end.error),
        changed=end.changed,
    )
    states = openlineage.RunState
    yield run_event(run, states.START)
    yield run_event(run, states.COMPLETE if end.error is None else states.FAIL)


def _error_text(error: PalimpsestError) -> str:
    """What went wrong, without the message, which may have values of rows in it."""
    return f"{error.code.value.code} {error.code.value.title} ({error.code.value.sqlstate})"


def _targets(end: StatementEnd) -> Iterator[ColumnTarget]:
    """The edges of a statement under the names of its catalog, column by column."""
    names = NodeNames(end.catalog)
    found: dict[tuple[str, str], list[NodeEdge]] = {}
    for edge in end.found.lineage.edges:
        target = _named(names, ColumnNode(edge.target, edge.target_column))
        if target is not None:
            found.setdefault(target, []).append(edge)
    for (table, column), edges in found.items():
        sources = []
        for edge in edges:
            if edge.source is None:
                continue
            source = _named(names, ColumnNode(edge.source, edge.source_column or WHOLE))
            if source is not None:
                sources.append(ColumnSource(*source, edge.kind, edge.subtype, edge.masking))
        unknown = next((edge.unknown for edge in edges if edge.unknown is not None), None)
        yield ColumnTarget(table, column, tuple(sorted(sources)), unknown)


def _named(names: NodeNames, of: ColumnNode) -> tuple[str, str] | None:
    name, column = names.name(of.node), names.column(of)
    return None if name is None or column is None else (str(name).lower(), column.lower())
