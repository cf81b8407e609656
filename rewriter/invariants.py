"""What must hold of every plan, checked after every rewrite, in production too.

No logical table is left in any step; every relation is physical, staged or known; rows are appended
only to journals of tables in the catalog. A violation is a defect of the rewriter and stops the
statement.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import (
    BATCH,
    STORE_SCHEMA,
    Append,
    Change,
    Count,
    Export,
    Fetch,
    Guard,
    Number,
    PutRelation,
    Query,
    SkipNumbers,
    Stage,
    StatementPlan,
    Step,
)
from rewriter.context import RewriteContext
from rewriter.names import is_cte

_BUFFER = re.compile(r"tx\d+_buffer")
_FORBIDDEN = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Command)
_FORBIDDEN_KINDS = frozenset(
    kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, _FORBIDDEN)
)
"""Those and what derives from them: looking a type up is quicker than asking for its bases."""


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
                raise _broken(f"appends to table {step.table_id}, which is not in the catalog")


def _query(step: Step) -> Query | None:
    match step:
        case Stage() | Guard() | Append() | Fetch() | Export() | Count() | SkipNumbers():
            return step.query
        case Number() | Change():
            return None


def _check_query(query: Query, staged: set[str], plan: StatementPlan) -> None:
    for node in query.ast.walk():
        if type(node) in _FORBIDDEN_KINDS:
            raise _broken(f"a step contains {node.key.upper()}")
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            continue
        known = node.db == STORE_SCHEMA or node.name in staged or node.name in plan.system
        if not known and not _BUFFER.fullmatch(node.name) and not is_cte(node):
            raise _broken(f"the logical table {node.sql()} was left in a step")


def _broken(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVARIANT,
        f"the rewrite is wrong: it {what}",
        advice="nothing was run; please report the statement",
    )
