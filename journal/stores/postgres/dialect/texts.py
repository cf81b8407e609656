"""Functions of texts and bytes that PostgreSQL has under another name or form. Pure."""

from __future__ import annotations

import re
from functools import partial, reduce

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, refused, template
from journal.sql.dialects import IN_POSTGRES

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
_EMBEDDED = re.compile(r"\(\?[a-z]+\)")
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
    """A pattern within brackets, which its options stand before."""
    said = _EMBEDDED.match(pattern.name) if pattern.is_string else None
    if said is not None:
        before, pattern = said[0] + before, exp.Literal.string(pattern.name[said.end() :])
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
_EACH = _extract(
    "ARRAY(SELECT CASE WHEN {0} <= CARDINALITY(m) THEN m[{0}]"
    " ELSE _palimpsest.fail('the pattern has fewer groups than ' || {0} - 1)::TEXT END"
    " FROM REGEXP_MATCHES(x, p, 'g') AS r(m))"
)


def _matches_whole(node: exp.Expr) -> exp.Expr | None:
    if node.args.get("options") is not None:
        return _OPTIONS(node)
    whole = _within("^(?:", node.expression, ")$")
    return exp.Paren(this=exp.RegexpLike(this=node.this, expression=whole))


_NO_GLOB = refused("PostgreSQL", "GLOB with a computed pattern", "use a regular expression")
_GLOB = re.compile(r"\*|\?|\[!?\]?[^\]]*\]|\\.|.", re.S)


def matches_glob(node: exp.Expr) -> exp.Expr | None:
    """``GLOB`` with a pattern that is written out, as a regular expression."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return _NO_GLOB(node)
    parts = [_glob_part(found[0]) for found in _GLOB.finditer(pattern.name)]
    regexp = exp.Literal.string(f"^(?:{''.join(parts)})$")
    return exp.Paren(this=exp.RegexpLike(this=node.this, expression=regexp))


def _glob_part(part: str) -> str:
    """A part of a pattern of GLOB in a regular expression."""
    if part in {"*", "?"}:
        return ".*" if part == "*" else "."
    if part.startswith("[") and len(part) > 1:
        negated = part.startswith("[!")
        inner = part[2 if negated else 1 : -1].replace("\\", "\\\\")
        return f"[{'^' if negated else ''}{inner}]"
    return re.escape(part[-1])


_BRACES = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
_PERCENT = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")
_NO_FORMAT = refused(
    "PostgreSQL", "format() and printf() with more than {}, %s and %d", "join the parts with ||"
)


def _filled(how: re.Pattern[str], places: frozenset[str], escapes: dict[str, str]) -> Change:
    """Puts values into a text that is written out; NULL if one of them is NULL."""

    def change(node: exp.Expr) -> exp.Expr | None:
        pattern, *values = (
            node.expressions if isinstance(node, exp.Anonymous) else [node.this, *node.expressions]
        )
        if not isinstance(pattern, exp.Literal) or not pattern.is_string:
            return _NO_FORMAT(node)
        text, end = pattern.name, 0
        parts: list[exp.Expr] = []
        for found in how.finditer(text):
            parts.append(exp.Literal.string(text[end : found.start()]))
            end = found.end()
            if found[0] in escapes:
                parts.append(exp.Literal.string(escapes[found[0]]))
            elif found[0] in places and values:
                parts.append(exp.cast(exp.paren(values.pop(0)), "TEXT"))
            else:
                return _NO_FORMAT(node)
        parts.append(exp.Literal.string(text[end:]))
        kept = [part for part in parts if not (part.is_string and not part.name)]
        return exp.paren(reduce(_joined, kept or parts[:1]), copy=False)

    return change


def _joined(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.DPipe(this=left, expression=right)


_fill_braces = _filled(_BRACES, frozenset({"{}"}), {"{{": "{", "}}": "}"})


def _format(node: exp.Expr) -> exp.Expr | None:
    """With braces; with ``%s`` it is PostgreSQL's own."""
    pattern = node.this
    is_own = isinstance(pattern, exp.Literal) and "{" not in pattern.name
    return None if is_own else _fill_braces(node)


_PADDED = _template(
    "CASE WHEN LENGTH(x) < n THEN _palimpsest.fail('there is nothing to pad with')::TEXT"
    " ELSE LEFT(x, GREATEST(n, 0)) END",
    *("x", "n"),
)


def _padded(node: exp.Expr) -> exp.Expr | None:
    """A text cannot be made longer with an empty one, but in PostgreSQL's own words."""
    if IN_POSTGRES in node.meta:
        return None
    filling = node.args.get("fill_pattern")
    is_empty = isinstance(filling, exp.Literal) and not filling.name
    return _PADDED(call("", node.this, node.expression)) if is_empty else None


_fill_percents = _filled(_PERCENT, frozenset({"%s", "%d"}), {"%%": "%"})
BY_NAME: dict[str, Change] = {
    "printf": _fill_percents,
    "unicode": _CODE,
    "ord": _CODE,
    "sha256": _template("ENCODE(SHA256(CONVERT_TO(x, 'UTF8')), 'hex')", "x"),
    "editdist3": lambda node: call("levenshtein", *node.expressions),
    "prefix": _template("STARTS_WITH(x, y)", "x", "y"),
    "suffix": _ENDS,
    "base64": _BASE64,
}
BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.Contains: _template("STRPOS(x, y) > 0", "x", "y"),
    exp.Decode: _template("CONVERT_FROM(x, 'UTF8')", "x"),
    exp.Encode: _template("CONVERT_TO(x, 'UTF8')", "x"),
    exp.EndsWith: _ENDS,
    exp.Format: _format,
    exp.FromBase64: _template("DECODE(x, 'base64')", "x"),
    exp.Pad: _padded,
    exp.RegexpExtract: _FIRST,
    exp.RegexpExtractAll: _EACH,
    exp.RegexpFullMatch: _matches_whole,
    exp.RegexpSplit: _template("REGEXP_SPLIT_TO_ARRAY(x, y)", "x", "y"),
    exp.Split: _PLAIN,
    exp.Substring: _substring,
    exp.Hex: lambda node: call("hex", node.this),
    exp.LowerHex: _template("ENCODE(x, 'hex')", "x"),
    exp.ToBase64: _BASE64,
    exp.ToBinary: lambda node: call("bin", node.this),
    exp.Unhex: _template("DECODE(x, 'hex')", "x"),
}
