"""PIVOT and UNPIVOT in their short form, ``PIVOT t ON ..``: their source moves out of them.

The generator takes the qualifiers off every column inside, so no relation may stand there. Nested,
the source becomes a CTE of a query around it; a whole statement has its source staged. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.functions import VOLATILE_FUNCTIONS, function_name
from rewriter.name_resolution import position_of

_SOURCE = "_palimpsest_pivoted"


def move_sources_out(query: exp.Expr) -> None:
    """Give each short PIVOT inside a query a CTE as its source."""
    short = [p for p in query.find_all(exp.Pivot) if p.args.get("this") is not None]
    for number, pivot in enumerate(reversed(short)):
        name = f"{_SOURCE}_{number}"
        select = exp.select("*")
        around = _ctes_around(pivot)
        pivot.replace(select)
        with_ = _with_source(pivot, name, around)
        pivot.set("this", exp.to_table(name))
        select.from_(exp.Subquery(this=pivot, alias=_alias("p")), copy=False)
        select.set("with_", with_)


def source_query(pivot: exp.Pivot) -> exp.Select:
    """The source of a PIVOT with the CTEs before it, as a query."""
    query = exp.select("*").from_(pivot.this)
    query.set("with_", pivot.args.pop("with_", None))
    return query


def check_values_listed(statement: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for a PIVOT in a write whose columns only its rows would tell."""
    for pivot in statement.find_all(exp.Pivot):
        is_short = pivot.args.get("this") is not None and not pivot.args.get("unpivot")
        if is_short and not all(isinstance(on, exp.In) for on in pivot.expressions):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "a PIVOT without a list of values inside a write is not supported",
                advice="list the values: PIVOT t ON c IN (1, 2) ..",
                position=position_of(pivot),
            )


def _ctes_around(pivot: exp.Pivot) -> exp.With:
    """A WITH of copies of the CTEs around a PIVOT that its source reads, in their order.

    DuckDB looks for the values of a PIVOT with the CTEs of its own query alone.
    """
    visible: list[exp.CTE] = []
    is_recursive = False
    child: exp.Expr = pivot
    inside: exp.Expr = pivot
    node = pivot.parent
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            ctes = with_.expressions
            before = ctes.index(inside) if child is with_ else len(ctes)
            visible = [*ctes[:before], *visible]
            is_recursive |= bool(with_.args.get("recursive"))
        child, node = node, node.parent
    needed = _names_read(pivot)
    found: dict[str, exp.CTE] = {}
    for cte in reversed(visible):
        name = fold(cte.alias)
        if name in needed and name not in found:
            _check_lasting(cte)
            found[name] = cte.copy()
            needed |= _names_read(cte)
    return exp.With(expressions=list(reversed(found.values())), recursive=is_recursive)


def _check_lasting(cte: exp.CTE) -> None:
    """Raise NOT_SUPPORTED for a CTE whose copy would have other values."""
    if any(function_name(call) in VOLATILE_FUNCTIONS for call in cte.find_all(exp.Func)):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a PIVOT of the CTE {cte.alias}, whose values are new at each call, is not supported",
            advice="CREATE TEMP TABLE .. AS the query of the CTE, and PIVOT that",
            position=position_of(cte),
        )


def _names_read(node: exp.Expr) -> set[str]:
    return {fold(table.name) for table in node.find_all(exp.Table) if not table.db}


def _with_source(pivot: exp.Pivot, name: str, with_: exp.With) -> exp.With:
    """The CTEs around and before a PIVOT and, as the last of them, its source."""
    before = pivot.args.pop("with_", None) or exp.With(expressions=[])
    own = {fold(cte.alias) for cte in before.expressions}
    around = [cte for cte in with_.expressions if fold(cte.alias) not in own]
    source = exp.CTE(this=exp.select("*").from_(pivot.this), alias=_alias(name))
    with_.set("expressions", [*around, *before.expressions, source])
    if before.args.get("recursive"):
        with_.set("recursive", True)
    return with_


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name))
