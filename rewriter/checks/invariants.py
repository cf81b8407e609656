"""What must hold of every plan, checked after every rewrite, in production too.

No logical table is left in any step; every relation is physical, staged or known; rows are appended
only to journals of tables in the catalog. A violation is a defect of the rewriter and stops the
statement.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import (
    BATCH,
    STORE_SCHEMA,
    AllocateIdentity,
    Analyze,
    Append,
    Change,
    Count,
    Export,
    Fetch,
    Guard,
    PutRelation,
    Query,
    SetNumber,
    SkipNumbers,
    Stage,
    StatementPlan,
    Step,
    TakeNumbers,
)
from journal.model.trees import Nodes
from journal.sql.cte_scopes import CteScopes
from rewriter.context import RewriteContext

_OF_STATEMENT = re.compile(r"tx\d+_(buffer|placed)")
_FORBIDDEN = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Command)


def check_plan(plan: StatementPlan, context: RewriteContext) -> None:
    """Raise INVARIANT if a plan could touch anything but journals, or reads a logical table."""
    staged = {BATCH}
    created = {
        s.change.relation.name
        for s in plan.steps
        if isinstance(s, Change) and isinstance(s.change, PutRelation)
    }
    for step in plan.steps:
        query = _query(step)
        if query is not None:
            _check_query(query, staged, plan)
        if isinstance(step, Stage):
            staged.add(step.name)
        if isinstance(step, Append) and context.catalog.by_id(step.table_id) is None:
            if not created:
                raise _invariant_error(
                    f"appends to table {step.table_id}, which is not in the catalog"
                )


def _query(step: Step) -> Query | None:
    match step:
        case Stage() | Guard() | Append() | Fetch() | Export() | Count() | SkipNumbers():
            return step.query
        case SetNumber():
            return step.query
        case AllocateIdentity() | TakeNumbers() | Change() | Analyze():
            return None


def _check_query(query: Query, staged: set[str], plan: StatementPlan) -> None:
    nodes = query.nodes or Nodes.of(query.ast)
    for kind in nodes.by_type:
        if issubclass(kind, _FORBIDDEN):
            raise _invariant_error(f"a step contains {kind.key.upper()}")
    scopes = CteScopes()
    for node in nodes.all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        known = node.db == STORE_SCHEMA or node.name in staged or node.name in plan.system
        if not known and not _OF_STATEMENT.fullmatch(node.name) and not scopes.holds(node):
            raise _invariant_error(f"the logical table {node.sql()} was left in a step")


def _invariant_error(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVARIANT,
        f"the rewrite is wrong: it {what}",
        advice="nothing was run; please report the statement",
    )
