"""Wraps queries around a relation that is not in the catalog. Pure."""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.read_rewriter import Reads


def rewrite_around(
    reads: Reads, query: exp.Select, target: exp.Subquery, place: exp.Subquery | None = None
) -> None:
    """Rewrite a query with a placeholder for ``target``, by default its FROM, and put that in."""
    around = query.args["from_"] if place is None else place.parent
    assert isinstance(around, exp.Expr)
    around.set("this", exp.Placeholder(this="target"))
    reads.rewrite(query)
    around.set("this", target)
