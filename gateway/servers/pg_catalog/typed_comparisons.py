"""Comparisons of columns with constants, as PostgreSQL spells them by the columns' types. Pure.

kind IN ('a', 'b')      (kind = ANY (ARRAY['a'::text, 'b'::text]))
code <> 'x'             ((code)::text <> 'x'::text), of character varying
price > 0               (price > (0)::numeric)
name LIKE 'a%'          (name ~~ 'a%'::text)
n BETWEEN 1 AND 5       ((n >= 1) AND (n <= 5))

What is compared otherwise, or of other types, is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from gateway.servers.pg_catalog.definitions import quote_name

_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "~~",
    exp.ILike: "~~*",
}
_KINDS: tuple[type[exp.Expr], ...] = (*_SIGNS, exp.In, exp.Between)
_TEXTS = frozenset({"text", "character varying", "character"})
_WHOLE = frozenset({"smallint", "integer", "bigint"})
_FLOATS = frozenset({"real", "double precision"})
_OF_TEXTS = frozenset({"date", "uuid"})
"""Types of which texts are written as they are."""


def spell_comparisons(holder: exp.Expr, kinds: Mapping[str, str]) -> None:
    """Spell those in a tree, in place; ``kinds`` are the types of columns by name."""
    for node in reversed(list(holder.find_all(*_KINDS))):
        negation = node.parent if isinstance(node.parent, exp.Not) else None
        is_told = node.args.get("negate") and isinstance(node, exp.Like | exp.ILike)
        made = _text_of(node, kinds, is_not=bool(negation or is_told))
        if made is not None and not isinstance(node.parent, exp.Escape):
            place = (None if is_told else negation) or node
            place = place.parent if isinstance(place.parent, exp.Paren) else place
            place.replace(exp.Var(this=made))


def _text_of(node: exp.Expr, kinds: Mapping[str, str], *, is_not: bool) -> str | None:
    if isinstance(node, exp.Between):
        low, high = node.args["low"], node.args["high"]
        signs, word = (("<", ">"), "OR") if is_not else ((">=", "<="), "AND")
        parts = [
            _compared(node.this, sign, value, kinds)
            for sign, value in zip(signs, (low, high), strict=True)
        ]
        return None if None in parts else f"({parts[0]} {word} {parts[1]})"
    if isinstance(node, exp.In):
        values = node.expressions
        if len(values) == 1:
            return _compared(node.this, "<>" if is_not else "=", values[0], kinds)
        return _listed(node.this, values, kinds, is_not=is_not)
    sign = _SIGNS[type(node)]
    if is_not:
        # A NOT before LIKE is part of it, and no other is.
        return _compared(node.this, f"!{sign}", node.expression, kinds) if "~" in sign else None
    return _compared(node.this, sign, node.expression, kinds)


def _compared(left: exp.Expr, sign: str, right: exp.Expr, kinds: Mapping[str, str]) -> str | None:
    kind = _kind(left, kinds)
    if kind is None and "~" not in sign and (other := _kind(right, kinds)) is not None:
        constant = _constant(left, _base(other))
        return None if constant is None else f"({constant} {sign} {_column(right, other)})"
    constant = None if kind is None else _constant(right, _base(kind))
    if kind is None or constant is None or ("~" in sign and kind not in _TEXTS):
        return None
    return f"({_column(left, kind)} {sign} {constant})"


def _listed(
    left: exp.Expr, values: Sequence[exp.Expr], kinds: Mapping[str, str], *, is_not: bool
) -> str | None:
    kind = _kind(left, kinds)
    constants = [] if kind is None else [_constant(v, kind, is_listed=True) for v in values]
    texts = [text for text in constants if text is not None]
    if kind is None or not texts or len(texts) != len(values):
        return None
    array = f"ARRAY[{', '.join(texts)}]"
    array = f"({array})::text[]" if kind == "character varying" else array
    return f"({_column(left, kind)} {'<> ALL' if is_not else '= ANY'} ({array}))"


def _kind(node: exp.Expr, kinds: Mapping[str, str]) -> str | None:
    node = node.unnest()
    return kinds.get(node.name) if isinstance(node, exp.Column) else None


def _base(kind: str) -> str:
    """The type that values of a type are compared as."""
    return "text" if kind == "character varying" else kind


def _column(node: exp.Expr, kind: str) -> str:
    name = quote_name(node.unnest().name)
    return f"({name})::text" if kind == "character varying" else name


def _constant(node: exp.Expr, kind: str, *, is_listed: bool = False) -> str | None:
    """A constant beside values of a type; None for what is none, or of another type."""
    node = node.unnest()
    if isinstance(node, exp.Cast) and node.to.this is exp.DType.ENUM and node.this.is_string:
        return f"{node.this.sql(dialect='postgres')}::{kind}"
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    if not isinstance(literal, exp.Literal):
        return None
    if literal.is_string:
        if negative or kind not in _TEXTS | _OF_TEXTS:
            return None
        return f"{literal.sql(dialect='postgres')}::{'bpchar' if kind == 'character' else kind}"
    whole = literal.is_int
    number = literal.name
    if negative:
        number = f"'-{number}'::{'integer' if whole else 'numeric'}"
    if kind in _WHOLE:
        widened = is_listed and kind == "bigint"
        return None if not whole else f"({number})::bigint" if widened else number
    if kind == "numeric":
        return f"({number})::numeric" if whole else number
    return f"({number})::double precision" if kind in _FLOATS else None
