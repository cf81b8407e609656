"""STRUCT values that DuckDB's dialect makes without saying so, on a PostgreSQL store. Pure.

SELECT (1, 2)           a row as an output
SELECT t FROM t         the name of a relation, which stands for a row of it
SELECT t::VARCHAR FROM (SELECT 1 AS a) AS t
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.builders import sources_of
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.types import DuckDBTypes
from rewriter.reading.output_names import source_names
from rewriter.reading.visible_columns import ctes_in_reach

_TAKE_ROWS = (exp.Count, exp.Distinct, exp.Is, exp.Ordered, exp.Binary, exp.Anonymous)
"""What PostgreSQL does with a row as DuckDB does."""


def refuse_row(node: exp.Expr, _: DuckDBTypes) -> None:
    """Raise NOT_SUPPORTED for a row as an output, which is a STRUCT."""
    output = node.parent if isinstance(node.parent, exp.Alias) else node
    in_values = isinstance(node.parent, exp.Tuple) and isinstance(node.parent.parent, exp.Values)
    if in_values or (isinstance(output.parent, exp.Select) and output.arg_key == "expressions"):
        raise no_struct("a row as an output", node)


def refuse_whole_row(node: exp.Expr, types: DuckDBTypes) -> None:
    """Raise NOT_SUPPORTED for the name of a relation as a value, if no column has the name."""
    if not isinstance(node, exp.Column) or node.table or isinstance(node.parent, _TAKE_ROWS):
        return
    select = node.find_ancestor(exp.Query)
    if not isinstance(select, exp.Select):
        return
    sources = list(sources_of(select))
    if any(fold(source.alias_or_name) == fold(node.name) for source in sources) and all(
        _lacks(source, node, types) for source in sources
    ):
        raise no_struct("a whole row as a value", node)


def _lacks(source: exp.Expr, node: exp.Column, types: DuckDBTypes) -> bool:
    """True for a relation of which is known that it has no column of a name."""
    alias = source.args.get("alias")
    names = source_names(source, types.context, ctes_in_reach(source, types.context))
    if names is None and isinstance(alias, exp.TableAlias) and _has_one_column(source):
        names = [column.name for column in alias.columns] or None
    return names is not None and fold(node.name) not in map(fold, names)


def _has_one_column(source: exp.Expr) -> bool:
    is_call = isinstance(source, exp.Table) and not isinstance(source.this, exp.Identifier)
    return is_call or isinstance(source, exp.Unnest)


def no_struct(what: str, node: exp.Expr) -> PalimpsestError:
    """The refusal of what makes a STRUCT."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"a PostgreSQL store has no STRUCT values, such as {what}",
        advice="list the columns",
        position=position_of(node),
    )
