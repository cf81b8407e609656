"""PostgreSQL's functions of bits by their digits, for stores that lack them. Pure.

position(B'01' in b)                 where the bits begin, from 1
overlay(b placing B'1' from 2)       other bits in the place of some
substring(b from 2 for 3)            the bits from there
b::bit(4)                            the first four, or zeros behind what there is
44::bit(4)                           the last four
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.value_kinds import WHOLE_KINDS
from rewriter.reading.value_types import ValueTypes


def are_bits(value: exp.Expr, types: ValueTypes) -> bool:
    """True for what is known to be of the type BIT."""
    return (types.of(value).kind or "").partition("(")[0] == "BIT"


def place_of_bits(whole: exp.Expr, part: exp.Expr) -> exp.Expr:
    """``position(part in whole)``; no bits are at 1, but for no bits, in which nothing is."""
    digits, sought = _digits(whole), _digits(part)
    return fill(
        "CASE WHEN d = '' THEN 0 ELSE CAST(strpos(d, s) AS INTEGER) END", d=digits, s=sought
    )


def overlaid_bits(
    whole: exp.Expr, new: exp.Expr, start: exp.Expr, size: exp.Expr | None
) -> exp.Expr:
    """``overlay(whole placing new from start for size)``."""
    digits = _digits(new)
    sql = "CAST(substr(d, 1, n - 1) || p || substr(d, n + m) AS BIT)"
    length = fill("length(p)", p=digits) if size is None else exp.paren(size.copy())
    return fill(sql, d=_digits(whole), p=digits, n=exp.paren(start.copy()), m=length)


def part_of_bits(whole: exp.Expr, start: exp.Expr | None, size: exp.Expr | None) -> exp.Expr:
    """``substring(whole from start for size)``, which may begin before the first bit."""
    first = exp.paren(start.copy()) if start is not None else exp.Literal.number(1)
    parts = {"d": _digits(whole), "n": first}
    if size is None:
        return fill("CAST(substr(d, greatest(n, 1)) AS BIT)", **parts)
    sql = "CAST(substr(d, greatest(n, 1), greatest(n + m - greatest(n, 1), 0)) AS BIT)"
    return fill(sql, **parts, m=exp.paren(size.copy()))


def cast_bits(cast: exp.Cast, types: ValueTypes) -> exp.Expr | None:
    """``bits::bit(n)`` and ``44::bit(n)``, where BIT alone is one bit; None for other values."""
    value, sizes = cast.this, cast.to.expressions
    size = sizes[0].this if sizes else exp.Literal.number(1)
    if are_bits(value, types) or (value.is_string and sizes):
        return fill("CAST(rpad(substr(d, 1, n), n, '0') AS BIT)", d=_digits(value), n=size)
    if sizes and types.of(value).kind in WHOLE_KINDS:
        return fill("CAST(right(CAST(CAST(x AS BIT) AS VARCHAR), n) AS BIT)", x=value, n=size)
    return None


def _digits(bits: exp.Expr) -> exp.Expr:
    """The text of bits; of a constant the text that it was written as, which may be empty."""
    if isinstance(bits, exp.BitString) or bits.is_string:
        return exp.Literal.string(bits.name)
    if isinstance(bits, exp.Cast) and bits.this.is_string:
        text: exp.Expr = bits.this.copy()
        return text
    return fill("CAST(b AS VARCHAR)", b=bits)
