"""PIVOT and UNPIVOT in their short form, ``PIVOT t ON ..``: their source moves out of them.

The generator takes the qualifiers off every column inside, so no relation may stand there. Nested,
the source becomes a CTE of a query around it; a whole statement has its source staged. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import position_of

_SOURCE = "_palimpsest_pivoted"


def move_sources_out(query: exp.Expr) -> None:
    """Give each short PIVOT inside a query a CTE as its source."""
    short = [p for p in query.find_all(exp.Pivot) if p.args.get("this") is not None]
    for number, pivot in enumerate(reversed(short)):
        name = f"{_SOURCE}_{number}"
        select = exp.select("*")
        pivot.replace(select)
        with_ = _with_source(pivot, name)
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


def _with_source(pivot: exp.Pivot, name: str) -> exp.With:
    """The CTEs before a PIVOT and, as the last of them, its source."""
    with_ = pivot.args.pop("with_", None) or exp.With(expressions=[])
    body = exp.select("*").from_(pivot.this)
    with_.append("expressions", exp.CTE(this=body, alias=_alias(name)))
    assert isinstance(with_, exp.With)
    return with_


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name))
