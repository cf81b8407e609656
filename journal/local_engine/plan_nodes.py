"""DuckDB's plans, as PostgreSQL's EXPLAIN would name their nodes.

Reads the JSON of DuckDB's own EXPLAIN. Where PostgreSQL has a node of the same meaning it has that
name, elsewhere DuckDB's. DuckDB estimates rows alone, so the cost of a node is the number of rows
that it and the nodes below it are expected to give: of two plans the cheaper one handles fewer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from journal.model import store_plan
from journal.model.store_plan import ExplainOptions, PlanFormat, PlanNode, StorePlan

_NAMES = {
    "UNGROUPED_AGGREGATE": {store_plan.NODE_TYPE: "Aggregate", "Strategy": "Plain"},
    "HASH_GROUP_BY": {store_plan.NODE_TYPE: "Aggregate", "Strategy": "Hashed"},
    "PERFECT_HASH_GROUP_BY": {store_plan.NODE_TYPE: "Aggregate", "Strategy": "Hashed"},
    "ORDER_BY": {store_plan.NODE_TYPE: "Sort"},
    "HASH_JOIN": {store_plan.NODE_TYPE: "Hash Join"},
    "NESTED_LOOP_JOIN": {store_plan.NODE_TYPE: "Nested Loop"},
    "BLOCKWISE_NL_JOIN": {store_plan.NODE_TYPE: "Nested Loop"},
    "CROSS_PRODUCT": {store_plan.NODE_TYPE: "Nested Loop", "Join Type": "Inner"},
    "PIECEWISE_MERGE_JOIN": {store_plan.NODE_TYPE: "Merge Join"},
    "IE_JOIN": {store_plan.NODE_TYPE: "Merge Join"},
    "UNION": {store_plan.NODE_TYPE: "Append"},
    "WINDOW": {store_plan.NODE_TYPE: "WindowAgg"},
    "STREAMING_WINDOW": {store_plan.NODE_TYPE: "WindowAgg"},
    "STREAMING_LIMIT": {store_plan.NODE_TYPE: "Limit"},
    "CTE_SCAN": {store_plan.NODE_TYPE: "CTE Scan"},
    "RECURSIVE_CTE": {store_plan.NODE_TYPE: "Recursive Union"},
    "DUMMY_SCAN": {store_plan.NODE_TYPE: "Result"},
    "EMPTY_RESULT": {store_plan.NODE_TYPE: "Result"},
    "COLUMN_DATA_SCAN": {store_plan.NODE_TYPE: "Values Scan"},
    "UNNEST": {store_plan.NODE_TYPE: "ProjectSet"},
    "SEQ_SCAN": {store_plan.NODE_TYPE: "Seq Scan"},
    "TABLE_SCAN": {store_plan.NODE_TYPE: "Seq Scan"},
    "INDEX_SCAN": {store_plan.NODE_TYPE: "Index Scan"},
    "READ_PARQUET": {store_plan.NODE_TYPE: "Parquet Scan"},
    "PYTHON_ARROW_SCAN": {store_plan.NODE_TYPE: "Arrow Scan"},
}
_KEYS = {
    "Projections": "Output",
    "Filters": "Filter",
    "Groups": "Group Key",
    "Order By": "Sort Key",
    "Top": "Limit",
}
_ROWS = "Estimated Cardinality"
_CONDITIONS = {"Hash Join": "Hash Cond", "Merge Join": "Merge Cond"}
_AROUND = frozenset({"EXPLAIN_ANALYZE", "RESULT_COLLECTOR"})
"""What DuckDB puts around the plan of a query that it measures."""


def explain_clause(options: ExplainOptions) -> str:
    """EXPLAIN, and the options of DuckDB's."""
    words = ["ANALYZE"] if options.analyze else []
    words.append("FORMAT text" if options.format is PlanFormat.OWN else "FORMAT json")
    return f"EXPLAIN ({', '.join(words)})"


def plan_of(values: Sequence[str], options: ExplainOptions) -> StorePlan:
    """The plan in DuckDB's answer."""
    if options.format is PlanFormat.OWN:
        return StorePlan(tuple(values))
    (document,) = values
    told = json.loads(document)
    measured: dict[str, Any] = told if isinstance(told, dict) else {}
    (found,) = measured.get("operator", told)
    while found.get("type") in _AROUND:
        (found,) = found["children"]
    return StorePlan((), _node(found, options), _totals(measured))


def _totals(measured: dict[str, Any]) -> dict[str, Any]:
    if not measured:
        return {}
    parts = ("planner", "optimizer", "physical_planner")
    planning = sum(measured.get(part, {}).get("total_time", 0.0) for part in parts)
    running = measured.get("query", {}).get("total_time", 0.0)
    return {
        store_plan.PLANNING_TIME: round(planning * 1000, 3),
        store_plan.EXECUTION_TIME: round(max(running - planning, 0.0) * 1000, 3),
    }


def _node(found: dict[str, Any], options: ExplainOptions) -> PlanNode:
    children = tuple(_node(child, options) for child in found.get("children", ()))
    given = dict(found.get("extra_info", {}))
    kind = str(found.get("type", found.get("name", ""))).strip()
    if given.pop("Type", "") == "Index Scan":
        kind = "INDEX_SCAN"
    details: dict[str, Any] = _named(str(given.pop("Function", kind)))
    if (joined := given.pop("Join Type", None)) is not None:
        details["Join Type"] = str(joined).capitalize()
    if (table := given.pop("Table", None)) is not None:
        details["Relation Name"] = str(table).rpartition(".")[2]
    details |= _estimates(given, children, options) | _measures(found, children, options)
    for key, value in given.items():
        if value and (key != "Projections" or options.verbose):
            details[_key(key, str(details[store_plan.NODE_TYPE]))] = value
    return PlanNode(details, children)


def _named(kind: str) -> dict[str, Any]:
    known = _NAMES.get(kind.upper())
    title = kind.replace("_", " ").title() if kind.isupper() else kind
    return {store_plan.NODE_TYPE: title} if known is None else dict(known)


def _key(key: str, node_type: str) -> str:
    if key == "Conditions":
        return _CONDITIONS.get(node_type, "Join Filter")
    if key == "Expression" and node_type == "Filter":
        return "Filter"
    return _KEYS.get(key, key)


def _estimates(
    given: dict[str, Any], children: tuple[PlanNode, ...], options: ExplainOptions
) -> dict[str, Any]:
    rows = given.pop(_ROWS, None)
    if not options.costs:
        return {}
    # A node that is not estimated gives what it reads, and one that reads nothing a row.
    below = sum(child.details[store_plan.ROWS] for child in children) if children else 1
    expected = below if rows is None else int(rows)
    cost = expected + sum(child.details[store_plan.TOTAL_COST] for child in children)
    return {
        store_plan.STARTUP_COST: 0.0,
        store_plan.TOTAL_COST: float(cost),
        store_plan.ROWS: expected,
        store_plan.WIDTH: 0,
    }


def _measures(
    found: dict[str, Any], children: tuple[PlanNode, ...], options: ExplainOptions
) -> dict[str, Any]:
    if not options.analyze:
        return {}
    told: dict[str, Any] = {}
    if options.is_timed:
        below = sum(child.details[store_plan.TOTAL_TIME] for child in children)
        told[store_plan.STARTUP_TIME] = 0.0
        told[store_plan.TOTAL_TIME] = round(found.get("timing", 0.0) * 1000 + below, 3)
    return {
        **told,
        store_plan.ACTUAL_ROWS: int(found.get("intermediate_rows", 0)),
        store_plan.LOOPS: 1,
    }
