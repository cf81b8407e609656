"""Functions of texts that Spark has with another meaning: patterns, parts, and joined values.

    regexp_matches(s, p, 'i')       s RLIKE concat('(?i)', p)
    regexp_replace(s, p, '<\\1>')    the first match alone, and Java writes a group as $1
    left(s, -2)                     all but the last two, where Spark gives nothing
    printf('%d', NULL)              NULL, where Spark writes null

Pure: AST in, AST out.
"""

from __future__ import annotations

import re
from functools import partial

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import refused

_FLAGS = {"i": "i", "s": "s", "m": "m", "n": "m", "p": "m", "c": "", "g": ""}
"""Options of DuckDB's patterns as Java writes them."""
_BEFORE = r"\A([\s\S]*?)(?:"
_MARK = re.compile(r"\\(.)|([\\$])", re.S)
_refuse = partial(refused, "Hive", advice="write the options and the new text as constants")


def matched(node: exp.Expr) -> exp.Expr | None:
    """``regexp_matches`` with options, and ``~*``."""
    flags = "(?i)" if isinstance(node, exp.RegexpILike) else _flags(node, node.args.get("flag"))
    if not flags:
        return None
    return exp.RegexpLike(this=node.this, expression=call("concat", flags, node.expression))


def matched_in_full(node: exp.Expr) -> exp.Expr | None:
    """``regexp_full_match`` and SIMILAR TO."""
    text, pattern, options = node.this, node.args.get("expression"), node.args.get("options")
    if isinstance(node, exp.Anonymous):
        text, pattern, options = (*node.expressions, None)[:3]
    flags = _flags(node, options)
    whole = call("concat", rf"{flags}\A(?:", pattern, r")\z")
    return exp.Paren(this=exp.RegexpLike(this=text, expression=whole))


def replaced(node: exp.Expr) -> exp.Expr | None:
    """``regexp_replace``: of the first match, or with the option g of all."""
    options = node.args.get("modifiers")
    flags = _flags(node, options)
    is_first = options is None or "g" not in options.name
    text, pattern, new = node.this, node.expression, node.args["replacement"]
    if not new.is_string:
        if is_first:
            return _refuse("regexp_replace of the first match by a text that is computed")(node)
        quoted = call("replace", new, "$", r"\$")
        new = call("regexp_replace", quoted, r"\\([0-9])", r"\$$1")
    else:
        new = exp.Literal.string(_written_for_java(new.name, 1 if is_first else 0))
    if is_first:
        before = exp.Literal.string(flags + _BEFORE)
        return call("regexp_replace", text, call("concat", before, pattern, ")"), new)
    return call("regexp_replace", text, call("concat", flags, pattern) if flags else pattern, new)


def _written_for_java(text: str, groups_before: int) -> str:
    """What stands for the matches; behind a group that is put in front, others count on."""

    def mark(found: re.Match[str]) -> str:
        named, sign = found.groups()
        if sign is not None:
            return "\\" + sign
        return f"${int(named) + groups_before}" if named.isdigit() else "\\" + named

    return "$1" * groups_before + _MARK.sub(mark, text)


def _flags(node: exp.Expr, options: exp.Expr | None) -> str:
    """Options in front of a Java pattern."""
    if options is None:
        return ""
    if not options.is_string or any(letter not in _FLAGS for letter in options.name):
        _refuse(f"pattern with the options {options.sql(dialect='duckdb')}")(node)
    letters = "".join(sorted({_FLAGS[letter] for letter in options.name}))
    return f"(?{letters})" if letters else ""


def split_by_pattern(node: exp.Expr) -> exp.Expr | None:
    """A list of what stands between matches; empty texts at the end as well."""
    if len(node.expressions) != 2:
        return None
    return call("split", *node.expressions, -1)


def format_values(node: exp.Expr) -> exp.Expr | None:
    """``printf``, which is NULL if a value is."""
    values = [value for value in node.expressions if not isinstance(value, exp.Literal)]
    made = call("format_string", *node.expressions)
    if not values:
        return made
    missing = exp.or_(*[exp.Is(this=exp.paren(v.copy()), expression=exp.Null()) for v in values])
    return exp.Case().when(missing, exp.Null()).else_(made)


def character(node: exp.Expr) -> exp.Expr | None:
    """``chr`` of any code point, where Spark knows those below 256."""
    (code,) = node.expressions
    if code.is_int and int(code.name) > 0:
        return exp.Literal.string(chr(int(code.name)))
    return fill("decode(unhex(lpad(hex(CAST(n AS BIGINT)), 8, '0')), 'UTF-32')", "spark", n=code)


def left_part(node: exp.Expr) -> exp.Expr | None:
    """The first signs, or all but the last ones."""
    count = "substring(s, 1, greatest(length(s) + (n), 0))"
    return _part(node, count)


def right_part(node: exp.Expr) -> exp.Expr | None:
    """The last signs, or all but the first ones."""
    return _part(node, "substring(s, 1 - (n))")


def _part(node: exp.Expr, negative: str) -> exp.Expr | None:
    if node.expression.is_int and not isinstance(node.expression, exp.Neg):
        return None
    made = f"CASE WHEN (n) < 0 THEN {negative} ELSE plain END"
    return fill(made, "spark", s=node.this, n=node.expression, plain=node.copy())


def substring(node: exp.Expr) -> exp.Expr | None:
    """A part from a place before the first sign, of which it has the less."""
    start, length = node.args.get("start"), node.args.get("length")
    if start is None or length is None or isinstance(start, exp.Neg):
        return None
    if isinstance(start, exp.Literal) and start.name != "0":
        return None
    made = "CASE WHEN (n) = 0 THEN substring(s, 1, greatest((m) - 1, 0)) ELSE plain END"
    return fill(made, "spark", s=node.this, n=start, m=length, plain=node.copy())


def join_values(node: exp.Expr) -> exp.Expr | None:
    """The texts of values, where NULL adds nothing."""
    if not node.args.get("coalesce"):
        return None
    for value in list(node.expressions):
        if not value.is_string:
            value.replace(exp.cast(value.copy(), "STRING", dialect="spark"))
    return None
