"""``FROM range(3) WITH ORDINALITY``: the rows of a function, and the number of each. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.sql.relations import ident
from rewriter.functions import function_name

_NUMBER = "ordinality"


def number_rows(ast: exp.Expr) -> exp.Expr:
    """The statement with a query that numbers rows in the place of each such function.

    One that unnests a list stays, because a store numbers its elements itself.
    """
    for source in list(ast.find_all(exp.Table)):
        if not source.args.get(_NUMBER) or not isinstance(source.this, exp.Func):
            continue
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        called = exp.Table(this=source.this.copy())
        rows = exp.select("*", exp.alias_(number, ident(_NUMBER))).from_(called, copy=False)
        alias = source.args.get("alias")
        if alias is None or not alias.this:
            columns = [] if alias is None else alias.columns
            is_range = source.this.args.get("is_end_exclusive")
            name = "range" if is_range else function_name(source.this)
            alias = exp.TableAlias(this=ident(name), columns=columns)
        if source.this.find(exp.Column) is not None:
            put: exp.Expr = exp.Lateral(this=exp.Subquery(this=rows), alias=alias)
        else:
            put = exp.Subquery(this=rows, alias=alias)
        for part in ("joins", "laterals", "sample", "pivots"):
            if source.args.get(part):
                put.set(part, source.args[part])
        source.replace(put)
    return ast
