"""Functions of texts and bytes that PostgreSQL has under another name or form. Pure."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, refused, template

_template = partial(template, "postgres")
_CODE = _template("CASE WHEN x = '' THEN -1 ELSE ASCII(x) END", "x")
_ENDS = _template("RIGHT(x, LENGTH(y)) = y", "x", "y")
_BASE64 = _template("REPLACE(ENCODE(x, 'base64'), CHR(10), '')", "x")
_PLAIN = _template(
    "CASE WHEN x = '' THEN ARRAY[''] WHEN NOT x IS NULL AND y IS NULL THEN ARRAY[x]"
    " ELSE STRING_TO_ARRAY(x, NULLIF(y, '')) END",
    "x",
    "y",
)
_OPTIONS = refused("PostgreSQL", "options of regular expressions here", "write (?i) in the pattern")
_NAMED = refused("PostgreSQL", "named or computed groups", "give the number of one group")


def _substring(node: exp.Expr) -> exp.Expr | None:
    """A place below zero is counted from the end."""
    start = node.args.get("start")
    if start is None or isinstance(start, exp.Literal):
        return None
    from_end = "CASE WHEN (n) < 0 THEN size + 1 + (n) ELSE n END"
    node.set("start", fill(from_end, n=start, size=call("length", node.this)))
    return None


def _within(before: str, pattern: exp.Expr, after: str) -> exp.Expr:
    return fill("(before || (p) || after)", before=before, p=pattern, after=after)


def _extract(found: str) -> Change:
    """What a pattern or one of its groups matches; groups are counted within brackets around it."""

    def change(node: exp.Expr) -> exp.Expr | None:
        if node.args.get("parameters") is not None or node.args.get("position") is not None:
            return _OPTIONS(node)
        group = node.args.get("group")
        if group is not None and not (isinstance(group, exp.Literal) and group.is_int):
            return _NAMED(node)
        number = 1 + (0 if group is None else int(group.name))
        case = f"CASE WHEN NOT x IS NULL AND NOT p IS NULL THEN {found.format(number)} END"
        given = [node.this, _within("(", node.expression, ")")]
        return _template(case, "x", "p")(exp.Anonymous(this="", expressions=given))

    return change


_FIRST = _extract("COALESCE((REGEXP_MATCH(x, p))[{}], '')")
_EACH = _extract("ARRAY(SELECT COALESCE(m[{}], '') FROM REGEXP_MATCHES(x, p, 'g') AS r(m))")


def _matches_whole(node: exp.Expr) -> exp.Expr | None:
    if node.args.get("options") is not None:
        return _OPTIONS(node)
    whole = _within("^(?:", node.expression, ")$")
    return exp.Paren(this=exp.RegexpLike(this=node.this, expression=whole))


BY_NAME: dict[str, Change] = {
    "unicode": _CODE,
    "ord": _CODE,
    "sha256": _template("ENCODE(SHA256(CONVERT_TO(x, 'UTF8')), 'hex')", "x"),
    "prefix": _template("STARTS_WITH(x, y)", "x", "y"),
    "suffix": _ENDS,
    "base64": _BASE64,
}
BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.Contains: _template("STRPOS(x, y) > 0", "x", "y"),
    exp.Decode: _template("CONVERT_FROM(x, 'UTF8')", "x"),
    exp.Encode: _template("CONVERT_TO(x, 'UTF8')", "x"),
    exp.EndsWith: _ENDS,
    exp.FromBase64: _template("DECODE(x, 'base64')", "x"),
    exp.RegexpExtract: _FIRST,
    exp.RegexpExtractAll: _EACH,
    exp.RegexpFullMatch: _matches_whole,
    exp.RegexpSplit: _template("REGEXP_SPLIT_TO_ARRAY(x, y)", "x", "y"),
    exp.Split: _PLAIN,
    exp.Substring: _substring,
    exp.LowerHex: _template("ENCODE(x, 'hex')", "x"),
    exp.ToBase64: _BASE64,
    exp.Unhex: _template("DECODE(x, 'hex')", "x"),
}
