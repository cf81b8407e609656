"""The nodes of Spark's EXPLAIN FORMATTED, which is text: a tree of numbers, and a list by number.

    +- * Filter (2)
       +- Scan parquet (1)

    (1) Scan parquet
    Output [1]: [a#1]

Any other text, such as that of Apache Hive, stays lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from journal.model.lazy_dataclass import dataclass
from journal.model.store_plan import (
    NODE_TYPE,
    ExplainOptions,
    PlanFormat,
    PlanNode,
    StorePlan,
)
from journal.stores.hive.client.connection import Row

_LINE = re.compile(r"(?P<before>[\s:+-]*)(?P<codegen>\* )?(?P<name>\S.*?) \((?P<number>\d+)\)")
_HEAD = re.compile(r"\((?P<number>\d+)\) \S.*")
_DETAIL = re.compile(r"(?P<key>[A-Z][\w ]*?)\s*(\[\d+\])?: (?P<value>.*)")
_DEPTH = 3
"""So many characters a level is indented by."""
_OUTPUTS = frozenset({"Input", "Output"})
_ROOTS = frozenset({"AdaptiveSparkPlan"})
"""What stands around a plan that may change while it runs."""


@dataclass(slots=True)
class _Found:
    """A node of the tree, and those found below it so far."""

    name: str
    number: int
    below: list[_Found] = field(default_factory=list)


def plan_of(rows: Sequence[Row], options: ExplainOptions) -> StorePlan:
    """The plan in the answer of EXPLAIN FORMATTED."""
    lines = [line for row in rows for line in str(row[0]).splitlines()]
    if options.format is PlanFormat.OWN:
        return StorePlan(tuple(lines))
    root = _tree(lines)
    if root is None:
        return StorePlan(tuple(lines))
    while root.name in _ROOTS and len(root.below) == 1:
        root = root.below[0]
    return StorePlan((), _node(root, _details(lines, options)))


def _tree(lines: Sequence[str]) -> _Found | None:
    root: _Found | None = None
    path: list[tuple[int, _Found]] = []
    for line in lines:
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            # The list follows, and so may the trees of subqueries.
            if root is not None:
                return root
            continue
        node = _Found(found["name"], int(found["number"]))
        depth = len(found["before"]) // _DEPTH
        while path and path[-1][0] >= depth:
            path.pop()
        if path:
            path[-1][1].below.append(node)
        root = root or node
        path.append((depth, node))
    return root


def _details(lines: Sequence[str], options: ExplainOptions) -> dict[int, dict[str, Any]]:
    """What is told of each node, by its number."""
    found: dict[int, dict[str, Any]] = {}
    told: dict[str, Any] = {}
    for line in lines:
        if (head := _HEAD.match(line)) is not None:
            told = found.setdefault(int(head["number"]), {})
        elif (detail := _DETAIL.fullmatch(line.strip())) is not None:
            if detail["key"] not in _OUTPUTS or options.verbose:
                told.setdefault(detail["key"], detail["value"])
    return found


def _node(found: _Found, details: dict[int, dict[str, Any]]) -> PlanNode:
    children = tuple(_node(node, details) for node in found.below)
    return PlanNode({NODE_TYPE: found.name, **details.get(found.number, {})}, children)
