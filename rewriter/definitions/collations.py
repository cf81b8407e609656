"""Checks collations of columns. Pure.

As in DuckDB, a collation decides comparisons, groups and order, and keys are compared by bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, fold
from journal.sql.relations import collated
from rewriter.context import RewriteContext
from rewriter.name_resolution import position_of

BYTES = frozenset({"binary", "c", "posix", "default", "pg_catalog.c", "pg_catalog.default"})
"""Names of the order of bytes, which texts have anyway."""
TEXTS = (exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.CHAR, exp.DType.NCHAR, exp.DType.NVARCHAR)


def read_collation(node: exp.Expr, stored: Column) -> str | None:
    """The collation that COLLATE names for a column; None for the order of bytes.

    Raises INVALID_DEFINITION for a column that holds no text.
    """
    parts = node.parts if isinstance(node, exp.Column) else [node]
    name = ".".join(part.name for part in parts)
    if not exp.DataType.build(stored.type, dialect="duckdb").is_type(*TEXTS):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'column "{stored.name}" of type {stored.type} cannot have a collation',
            advice="texts have collations",
            position=position_of(node),
        )
    return None if fold(name) in BYTES else name


def check_collations(table: Table, context: RewriteContext, node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for a collation on a store that lacks them."""
    found = next((c for c in table.columns if c.collation is not None), None)
    if found is not None and not context.capabilities.collations:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'COLLATE {found.collation} of column "{found.name}" is not supported by this store',
            advice="leave it out, and compare lower(column)",
            position=position_of(node),
        )


def with_collations(value: exp.Expr, columns: Sequence[Column]) -> exp.Expr:
    """An expression over physical columns that compares them as their collations say."""
    orders = {c.physical: c for c in columns if c.collation is not None}
    if not orders:
        return value
    holder = exp.Paren(this=value)
    for used in list(holder.find_all(exp.Column)):
        if used.name in orders and not isinstance(used.parent, exp.Collate):
            used.replace(collated(used.copy(), orders[used.name]))
    found: exp.Expr = holder.this
    return found
