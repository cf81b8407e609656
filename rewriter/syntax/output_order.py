"""ORDER BY and DISTINCT ON the name that PostgreSQL gives an output without an alias. Pure.

    SELECT a::text FROM t ORDER BY a              .. ORDER BY 1
    SELECT b, count(*) FROM t GROUP BY b ORDER BY count      .. ORDER BY 2

PostgreSQL looks for a bare name among the outputs first; stores know other names of these, or none,
and would order by the column that is called so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import fold
from rewriter.syntax.postgres_names import postgres_name


def spell_ordered_outputs(ast: exp.Expr) -> None:
    """Put the places of such outputs, or they themselves behind a star, into ORDER BY, in place.

    An output that has the name as an alias or a column is found by stores as well.
    """
    for query in list(ast.find_all(exp.Select, exp.SetOperation)):
        bare = [n for n in _ordering(query) if isinstance(n, exp.Column) and not n.table]
        if bare:
            _spell(bare, _outputs(query))


def _ordering(query: exp.Expr) -> list[exp.Expr]:
    """What a query orders by, and what it is distinct by."""
    order, distinct = query.args.get("order"), query.args.get("distinct")
    terms = [] if order is None else [term.this for term in order.expressions]
    on = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
    if on is not None:
        terms += on.expressions if isinstance(on, exp.Tuple) else [on]
    return terms


def _outputs(query: exp.Expr) -> list[exp.Expr]:
    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    return list(first.expressions) if isinstance(first, exp.Select) else []


def _spell(terms: Sequence[exp.Expr], outputs: list[exp.Expr]) -> None:
    has_star = any(output.is_star for output in outputs)
    taken = {fold(o.alias_or_name) for o in outputs if isinstance(o, exp.Alias | exp.Column)}
    places: dict[str, int] = {}
    for place, output in enumerate(outputs):
        name = None if isinstance(output, exp.Alias | exp.Column) else postgres_name(output)
        if name is not None:
            places.setdefault(fold(name), place)
    for term in terms:
        found = places.get(fold(term.name))
        if found is None or fold(term.name) in taken:
            continue
        number = exp.Literal.number(found + 1)
        term.replace(outputs[found].copy() if has_star else number)
