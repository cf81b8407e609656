"""CREATE OR REPLACE VIEW in PostgreSQL's dialect: the columns that a view has stay. Pure.

CREATE VIEW v AS SELECT a, b FROM t
CREATE OR REPLACE VIEW v AS SELECT a FROM t             refused: b would be gone
CREATE OR REPLACE VIEW v AS SELECT a AS c, b FROM t     refused: a would be called c
CREATE OR REPLACE VIEW v AS SELECT a::text, b FROM t    refused: a would be of another type
CREATE OR REPLACE VIEW v AS SELECT a, b, 1 AS d FROM t  taken
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import View, fold
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.sequences import without_calls
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.read_rewriter import Reads

_NUMERIC = frozenset({"DECIMAL", "BIGNUM", "HUGEINT", "DOUBLE"})
"""Stores compute some NUMERICs in another type, such as quotients: these count as one."""


def check_replaced_columns(
    old: View, new: Sequence[tuple[str, str]], node: exp.Expr, context: RewriteContext
) -> None:
    """Raise INVALID_DEFINITION where a view that takes the place of another lacks its columns.

    ``new`` are the names and types of its columns.
    """
    if not semantics_of(context.dialect).replaced_views_keep_columns:
        return
    for place, (name, kind) in enumerate(_columns_of(old, context)):
        if place >= len(new):
            why, advice = "cannot drop columns from view", "DROP VIEW first, and create it anew"
        elif fold(new[place][0]) != fold(name):
            why = f'cannot change name of view column "{name}" to "{new[place][0]}"'
            advice = f"ALTER VIEW {old.name.name} RENAME COLUMN {name} TO {new[place][0]}"
        elif _class_of(new[place][1]) != _class_of(kind):
            why = f'cannot change data type of view column "{name}" from {kind} to {new[place][1]}'
            advice = "DROP VIEW first, and create it anew"
        else:
            continue
        raise PalimpsestError(
            Code.INVALID_DEFINITION, why, advice=advice, position=position_of(node)
        )


def _columns_of(view: View, context: RewriteContext) -> Sequence[tuple[str, str]]:
    """Names and types of a view's columns; none of one that can no longer be read."""
    table = exp.Table(this=ident(view.name.name), db=ident(view.name.schema))
    holder = exp.Subquery(this=exp.select("*").from_(table))
    reads = Reads(context)
    try:
        reads.rewrite(holder)
        query = without_calls(holder.this)
        assert isinstance(query, exp.Query)
        return context.describe(query, frozenset(reads.tables))
    except PalimpsestError:
        return ()


def _class_of(kind: str) -> str:
    name = kind.partition("(")[0]
    return "DECIMAL" if name in _NUMERIC else kind
