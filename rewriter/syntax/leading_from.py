"""``FROM t JOIN u SELECT a``: a query whose sources come first has its joins where others do. Pure.

sqlglot hangs the joins on the first relation, as it does for joins in brackets.
"""

from __future__ import annotations

from sqlglot import exp


def hang_joins(ast: exp.Expr) -> exp.Expr:
    """The statement with the joins of each such query at its SELECT."""
    for select in ast.find_all(exp.Select):
        from_ = select.args.get("from_")
        if from_ is None or select.args.get("joins"):
            continue
        joins = from_.this.args.get("joins")
        if joins:
            from_.this.set("joins", None)
            select.set("joins", joins)
    return ast
