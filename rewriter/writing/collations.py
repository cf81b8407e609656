"""Staged texts without the collations of the columns they were read from.

Values of staged rows are compared by their bytes: keys are. In the store a collation goes with a
value through every expression and into staged rows, so that it is taken off there. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.plan import Append, Query, Stage, StatementPlan, Step
from journal.model.schema import Table
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.definitions.collations import TEXTS
from rewriter.writing.changes import new_name, old_name


def without_collations(plan: StatementPlan, context: RewriteContext) -> StatementPlan:
    """A plan whose staged rows have texts that compare by their bytes.

    Plans of statements that read no column with a collation stay as they are, and all of stores
    whose collations only sort.
    """
    if (
        not context.capabilities.equates_texts
        or not plan.writes
        or not any(_has_collation(plan, context))
    ):
        return plan
    catalog = context.catalog
    written = [catalog.by_id(s.table_id) for s in plan.steps if isinstance(s, Append)]
    tables = [table for table in written if table is not None]
    if not tables:
        return plan
    steps = tuple(_plain_step(step, tables) for step in plan.steps)
    return replace(plan, steps=steps)


def _has_collation(plan: StatementPlan, context: RewriteContext) -> list[bool]:
    tables = map(context.catalog.by_id, plan.tables)
    return [c.collation is not None for t in tables if t is not None for c in t.columns]


def _plain_step(step: Step, tables: list[Table]) -> Step:
    match step:
        case Stage(query=Query(exp.Query() as rows, parameters)):
            return replace(step, query=Query(_plain_rows(rows, tables), parameters))
        case Append(query=Query(exp.Query() as rows, parameters)):
            for cte in rows.ctes:
                if isinstance(cte.this, exp.Query):
                    cte.set("this", _plain_rows(cte.this, tables))
            return replace(step, query=Query(rows, parameters))
        case _:
            return step


def _plain_rows(rows: exp.Query, tables: list[Table]) -> exp.Query:
    """Rows whose columns that are named after texts of the tables have no collation."""
    names = _names_of(rows)
    texts: set[str] = set()
    others: set[str] = set()
    for table in tables:
        for place, stored in enumerate(table.stored):
            among = texts if _is_text(stored.type) else others
            among |= {new_name(place), old_name(place)}
    if not texts.intersection(names) or texts & others:
        return rows
    outputs: list[exp.Expr] = []
    for name in names:
        value: exp.Expr = column(name, "q")
        if name in texts:
            value = exp.alias_(uncollated(value), ident(name))
        outputs.append(value)
    return exp.select(*outputs).from_(rows.subquery("q", copy=False))


def uncollated(text: exp.Expr) -> exp.Expr:
    """A text that compares by its bytes: what a function makes of bytes has no collation."""
    encoded = exp.Anonymous(this="encode", expressions=[text])
    return exp.Anonymous(this="decode", expressions=[encoded])


def _names_of(rows: exp.Query) -> list[str]:
    """The names of a query's columns, through a star over one subquery."""
    names = rows.named_selects
    source = rows.args.get("from_")
    if names == ["*"] and source is not None and isinstance(source.this, exp.Subquery):
        return _names_of(source.this.this)
    return list(names)


def _is_text(kind: str) -> bool:
    return exp.DataType.build(kind, dialect="duckdb").is_type(*TEXTS)
