"""Texts that are compared with values in Apache Hive, which reads more into some than others do.

A text beside a number or a moment is read as one; '2024-01-01 10:00' is midnight to Hive, and '1d'
is one. What it would read otherwise may be compared with texts only, which the server checks. Pure.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.stores.hive.refused import only_if, refused

_SURE = re.compile(
    r"-?[0-9]{1,15}([.][0-9]{1,9})?"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?"
)
_READ = re.compile(r"\s*[-+]?[.]?([0-9]|nan|inf)|(t|f|y|n|true|false|yes|no|on|off)$", re.I)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
COMPARED = (*_COMPARISONS, exp.In, exp.Between)


def guard_compared(node: exp.Expr) -> None:
    """Let a comparison with a text that Hive reads in its own way fail unless it is of texts."""
    if isinstance(node, _COMPARISONS):
        pairs = [(node.this, [node.expression]), (node.expression, [node.this])]
    elif isinstance(node, exp.Between):
        pairs = [(node.this, [node.args["low"], node.args["high"]])]
    else:
        pairs = [(node.this, node.expressions)]
    for value, others in pairs:
        if not any(map(_is_odd, others)) or _is_text(value):
            continue
        if value.find(exp.Column) is None:
            raise refused("a constant compared with such a text")
        value.replace(_text_only(value.copy()))


def _is_odd(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Literal)
        and node.is_string
        and _READ.match(node.name) is not None
        and _SURE.fullmatch(node.name) is None
    )


def _is_text(value: exp.Expr) -> bool:
    return isinstance(value, exp.Literal) and value.is_string


def _text_only(value: exp.Expr) -> exp.Expr:
    # What is known beforehand Hive does not check, so the value itself is part of the condition.
    shown = exp.Cast(this=value.copy(), to=exp.DataType.build("STRING"))
    kind = exp.Anonymous(this="typeof", expressions=[value])
    both = exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string(" "), kind, shown])
    known = exp.RegexpLike(this=both, expression=exp.Literal.string("^(string|varchar|char)"))
    return only_if(known, value.copy())
