"""EXPLAIN of a PostgreSQL server: its options as text, and its answer as a plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from journal.model.store_plan import ExplainOptions, PlanFormat, PlanNode, StorePlan

_CHILDREN = "Plans"
_WRITTEN = frozenset({PlanFormat.OWN, PlanFormat.TEXT})
"""Formats that the server itself writes."""


def explain_clause(options: ExplainOptions) -> str:
    """EXPLAIN and its options; each that is as by default is left out, as old servers lack some."""
    given = {
        "ANALYZE": options.analyze,
        "VERBOSE": options.verbose,
        "SETTINGS": options.settings,
        "BUFFERS": options.buffers,
        "WAL": options.wal,
    }
    words = [name for name, wanted in given.items() if wanted]
    if not options.costs:
        words.append("COSTS OFF")
    for name, chosen in (("TIMING", options.timing), ("SUMMARY", options.summary)):
        if chosen is not None:
            words.append(f"{name} {'ON' if chosen else 'OFF'}")
    words.append("FORMAT TEXT" if options.format in _WRITTEN else "FORMAT JSON")
    return f"EXPLAIN ({', '.join(words)})"


def plan_of(rows: Sequence[tuple[Any, ...]], options: ExplainOptions) -> StorePlan:
    """The plan in the answer of the server."""
    if options.format in _WRITTEN:
        return StorePlan(tuple(str(row[0]) for row in rows))
    (told,) = json.loads(rows[0][0]) if isinstance(rows[0][0], str) else rows[0][0]
    root = told.pop("Plan")
    return StorePlan((), _node(root), told)


def _node(found: dict[str, Any]) -> PlanNode:
    children = tuple(_node(child) for child in found.pop(_CHILDREN, ()))
    return PlanNode(found, children)
