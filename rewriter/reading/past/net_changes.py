"""What differs between two states of a table: of each key the row before, the row after, or both.

What happened in between and was undone again is no difference. Both states are those that the
client would read AS OF the points. Pure: AST in, AST out.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.relations import Output, column, version_value
from journal.sql.sql import all_of, any_of, named
from rewriter.name_resolution import INTERNAL
from rewriter.reading.past.history import (
    END,
    START,
    aliased,
    comparable,
    free_name,
    version_number,
    with_writer,
)
from rewriter.reading.past.seen_past import SeenPast

_IS_NEW = f"{INTERNAL}is_new"
_ROWS = f"{INTERNAL}rows"
"""How many states have a row of this key: 1 or 2."""
_OTHER = f"{INTERNAL}other"
"""A column's value in the other state, with its place behind."""


def net_changes(seen: SeenPast, first: exp.Expr, last: exp.Expr) -> exp.Query:
    """Business columns of each row that only one of two states has, and what became of it."""
    table = seen.table
    is_new, pairs = exp.EQ(this=column(_IS_NEW, "d"), expression=_number(1)), column(_ROWS, "d")
    is_pair = exp.EQ(this=pairs, expression=_number(2))
    kind = exp.Case().when(exp.and_(is_new, is_pair), exp.Literal.string("update_postimage"))
    kind = kind.when(is_new.copy(), exp.Literal.string("insert"))
    kind = kind.when(is_pair.copy(), exp.Literal.string("update_preimage"))
    at = exp.Case().when(is_new.copy(), column(START, "d")).else_(column(END, "d"))
    outputs: list[Output] = [(column(c.name, "d"), c.name) for c in table.columns]
    taken = {fold(c.name) for c in table.columns}
    told: list[Output] = [
        (kind.else_(exp.Literal.string("delete")), "_change_type"),
        (column("version", "w"), "_version"),
        (column("committed_at", "w"), "_committed_at"),
    ]
    outputs += [(value, free_name(name, taken)) for value, name in told]
    differs = [
        exp.NullSafeNEQ(
            this=comparable(c, column(c.name, "d")),
            expression=comparable(c, column(f"{_OTHER}{i}", "d")),
        )
        for i, c in enumerate(table.columns)
    ]
    query = exp.select(*[aliased(value, name) for value, name in outputs])
    query = query.from_(_beside_others(seen, first, last).subquery("d"))
    query = with_writer(query, version_number(table, at))
    alone = exp.EQ(this=pairs.copy(), expression=_number(1))
    query = query.where(any_of(alone, *differs))
    return query.order_by(*[column(key, "d") for key in seen.keys], column(_IS_NEW, "d"))


def _beside_others(seen: SeenPast, first: exp.Expr, last: exp.Expr) -> exp.Select:
    """The rows of one state, each beside the values of the other state's row of the key."""
    keys = [column(key, "e") for key in seen.keys]
    order = exp.Order(expressions=[exp.Ordered(this=column(_IS_NEW, "e"), nulls_first=False)])
    count = exp.Window(this=exp.Count(this=exp.Star()), partition_by=keys)
    outputs: list[exp.Expr] = [exp.Column(this=exp.Star(), table=exp.to_identifier("e"))]
    outputs.append(named(count, _ROWS))
    is_new = exp.EQ(this=column(_IS_NEW, "e"), expression=_number(1))
    for place, stored in enumerate(seen.table.columns):
        before, after = (
            exp.Window(
                this=call(this=column(stored.name, "e")),
                partition_by=[k.copy() for k in keys],
                order=order.copy(),
            )
            for call in (exp.Lag, exp.Lead)
        )
        other = exp.Case().when(is_new.copy(), before).else_(after)
        outputs.append(named(other, f"{_OTHER}{place}"))
    return exp.select(*outputs).from_(_of_one_state(seen, first, last).subquery("e"))


def _of_one_state(seen: SeenPast, first: exp.Expr, last: exp.Expr) -> exp.Select:
    """The row versions that were current at just one of the points; ``_IS_NEW`` 1: at the last."""
    table = seen.table
    before, after = (version_value(table, point) for point in (first, last))
    new = exp.Case().when(_holds_at(after), _number(1)).else_(_number(0))
    outputs = [exp.Column(this=exp.Star(), table=exp.to_identifier("v")), named(new, _IS_NEW)]
    query = exp.select(*outputs).from_(seen.row_versions().subquery("v"))
    only_old = all_of(_holds_at(before), exp.Not(this=exp.Paren(this=_holds_at(after))))
    only_new = all_of(_holds_at(after), exp.Not(this=exp.Paren(this=_holds_at(before))))
    return query.where(any_of(only_old, only_new))


def _holds_at(point: exp.Expr) -> exp.Expr:
    """Whether a row version is current at a version."""
    end = column(END, "v")
    lasts = exp.Is(this=end, expression=exp.Null())
    ends_later = exp.GT(this=end.copy(), expression=point.copy())
    begun = exp.LTE(this=column(START, "v"), expression=point.copy())
    return exp.Paren(this=all_of(begun, any_of(lasts, ends_later)))


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
