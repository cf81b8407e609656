"""Prepares aggregates over changed tables for splitting.

COUNT(*) is told by what is on record (``counted_rows``), and sums are split (``linear``). It says
what was done to which table, for the plan and the preview, and rewrites no table itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.trees import Nodes
from rewriter.context import RewriteContext
from rewriter.reading.aggregates.counted_rows import count_rows
from rewriter.reading.aggregates.linear import SplitAggregate, split_aggregates
from rewriter.reading.result_names import name_changed


@dataclass(frozen=True, slots=True)
class ChangedAggregates:
    """The tables whose rows were counted by what is on record, and what was split, or was not."""

    counted: list[Table]
    split: list[SplitAggregate]

    @property
    def split_tables(self) -> dict[int, Table]:
        """The tables that aggregates were split on, by id: they are read."""
        return {one.table.id: one.table for one in self.split if one.is_split}

    @property
    def is_any(self) -> bool:
        """Whether the query is another one now."""
        return bool(self.counted or self.split_tables)

    def shapes(self) -> Iterator[tuple[Table, str, str]]:
        """What the preview says: each table, its shape, and why."""
        for table in self.counted:
            yield table, "counts", "commits and jobs have counted its rows; none is read"
        for one in self.split:
            yield one.table, one.shape, one.why


def change_aggregates(
    nodes: Nodes, context: RewriteContext, counted: list[int] | None
) -> ChangedAggregates:
    """Change the aggregates of a query in place, as far as that can be done.

    The ids of tables whose rows are counted go into ``counted``; None: rows are read.
    """
    if nodes.all(exp.AggFunc):
        name_changed(nodes)
    return ChangedAggregates(
        [] if counted is None else count_rows(nodes, context, counted),
        [] if context.careful else split_aggregates(nodes, context),
    )
