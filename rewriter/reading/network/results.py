"""Which result columns of a statement are addresses of networks. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.network_text import INET
from rewriter.context import RewriteContext
from rewriter.reading.network.types import NetworkTypes, concerns_networks
from rewriter.reading.output_names import output_names


def address_results(ast: exp.Expr, context: RewriteContext) -> tuple[tuple[int, str], ...]:
    """The places of a statement's result columns that are addresses, or lists of them, and their
    types.

    Columns whose names come twice behind a star are left out: which is which is not told.
    """
    if not context.capabilities.addresses_are_texts or not concerns_networks(ast, context):
        return ()
    types = NetworkTypes(context)
    returning = ast.args.get("returning")
    if isinstance(returning, exp.Returning):
        kinds = [types.of(output.unalias()).kind for output in returning.expressions]
        if any(output.is_star for output in returning.expressions):
            kinds = _of_target(ast, context) if len(returning.expressions) == 1 else []
    elif not isinstance(ast, exp.Query):
        return ()
    elif any(output.is_star for output in ast.selects):
        names = [fold(name) for name in output_names(ast, context) or []]
        kinds = [types.of_output(ast, n).kind if names.count(n) == 1 else None for n in names]
    else:
        kinds = [types.of(output.unalias()).kind for output in ast.selects]
    return tuple((place, k) for place, k in enumerate(kinds) if k is not None and _is_shown(k))


def _of_target(ast: exp.Expr, context: RewriteContext) -> list[str | None]:
    """The types of the columns of the table that a statement changes."""
    target = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    query = exp.select("*").from_(exp.Table(this=target.this.copy(), db=target.args.get("db")))
    names = output_names(query, context) or []
    return [NetworkTypes(context).of_output(query, name).kind for name in names]


def _is_shown(kind: str) -> bool:
    return kind.removesuffix("[]").startswith(INET)
