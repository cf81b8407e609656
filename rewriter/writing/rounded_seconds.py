"""TIMESTAMPTZ(n), TIME(n) and TIMESTAMP(n) of PostgreSQL's dialect, with n digits of seconds. Pure.

A value for such a column is cast to its type with the digits. PostgreSQL stores round by that cast;
others round as ``rounded_moment`` says, or keep all digits where they cannot.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from sqlglot import exp

from journal.model.plan import Append, Query, StatementPlan, Step
from journal.model.schema import Column
from rewriter.context import RewriteContext
from rewriter.reading.key_lookup import ROUNDS
from rewriter.reading.postgres.moments import rounded_moment

_SPELLED = re.compile(r"(timestamptz|timestamp|timetz|time)\((\d)\)")


def has_digits(stored: Column) -> bool:
    """True for a column whose type says how many digits its seconds have."""
    return stored.spelled is not None and _SPELLED.fullmatch(stored.spelled) is not None


def with_digits(value: exp.Expr, stored: Column) -> exp.Expr:
    """A value of a column's type with as many digits as the column has."""
    found = _SPELLED.fullmatch(stored.spelled or "")
    if found is None:
        return value
    digits = exp.DataTypeParam(this=exp.Literal.number(found[2]))
    made = exp.Cast(
        this=value, to=exp.DataType(this=exp.DType(found[1].upper()), expressions=[digits])
    )
    made.meta[ROUNDS] = True
    return made


def with_rounding(plan: StatementPlan, context: RewriteContext) -> StatementPlan:
    """The plan with such casts in words of the store."""
    written = {step.table_id for step in plan.steps if isinstance(step, Append)}
    tables = map(context.catalog.by_id, written | plan.tables)
    if context.capabilities.postgres_functions or not any(
        has_digits(column) for table in tables if table is not None for column in table.columns
    ):
        return plan
    return replace(plan, steps=tuple(_rounded_step(step, context) for step in plan.steps))


def _rounded_step(step: Step, context: RewriteContext) -> Step:
    changes: dict[str, Any] = {}
    for field in fields(step):
        query = getattr(step, field.name)
        if isinstance(query, Query) and any(_rounding_casts(query.ast)):
            changes[field.name] = Query.of(_with_rounded_values(query.ast, context))
    return replace(step, **changes) if changes else step


def _rounding_casts(tree: exp.Expr) -> list[exp.Cast]:
    return [cast for cast in tree.find_all(exp.Cast) if cast.meta.get(ROUNDS)]


def _with_rounded_values(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    for cast in reversed(_rounding_casts(tree)):
        kind, digits = cast.to.this, cast.to.expressions[0].this
        value: exp.Expr = cast.this
        if context.capabilities.rounds_seconds:
            value = rounded_moment(value, kind, digits) or value
        cast.replace(value)
    return tree
