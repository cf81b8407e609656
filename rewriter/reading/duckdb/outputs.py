"""What the outputs of a query are called and of which types, in DuckDB's dialect. Pure.

CREATE TABLE t AS SELECT 1.5 AS a     a column of DECIMAL(2,1)
DESCRIBE SELECT avg(a), 1.5           avg(a) DOUBLE, and 1.5 DECIMAL(2,1)
length(s) * 3000000000                length(s) is a BIGINT, as is a day without another day

PostgreSQL names outputs in its own way; its NUMERIC has the digits of each value, and it counts in
INTEGERs.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import copy_tree
from journal.sql.relations import ident
from rewriter.reading.duckdb.types import COUNTING, WHOLE, DuckDBTypes
from rewriter.reading.spelling import result_spelling

COUNTED_IN = (exp.Add, exp.Sub, exp.Mul)
"""Where a count may become larger than an INTEGER."""


def named_outputs(tree: exp.Expr) -> exp.Expr:
    """A DESCRIBE or SUMMARIZE of a query whose outputs have the names that DuckDB gives them."""
    if not isinstance(tree, exp.Describe | exp.Summarize) or not isinstance(tree.this, exp.Query):
        return tree
    made = copy_tree(tree)
    for output in first_outputs(made.this):
        if not output.is_star and not isinstance(output, exp.Alias | exp.Column | exp.Columns):
            name = ident(result_spelling(output))
            output.replace(exp.Alias(this=output.copy(), alias=name))
    return made


def first_outputs(query: exp.Expr) -> list[exp.Expr]:
    """The outputs that name the columns of a query."""
    selects = selects_of(query)
    return selects[0].expressions if selects else []


def spell_made(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The outputs of the query that a table or view is made of, or that is described."""
    query = node.this if isinstance(node, exp.Describe | exp.Summarize) else node.expression
    if not isinstance(query, exp.Query):
        return None
    made = node.copy()
    copied = made.this if isinstance(node, exp.Describe | exp.Summarize) else made.expression
    for side, other in zip(selects_of(query), selects_of(copied), strict=True):
        for output, of_copy in zip(side.expressions, other.expressions, strict=True):
            value = output.unalias()
            kind = types.of(value).kind or ""
            is_told = kind.startswith("DECIMAL(") or kind in WHOLE
            if is_told and not isinstance(value, exp.Column | exp.Cast):
                inner = of_copy.unalias()
                cast: exp.Expr = exp.cast(inner.copy(), kind, dialect="duckdb")
                if inner is of_copy:
                    cast = exp.alias_(cast, ident(result_spelling(output)), copy=False)
                inner.replace(cast)
    return None if made == node else made


def selects_of(query: exp.Expr) -> list[exp.Expr]:
    """The SELECTs of a query, whose rows are its own."""
    inner = query.unnest()
    if isinstance(inner, exp.SetOperation):
        return [*selects_of(inner.this), *selects_of(inner.expression)]
    return [inner] if isinstance(inner, exp.Select) else []


def spell_count(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A count that is an output, that is reckoned with, or that rows are grouped by."""
    above = node.parent
    while isinstance(above, exp.Paren | exp.Alias | exp.Neg):
        above = above.parent
    around = node.find_ancestor(exp.Select, exp.Where, exp.Join)
    is_grouped = isinstance(around, exp.Select) and around.args.get("group") is not None
    is_shown = is_grouped or isinstance(above, (exp.Select, exp.Ordered, *COUNTED_IN))
    return exp.cast(node.copy(), "BIGINT") if is_shown else None


COUNTS: tuple[type[exp.Expr], ...] = tuple(
    kind for kind in COUNTING if kind in {exp.Length, exp.StrPosition, exp.ArraySize}
)
"""What PostgreSQL gives as an INTEGER."""
