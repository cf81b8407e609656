"""PostgreSQL's operators and functions of addresses, for stores that keep these as texts. Pure.

a << b, a <<= b, a && b      by the bits of the networks
~a, a & b, a | b             of the bits of the addresses
a + 1, a - b                 of their numbers, of the version 4
host(a), network(a), ..      and the other functions that are listed here

Of whole numbers ``<<`` and ``&`` are what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql import network_calls as calls
from journal.sql.builders import call
from journal.sql.network_text import CIDR, INET, NAMES, network_text
from journal.sql.relations import ident
from rewriter.definitions.macros import called_macro
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.reading.network.types import NetworkTypes, without_brackets
from rewriter.reading.value_kinds import WHOLE_KINDS

_SIGNS: dict[type[exp.Expr], str] = {
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.ArrayOverlaps: "&&",
    exp.BitwiseNot: "~",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.Add: "+",
    exp.Sub: "-",
}
_OPERATORS = (*_SIGNS, exp.Operator)
_OF_ONE = {
    "host": calls.HOST,
    "text": calls.TEXT,
    "masklen": calls.MASKLEN,
    "family": calls.FAMILY,
    "netmask": calls.NETMASK,
    "hostmask": calls.HOSTMASK,
    "network": calls.NETWORK,
    "broadcast": calls.BROADCAST,
}
_OF_TWO = frozenset({"inet_same_family", "inet_merge"})
_CASTS = {"inet": INET, "cidr": CIDR}
FUNCTIONS = frozenset({*_OF_ONE, *_OF_TWO, *_CASTS, "abbrev", "set_masklen"})
"""The functions of addresses, by their names in PostgreSQL."""


def spell_operators(holder: exp.Expr, types: NetworkTypes) -> None:
    """Put calls of ours in the place of these below a node, inner ones first.

    Raises UNKNOWN_FUNCTION for operators of other values than addresses, NOT_SUPPORTED for what is
    not computed here, CONVERSION for a constant that is no address.
    """
    for node in reversed(list(holder.find_all(*_OPERATORS, exp.Anonymous, exp.Host))):
        made = _operator(node, types) if isinstance(node, _OPERATORS) else _function(node, types)
        if made is None:
            continue
        name = function_name(node) if isinstance(node, exp.Anonymous) else "?column?"
        if isinstance(node, exp.Host):
            name = "host"
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            made = exp.Alias(this=made, alias=ident(name))
        node.replace(made)


def _operator(node: exp.Expr, types: NetworkTypes) -> exp.Expr | None:
    sign = str(node.args["operator"]) if isinstance(node, exp.Operator) else _SIGNS[type(node)]
    if sign == "~":
        kind = types.network(node.this)
        return None if kind is None else call(calls.NOT, _inet(node.this, types))
    sides = (node.this, node.expression)
    kinds = [types.network(side) for side in sides]
    if not any(kinds):
        if isinstance(node, exp.Operator):
            raise _unknown(node, sign, sides, types)
        return None
    # A text beside ``-`` is another address, beside ``+`` a number.
    is_apart = sign == "-" and (kinds[1] is not None or without_brackets(node.expression).is_string)
    if sign in {"+", "-"} and not is_apart:
        return _moved_address(node, sign, types)
    left, right = (_inet(side, types) for side in sides)
    return _SPELLED[sign](left, right)


_SPELLED: dict[str, Callable[[exp.Expr, exp.Expr], exp.Expr]] = {
    "<<": lambda a, b: calls.contains(b, a, strictly=True),
    ">>": lambda a, b: calls.contains(a, b, strictly=True),
    "<<=": lambda a, b: calls.contains(b, a, strictly=False),
    ">>=": lambda a, b: calls.contains(a, b, strictly=False),
    "&&": calls.overlap,
    "&": lambda a, b: call(calls.AND, a, b),
    "|": lambda a, b: call(calls.OR, a, b),
    "-": lambda a, b: call(calls.DISTANCE, a, b),
}


_LIKE_NUMBER = re.compile(r"\s*[+-]?\d\w*\s*")


def _moved_address(node: exp.Expr, sign: str, types: NetworkTypes) -> exp.Expr:
    first, second = node.this, node.expression
    if sign == "+" and types.network(first) is None:
        first, second = second, first
    number = without_brackets(second)
    is_open = isinstance(number, exp.Placeholder) and sign == "-"
    if types.network(second) is not None or is_open:
        raise _unknown(node, sign, (node.this, node.expression), types)
    kind = types.of(second).kind
    if kind is not None and kind not in WHOLE_KINDS:
        raise _unknown(node, sign, (node.this, node.expression), types)
    if number.is_string and not _LIKE_NUMBER.fullmatch(number.name):
        raise PalimpsestError(
            Code.CONVERSION,
            f'invalid input syntax for type bigint: "{number.name}"',
            advice="add a whole number to an address, or cast the text",
            position=position_of(number),
        )
    amount = exp.cast(second.copy(), "BIGINT", dialect="duckdb")
    by = amount if sign == "+" else exp.Neg(this=exp.paren(amount, copy=False))
    return call(calls.MOVED, _inet(first, types), by)


def _inet(value: exp.Expr, types: NetworkTypes) -> exp.Expr:
    """A value as an ``inet``; raises UNKNOWN_FUNCTION for one of another type."""
    inner, kind = without_brackets(value), types.of(value).kind
    if kind == CIDR:
        return call(calls.INET_OF, inner)
    if kind == INET or isinstance(inner, exp.Null):
        return inner.copy()
    if inner.is_string:
        return exp.Literal.string(_read(inner))
    if kind is not None and kind in types.told:
        raise _unknown(value, "this operator", (value,), types)
    return exp.Cast(this=inner.copy(), to=exp.DataType.build(INET, dialect="duckdb"))


def _read(text: exp.Expr) -> str:
    try:
        return network_text(text.name, INET)
    except PalimpsestError as error:
        error.position = error.position or position_of(text)
        raise


def _function(node: exp.Expr, types: NetworkTypes) -> exp.Expr | None:
    if isinstance(node, exp.Host):
        name, arguments = "host", [node.this]
    else:
        name, arguments = function_name(node), node.expressions
    if name not in FUNCTIONS or (
        isinstance(node, exp.Anonymous) and called_macro(node, types.context) is not None
    ):
        return None
    kinds = [types.network(argument) for argument in arguments]
    if name == "text" and kinds != [INET] and kinds != [CIDR]:
        return None
    if name in _CASTS and len(arguments) == 1:
        to = exp.DataType.build(_CASTS[name], dialect="duckdb")
        return exp.Cast(this=arguments[0].copy(), to=to)
    for argument in arguments[:1] if name == "set_masklen" else arguments:
        kind = types.of(argument).kind
        if kind is not None and kind in types.told:
            raise _unknown(node, name, arguments, types)
    if name in _OF_ONE and len(arguments) == 1:
        # The address of a network is the same text, but for the mask that it shows.
        return call(_OF_ONE[name], _inet(arguments[0], types))
    if name in _OF_TWO and len(arguments) == 2:
        sides = [_inet(argument, types) for argument in arguments]
        if name == "inet_merge":
            return call(calls.MERGE, *sides)
        families = [call(calls.FAMILY, side) for side in sides]
        return exp.paren(exp.EQ(this=families[0], expression=families[1]), copy=False)
    if name == "set_masklen" and len(arguments) == 2:
        made = calls.NETWORK_OF if kinds[0] == CIDR else calls.WITH_MASKLEN
        return call(made, _inet(arguments[0], types), arguments[1])
    if name == "abbrev" and kinds == [INET]:
        return exp.cast(exp.Concat(expressions=[arguments[0].copy()]), "VARCHAR")
    if name == "abbrev" and len(arguments) == 1:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "abbrev of a cidr is not supported",
            advice="cast it to a text, which has all of its numbers",
            position=position_of(node),
        )
    return None


def _unknown(
    node: exp.Expr, sign: str, values: tuple[exp.Expr, ...] | list[exp.Expr], types: NetworkTypes
) -> PalimpsestError:
    kinds = [types.of(value).kind or "unknown" for value in values]
    named = " and ".join(NAMES.get(kind, kind.lower().lstrip("?")) for kind in kinds)
    return PalimpsestError(
        Code.UNKNOWN_FUNCTION,
        f"there is no {sign} of {named}",
        advice="cast what is an address to inet",
        position=position_of(node),
    )
