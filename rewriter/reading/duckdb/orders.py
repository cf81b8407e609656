"""ORDER BY of DuckDB's dialect on a PostgreSQL store. Pure.

SELECT DISTINCT s FROM t ORDER BY lower(s)    orders the rows of a query that has them once each
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.builders import sources_of
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.reading.output_names import source_names
from rewriter.reading.spelling import result_spelling
from rewriter.reading.visible_columns import ctes_in_reach

_OUTSIDE = ("with_", "order", "limit", "offset")
_ROWS = "different_rows"


def with_distinct_inside(node: exp.Select, context: RewriteContext) -> exp.Select | None:
    """A SELECT DISTINCT as a query around it where it is ordered by what is made of outputs.

    None where its outputs are ordered alone, and where a term asks for more than the outputs: also
    for a column by whose name another output is called.
    """
    distinct, order = node.args.get("distinct"), node.args.get("order")
    if distinct is None or distinct.args.get("on") is not None or order is None:
        return None
    values = [output.unalias() for output in node.expressions]
    outputs = {fold(_name(output)): output.unalias() for output in node.expressions}
    if any(value.is_star for value in values) or len(outputs) < len(values):
        return None
    if all(_is_output(term.this, values) for term in order.expressions):
        return None
    if _asks_for_columns(node, context):
        return None
    made = node.copy()
    for output in list(made.expressions):
        if not isinstance(output, exp.Alias | exp.Column):
            output.replace(exp.alias_(output.copy(), ident(result_spelling(output)), copy=False))
    around = exp.select(exp.Star())
    for part in _OUTSIDE:
        if made.args.get(part) is not None:
            around.set(part, made.args[part].pop())
    for term in around.args["order"].expressions:
        _spell_outputs(term, {value: name for name, value in outputs.items()})
    asked = [*around.args["order"].find_all(exp.Column)]
    if any(c.table or fold(c.name) not in outputs or c.parent_select is not around for c in asked):
        return None
    return around.from_(exp.alias_(made.subquery(copy=False), _ROWS, table=True), copy=False)


def _asks_for_columns(node: exp.Select, context: RewriteContext) -> bool:
    """True if a term of ORDER BY may name a column of a source that an output's name hides."""
    renamed = {fold(e.alias) for e in node.expressions if isinstance(e, exp.Alias)}
    renamed -= {fold(e.alias) for e in node.expressions if fold(e.unalias().name) == fold(e.alias)}
    terms = [t for t in node.args["order"].expressions if not isinstance(t.this, exp.Column)]
    asked = {fold(c.name) for term in terms for c in term.find_all(exp.Column) if not c.table}
    if not asked & renamed:
        return False
    reach = ctes_in_reach(node, context)
    for source in sources_of(node):
        names = source_names(source, context, reach)
        if names is None or asked & renamed & {fold(name) for name in names}:
            return True
    return False


def _name(output: exp.Expr) -> str:
    is_named = isinstance(output, exp.Alias | exp.Column)
    return output.alias_or_name if is_named else result_spelling(output)


def _is_output(term: exp.Expr, values: list[exp.Expr]) -> bool:
    return isinstance(term, exp.Column | exp.Literal | exp.PositionalColumn) or term in values


def _spell_outputs(term: exp.Expr, names: dict[exp.Expr, str]) -> None:
    """Put the names of outputs in the place of what they are, in place."""
    for part in list(term.walk()):
        if part is not term and part in names and part.parent is not None:
            part.replace(column(names[part]))
