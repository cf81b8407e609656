"""How a store would answer a query: a tree of nodes, in the words of PostgreSQL's EXPLAIN.

Says what EXPLAIN is asked for, and what a store tells. Renders nothing; ``plan_formats`` of the
session does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from journal.model.lazy_dataclass import dataclass

NODE_TYPE = "Node Type"
STARTUP_COST, TOTAL_COST, ROWS, WIDTH = "Startup Cost", "Total Cost", "Plan Rows", "Plan Width"
STARTUP_TIME, TOTAL_TIME = "Actual Startup Time", "Actual Total Time"
ACTUAL_ROWS, LOOPS = "Actual Rows", "Actual Loops"
PLANNING_TIME, EXECUTION_TIME = "Planning Time", "Execution Time"


class PlanFormat(StrEnum):
    """How a plan is written: as the store itself does, or in one of PostgreSQL's formats."""

    OWN = "own"
    TEXT = "text"
    JSON = "json"
    XML = "xml"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What EXPLAIN is asked for; the names are those of PostgreSQL.

    ``timing`` and ``summary`` are None where nobody said: both come with ``analyze``.
    """

    analyze: bool = False
    verbose: bool = False
    costs: bool = True
    settings: bool = False
    buffers: bool = False
    wal: bool = False
    timing: bool | None = None
    summary: bool | None = None
    format: PlanFormat = PlanFormat.OWN

    @property
    def is_timed(self) -> bool:
        """Whether nodes tell how long they took."""
        return self.analyze and self.timing is not False

    @property
    def is_summed_up(self) -> bool:
        """Whether the times of planning and running are told."""
        return self.analyze if self.summary is None else self.summary


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node: its ``details`` by PostgreSQL's keys, and the nodes that it reads."""

    details: dict[str, Any]
    children: tuple[PlanNode, ...] = ()

    def walk(self) -> Iterator[PlanNode]:
        """The node, and those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class StorePlan:
    """A plan: its lines where the store itself has written it, or makes no nodes; its nodes else.

    ``totals`` are times in milliseconds, and whatever else is told of the whole plan.
    """

    lines: tuple[str, ...] = ()
    root: PlanNode | None = None
    totals: Mapping[str, Any] = field(default_factory=dict)
