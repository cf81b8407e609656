"""Parts of definitions as the texts that the catalog keeps. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.native_words import with_kept_words
from rewriter.functions import check_functions
from rewriter.name_resolution import position_of


def canonical_text(node: exp.Expr) -> str:
    """A query, an expression or a type as text in the canonical dialect."""
    return with_kept_words(node).sql(dialect="duckdb")


def default_text(node: exp.Expr, what: str) -> str:
    """A DEFAULT as canonical text; it may call functions, but name no column and no parameter."""
    for part in node.find_all(exp.Column, exp.Query, exp.Placeholder, exp.AggFunc, exp.Window):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"{what} cannot contain {canonical_text(part)}",
            advice="use constants and functions of constants",
            position=position_of(part) or position_of(node),
        )
    check_functions(node, sequences=True)
    return canonical_text(node)
