"""Addresses of networks on stores that keep them as texts. Pure.

a = '10.1/16'                the constant is an address, and its text that of its value
a < b, ORDER BY a            by ``key``: version, bits of the network, how many, all bits
min(a)                       the address whose key is the least
a::text                      with its mask, as PostgreSQL writes it
t::inet, t::cidr             the text of the value; fails for one that is none

What is made of addresses and is of no known type is neither ordered nor compared by more and less:
as a text it would be in another order.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.trees import copy_tree
from journal.sql import network_calls as calls
from journal.sql.builders import call, fill, variable
from journal.sql.network_text import CIDR, INET, NAMES
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.user_types import find_type
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.reading.network.comparisons import (
    address,
    as_inet,
    compare_by_equality,
    compare_by_order,
    key_of,
    not_done,
    read_constant,
    reading_of,
)
from rewriter.reading.network.operators import spell_operators
from rewriter.reading.network.orders import order_outside, ordered_value
from rewriter.reading.network.types import (
    MIXED,
    OTHER,
    TEXTS,
    NetworkTypes,
    check_joined,
    concerns_networks,
    is_cidr,
    is_list_of_addresses,
    is_of_network,
    names_networks,
    without_brackets,
)
from rewriter.reading.row_conditions import WITH_SQL, with_changed_parts
from rewriter.statement import Statement
from rewriter.syntax.postgres_names import postgres_name

_ORDERING = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_EQUATING = (exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif)
_CHOOSING = (exp.Case, exp.Coalesce)
_EXTREMES = (exp.Min, exp.Max)


def with_networks_named(statement: Statement, context: RewriteContext) -> Statement:
    """The statement with ``cidr`` as the type that the catalog has for it.

    Raises NOT_SUPPORTED for types of addresses where the store has none.
    """
    if not isinstance(statement, WITH_SQL):
        return statement
    return with_changed_parts(statement, lambda tree: _named(tree, context))


def _named(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    spells = context.capabilities.addresses_are_texts and (
        concerns_networks(tree, context) or next(tree.find_all(exp.Operator), None) is not None
    )
    if not spells and not names_networks(tree):
        return tree
    holder = exp.Paren(this=copy_tree(tree))
    for kind in list(holder.find_all(exp.DataType)):
        if is_cidr(kind) and find_type(kind, context) is None:
            kind.replace(exp.DataType.build(CIDR, dialect="duckdb"))
        elif kind.this is exp.DType.INET and not context.capabilities.addresses:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "this store has no types inet and cidr",
                advice="use VARCHAR",
                position=position_of(kind),
            )
    if spells:
        types = NetworkTypes(context)
        spell_operators(holder, types)
        for node in holder.find_all(*_OF_TEXTS):
            _check_arguments(node, types)
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def with_addresses(statement: Statement, context: RewriteContext) -> Statement:
    """The statement with addresses as the store keeps them; the same if there are none.

    Raises CONVERSION for a constant that is none, UNKNOWN_FUNCTION for what is not done with them.
    """
    if not isinstance(statement, WITH_SQL):
        return statement
    return with_changed_parts(statement, lambda tree: spelled_addresses(tree, context))


def spelled_addresses(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """A tree with addresses as the store keeps them; the same if there are none."""
    if not context.capabilities.addresses_are_texts or not concerns_networks(tree, context):
        return tree
    holder = exp.Paren(this=copy_tree(tree))
    _spell_addresses(holder, context)
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def _spell_addresses(holder: exp.Expr, context: RewriteContext) -> None:
    """Spell addresses out below a node, in place; what is spelled out already stays as it is."""
    types = NetworkTypes(context)
    for join in holder.find_all(exp.Join):
        check_joined(join, types)
    # What values are, those around them go by.
    for kinds in (_VALUES, _SPELLED):
        for node in reversed(list(holder.find_all(*kinds))):
            kinds[type(node)](node, types)
    for query in reversed(list(holder.find_all(exp.Select, exp.SetOperation))):
        order_outside(query, types)


def _cast(node: exp.Expr, types: NetworkTypes) -> None:
    assert isinstance(node, exp.Cast)
    kind, value = types.of(node.this).kind, node.this
    if node.to.this is exp.DType.ARRAY and "INET" in node.to.sql(dialect="duckdb"):
        _cast_list(node, kind)
    elif node.to.this is exp.DType.INET:
        if calls.IS_ADDRESS in node.meta or isinstance(value, exp.Null):
            return
        to = node.to.sql(dialect="duckdb").upper()
        if kind == to:
            node.meta[calls.IS_ADDRESS] = True
            return
        known = {*TEXTS, INET, CIDR, OTHER, MIXED}
        if kind is not None and kind not in known and kind.partition("(")[0] not in TEXTS:
            raise _no_cast(node, kind)
        if kind in NAMES:
            made = as_inet(value, CIDR) if kind == CIDR else call(calls.NETWORK, value)
            node.replace(address(made, to))
        elif value.is_string and type(node) is exp.Cast:
            node.replace(address(exp.Literal.string(read_constant(value, to)), to))
    elif is_list_of_addresses(kind) and node.to.this is exp.DType.ARRAY:
        each = call(calls.TEXT, variable("each"))
        texts = fill("list_transform(l, LAMBDA each: c)", l=value, c=each)
        node.set("this", texts)
    elif kind in NAMES:
        if node.to.this not in {exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR}:
            raise _no_cast(node, kind)
        node.set("this", call(calls.TEXT, value))


def _cast_list(node: exp.Cast, kind: str | None) -> None:
    """A list of texts as one of addresses."""
    to = node.to.sql(dialect="duckdb").upper()
    if kind == to:
        node.meta[calls.IS_ADDRESS] = True
    if to.removesuffix("[]") not in NAMES or (is_of_network(kind) and kind not in {to, MIXED}):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "only lists of texts become lists of addresses, and no lists of lists",
            advice="cast the elements",
            position=position_of(node),
        )


def _united(node: exp.Expr, types: NetworkTypes) -> None:
    """The outputs of two queries: beside an address a network is an address."""
    sides = [node.this, node.expression]
    selects: list[exp.Select] = []
    for side in sides:
        inner = side
        while isinstance(inner, exp.SetOperation | exp.Subquery):
            inner = inner.this
        if isinstance(inner, exp.Select):
            selects.append(inner)
    if len(selects) < 2:
        return
    has_star = any(output.is_star for select in selects for output in select.selects)
    pairs = list(zip(*(select.selects for select in selects), strict=False))
    if has_star or node.args.get("by_name"):
        tables = {kind for select in selects for kind in types.kinds_within(select)}
        if {INET, CIDR} <= tables:
            raise not_done(node, node.key.upper(), [], types)
        return
    for pair in pairs:
        kinds = [types.network(output.unalias()) for output in pair]
        if set(kinds) != {INET, CIDR}:
            continue
        if any(isinstance(side, exp.SetOperation) for side in sides):
            raise not_done(node, node.key.upper(), [o.unalias() for o in pair], types)
        output = pair[kinds.index(CIDR)]
        made = address(as_inet(output.unalias(), CIDR), INET)
        name = ident(output.alias_or_name or "?column?")
        output.replace(exp.Alias(this=made, alias=name))


def _no_cast(node: exp.Cast, kind: str) -> PalimpsestError:
    name = NAMES.get(kind, kind.lower())
    to = node.to.sql(dialect="duckdb")
    return PalimpsestError(
        Code.TYPE_MISMATCH,
        f"cannot cast type {name} to {NAMES.get(to, to.lower())}",
        advice="cast it to a text first",
        position=position_of(node),
    )


def _choose(node: exp.Expr, types: NetworkTypes) -> None:
    """The results of a CASE or COALESCE, of one type."""
    if isinstance(node, exp.Case):
        values = [branch.args["true"] for branch in node.args["ifs"]]
        if node.args.get("default") is not None:
            values.append(node.args["default"])
        matched = [] if node.this is None else [node.this, *(b.this for b in node.args["ifs"])]
        if any(types.network(value) for value in matched):
            raise not_done(node, "CASE", matched, types)
    else:
        values = [node.this, *node.expressions]
    kinds = {types.network(value) for value in values} - {None}
    if not kinds:
        return
    for value in values:
        inner = without_brackets(value)
        kind = INET if len(kinds) > 1 else next(iter(kinds)) or INET
        if isinstance(inner, exp.Null) or types.network(inner) == kind:
            continue
        if inner.is_string:
            value.replace(address(exp.Literal.string(read_constant(inner, kind)), kind))
        elif types.network(inner) is not None:
            value.replace(address(as_inet(inner, CIDR), INET))
        elif types.of(inner).kind is None:
            value.replace(reading_of(inner, kind))
        else:
            raise not_done(node, node.key.upper(), values, types)


def _extreme(node: exp.Expr, types: NetworkTypes) -> None:
    value = node.this
    if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
        value = value.expressions[0]
    kind = types.network(value)
    if kind is None:
        if types.may_be_network(value):
            raise not_done(node, node.key.upper(), [value], types)
        return
    if node.expressions or node.args.get("count"):
        raise not_done(node, node.key.upper(), [value], types)
    # PostgreSQL has them of ``inet`` alone.
    least = as_inet(value, kind)
    kind_of_end = exp.ArgMin if isinstance(node, exp.Min) else exp.ArgMax
    made = kind_of_end(this=least, expression=key_of(value))
    _put(node, made, INET)


def _put(node: exp.Expr, made: exp.Expr, kind: str) -> None:
    """Put what gives an address in the place of an aggregate, with what stands around a window."""
    whole = node
    while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
        whole = whole.parent
    name = postgres_name(node) or node.key
    is_output = isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions"
    node.replace(made)
    around = made if whole is node else whole
    found: exp.Expr = exp.Cast(this=exp.null(), to=exp.DataType.build(kind, dialect="duckdb"))
    found.meta[calls.IS_ADDRESS] = True
    holder = exp.Alias(this=found, alias=ident(name)) if is_output else found
    around.replace(holder)
    found.set("this", around)


def _ordered(node: exp.Expr, types: NetworkTypes) -> None:
    """A term of ORDER BY, also of windows and aggregates."""
    assert isinstance(node, exp.Ordered)
    order = node.parent
    value = ordered_value(node, types) if isinstance(order, exp.Order) else None
    if value is None or order is None:
        return
    is_within = isinstance(order.parent, exp.WithinGroup)
    query = node.find_ancestor(exp.Select)
    if is_within or (query is not None and isinstance(value, exp.Var | exp.Star)):
        # ORDER BY ALL is by each output.
        outputs = [o.unalias() for o in query.selects] if query and not is_within else [value]
        if any(map(types.network, outputs)) or any(output.is_star for output in outputs):
            raise not_done(node, "ORDER BY", outputs, types)
        return
    if types.network(value) is not None:
        node.set("this", key_of(value))
    elif types.may_be_network(value):
        raise not_done(node, "ORDER BY", [value], types)


def _check_arguments(node: exp.Expr, types: NetworkTypes) -> None:
    """What has no meaning for addresses, though their texts would have one."""
    sides = [side for side in node.iter_expressions() if not isinstance(side, exp.Query)]
    kinds = [types.of(side).kind for side in sides]
    if any(kind in NAMES or (is_of_network(kind) and kind != MIXED) for kind in kinds):
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"{function_name(node)} does not take an address",
            advice="cast it to a text, or take host(a)",
            position=position_of(node),
        )


def _check_call(node: exp.Expr, types: NetworkTypes) -> None:
    """Calls by name that go by the order of their arguments, of which texts have another."""
    if isinstance(node, exp.Summarize):
        if types.kinds_within(node):
            raise not_done(node, "SUMMARIZE", [], types)
    elif function_name(node) in _BY_ORDER:
        _check_arguments(node, types)


def _check_again(node: exp.Expr, types: NetworkTypes) -> None:
    """The same in bodies of macros; an ALTER to a text has a check of its length by now."""
    if not isinstance(node, exp.Length) or node.find_ancestor(exp.Alter) is None:
        _check_arguments(node, types)


def _joined(node: exp.Expr, types: NetworkTypes) -> None:
    """``||``, which takes an address for its text with the mask."""
    for side in (node.this, node.expression):
        if types.network(side) is not None:
            side.replace(call(calls.TEXT, side))


_OF_TEXTS = (
    *(exp.Like, exp.ILike, exp.SimilarTo, exp.Glob, exp.Upper, exp.Lower, exp.Initcap),
    *(exp.Length, exp.Substring, exp.Left, exp.Right, exp.Trim, exp.Replace, exp.Reverse),
    *(exp.Repeat, exp.Pad, exp.StrPosition, exp.SplitPart, exp.Split, exp.StartsWith, exp.EndsWith),
    *(exp.Contains, exp.Unicode, exp.MD5, exp.RegexpLike, exp.RegexpFullMatch, exp.RegexpReplace),
    *(exp.RegexpExtract, exp.Collate, exp.Greatest, exp.Least, exp.GroupConcat, exp.ArgMin),
    *(exp.ArgMax, exp.Quantile, exp.ApproxQuantile, exp.Median, exp.PercentileDisc),
    *(exp.ArrayMin, exp.ArrayMax),
)
_BY_ORDER = frozenset(
    "list_sort array_sort list_reverse_sort array_reverse_sort list_min list_max list_aggregate"
    " array_min array_max list_median list_mode max_n min_n quantile quantile_cont quantile_disc"
    " approx_quantile median mad list_grade_up array_grade_up grade_up list_aggr".split()
)
_VALUES: dict[type[exp.Expr], Callable[[exp.Expr, NetworkTypes], None]] = {
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys(_CHOOSING, _choose),
}
_SPELLED: dict[type[exp.Expr], Callable[[exp.Expr, NetworkTypes], None]] = {
    **dict.fromkeys(_ORDERING, compare_by_order),
    **dict.fromkeys(_EQUATING, compare_by_equality),
    **dict.fromkeys(_EXTREMES, _extreme),
    **dict.fromkeys(_OF_TEXTS, _check_again),
    **dict.fromkeys((exp.Anonymous, exp.AnonymousAggFunc, exp.Summarize), _check_call),
    exp.Ordered: _ordered,
    exp.DPipe: _joined,
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _united),
}
