"""Queries over a relation that is no table of the catalog. Pure."""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.read_rewriter import Reads


def rewrite_around(reads: Reads, query: exp.Select, target: exp.Subquery) -> None:
    """Rewrite a query whose FROM is a placeholder for ``target``, and put that in."""
    place = query.args["from_"].this
    place.replace(exp.Placeholder(this="target"))
    reads.rewrite(query)
    query.args["from_"].set("this", target)
