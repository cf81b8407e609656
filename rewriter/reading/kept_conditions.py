"""A condition over a table's rows as the catalog keeps it. Pure."""

from __future__ import annotations

from sqlglot import exp

from rewriter.context import RewriteContext
from rewriter.reading.duckdb.on_postgres import in_words_of_postgres
from rewriter.reading.postgres.dialect import in_words_of_the_store
from rewriter.statements.access import SetTablePolicy


def kept_condition(condition: exp.Expr, table: exp.Table, context: RewriteContext) -> exp.Expr:
    """A client's condition in words of the store, as those of row policies are.

    Raises NOT_SUPPORTED and OUT_OF_RANGE for what the store has no words for.
    """
    policy = SetTablePolicy(table, None, condition)
    spelled = in_words_of_postgres(in_words_of_the_store(policy, context), context)
    assert isinstance(spelled, SetTablePolicy)
    assert spelled.expression is not None
    return spelled.expression
