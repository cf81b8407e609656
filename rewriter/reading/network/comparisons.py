"""Comparisons of addresses of networks, on stores that keep these as texts. Pure.

a = '10.1/16'        the constant is an address, and its text that of its value
a < b                by ``address_key``: version, bits of the network, how many, all bits
a = n                of an ``inet`` and a ``cidr``: the network as an address
a = ANY (l)          the list is one of addresses
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql import network_calls as calls
from journal.sql.builders import call
from journal.sql.network_text import CIDR, INET, NAMES, address_of, network_text
from rewriter.name_resolution import position_of
from rewriter.reading.network.types import MIXED, OTHER, NetworkTypes, without_brackets
from rewriter.reading.postgres.rows import is_assignment


def address(value: exp.Expr, kind: str) -> exp.Cast:
    """What is the text of an address, as a value of its type."""
    found = exp.Cast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))
    found.meta[calls.IS_ADDRESS] = True
    return found


def read_constant(text: exp.Expr, kind: str) -> str:
    """The text of a constant's value; raises CONVERSION where the constant stands."""
    return _placed(lambda: network_text(text.name, kind), text)


def _placed(read: Callable[[], str], node: exp.Expr) -> str:
    try:
        return read()
    except PalimpsestError as error:
        error.position = error.position or position_of(node)
        raise


def compare_by_order(node: exp.Expr, types: NetworkTypes) -> None:
    """A comparison by more and less."""
    names = ("this", "low", "high") if isinstance(node, exp.Between) else ("this", "expression")
    sides = {name: node.args[name] for name in names}
    if not _are_networks(node, list(sides.values()), types, orders=True):
        return
    for name, side in sides.items():
        inner = without_brackets(side)
        if isinstance(inner, exp.Null):
            continue
        if inner.is_string:
            node.set(name, call(calls.KEY, read_constant(inner, INET)))
        else:
            node.set(name, key_of(_inet_of(inner, types)))


def key_of(value: exp.Expr) -> exp.Expr:
    """What an address is ordered by."""
    return call(calls.KEY, value)


def compare_by_equality(node: exp.Expr, types: NetworkTypes) -> None:
    """A comparison by equality, a NULLIF or an IN."""
    if is_assignment(node):
        return
    if isinstance(node.expression, exp.Any | exp.All):
        _quantify(node, types)
        return
    others = node.expressions if isinstance(node, exp.In) else [node.expression]
    query = node.args.get("query") if isinstance(node, exp.In) else None
    sides = [node.this, *others, *([] if query is None else [_output(query)])]
    if not _are_networks(node, sides, types):
        return
    kinds = {types.network(side) for side in sides} - {None}
    if kinds == {CIDR}:
        # Networks are compared as they are; a constant is read as an address.
        for side in sides:
            if without_brackets(side).is_string:
                found = address_of(without_brackets(side).name, INET)
                side.replace(exp.Literal.string(found.text(CIDR)))
            elif types.network(side) is None and not isinstance(without_brackets(side), exp.Null):
                side.replace(call(calls.TEXT, reading_of(without_brackets(side), INET)))
        return
    if query is not None and len(kinds) > 1:
        raise not_done(node, "IN of a query", sides, types)
    for side in sides:
        if side is not node.this or kinds == {INET}:
            if query is None or side is node.this:
                _settle(side, types)
        else:
            _settle(side, types)


def _quantify(node: exp.Expr, types: NetworkTypes) -> None:
    """``a = ANY (l)``: the list is one of addresses."""
    kind, listed = types.network(node.this), node.expression.this
    if isinstance(listed, exp.Query) or types.of(without_brackets(listed)).kind == f"{kind}[]":
        if kind is not None and isinstance(listed, exp.Query):
            if types.network(_output(listed)) != kind:
                raise not_done(node, "ANY", [node.this, _output(listed)], types)
        return
    if kind is None:
        if types.may_be_network(listed):
            raise not_done(node, "ANY", [node.this, listed], types)
        return
    found = types.of(without_brackets(listed)).kind
    if kind == CIDR or found not in {None, "?[]", "VARCHAR[]", OTHER}:
        raise not_done(node, "ANY", [node.this, listed], types)
    to = exp.DataType.build(f"{kind}[]", dialect="duckdb")
    listed.replace(exp.Cast(this=listed.copy(), to=to))


def _settle(side: exp.Expr, types: NetworkTypes) -> None:
    inner = without_brackets(side)
    if inner.is_string:
        side.replace(exp.Literal.string(read_constant(inner, INET)))
    elif not isinstance(inner, exp.Null) and types.network(inner) != INET:
        side.replace(_inet_of(inner, types))


def _output(query: exp.Expr) -> exp.Expr:
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    while isinstance(inner, exp.SetOperation):
        inner = inner.this
    outputs = inner.selects if isinstance(inner, exp.Query) else []
    return outputs[0].unalias() if len(outputs) == 1 else inner


def _inet_of(value: exp.Expr, types: NetworkTypes) -> exp.Expr:
    """A value as an ``inet`` beside another one."""
    kind = types.network(value)
    if kind is not None:
        return as_inet(value, kind)
    return reading_of(value, INET)


def reading_of(value: exp.Expr, kind: str) -> exp.Cast:
    """A value whose text is read as an address when the statement runs."""
    return exp.Cast(this=value.copy(), to=exp.DataType.build(kind, dialect="duckdb"))


def as_inet(value: exp.Expr, kind: str) -> exp.Expr:
    """An address of a type as an ``inet``."""
    return value.copy() if kind == INET else call(calls.INET_OF, value)


def _are_networks(
    node: exp.Expr, sides: list[exp.Expr], types: NetworkTypes, *, orders: bool = False
) -> bool:
    """True for values of which one is an address; raises where the others cannot be."""
    kinds = [types.of(side).kind for side in sides]
    if not any(kind in NAMES for kind in kinds):
        if orders and any(map(types.may_be_network, sides)):
            raise not_done(node, node.key.upper(), sides, types)
        return False
    for side, kind in zip(sides, kinds, strict=True):
        if without_brackets(side).is_string or kind in {*NAMES, None, OTHER, MIXED}:
            continue
        raise not_done(node, node.key.upper(), sides, types)
    return True


def not_done(
    node: exp.Expr, what: str, sides: list[exp.Expr], types: NetworkTypes
) -> PalimpsestError:
    """The error for what is not done with values of these types."""
    kinds = [types.of(side).kind for side in sides]
    named = [
        NAMES.get(k or "") or ("unknown" if k in {None, OTHER, MIXED} else str(k).lower())
        for k in kinds
    ]
    return PalimpsestError(
        Code.UNKNOWN_FUNCTION,
        f"operator does not exist: {what} of {' and '.join(named) or 'inet and cidr'}",
        advice="cast what is an address to inet, and what is compared with it too",
        position=position_of(node),
    )
