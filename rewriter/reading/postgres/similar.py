r"""SQL's regular expressions as PostgreSQL reads them. Pure.

s SIMILAR TO '(a|b)%'                  regexp_full_match(s, '(?s)(?:(a|b).*)')
s SIMILAR TO p                         the same with a pattern that is made of p
substring(s SIMILAR 'a#"%#"c' ESCAPE '#')   what the middle of the pattern matches

DuckDB takes the pattern of SIMILAR TO for a regular expression, in which % and _ stand for
themselves. A backslash makes signs literal, and letters what they are in regular expressions, as in
PostgreSQL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.quoting import not_here

_WILD = {"%": ".*", "_": "."}
_LITERAL = frozenset(".^$\\")
_PARTS_MOST = 3
_SPLIT = r"(?s)\\.|\[(?:\\.|[^\]\\])*\]|."
_COMPUTED = r"""'(?s)(?:' || array_to_string(list_transform(regexp_extract_all(p, split), LAMBDA s:
CASE WHEN s = '%' THEN '.*' WHEN s = '_' THEN '.' WHEN s IN ('.', '^', '$') THEN '\' || s
WHEN s IN ('\', '\"') THEN '' WHEN s IN ('\ ', '\_', '\%') THEN substr(s, 2) ELSE s END), '')
|| ')'"""
"""The regular expression that a computed pattern means, sign by sign."""
_BACKSLASHED = r"""array_to_string(list_transform(regexp_extract_all(p, split), LAMBDA s:
CASE WHEN s = '\' THEN '\\' WHEN length(s) = 1 THEN s
ELSE '\' || substr(s, 2) END), '')"""
"""A computed pattern with a backslash in the place of another sign that escapes, or of none."""
_MIDDLE = (
    "list_extract(list_filter(list_transform(range(0, length(s) + 1), LAMBDA i:"
    " CASE WHEN regexp_full_match(left(s, i), a) AND regexp_full_match(substr(s, i + 1), bc)"
    " THEN substr(s, i + 1) END), LAMBDA r: r IS NOT NULL), 1)"
)
"""What is left behind the shortest part that the first pattern matches."""
_LONGEST = (
    "list_extract(list_filter(list_transform(range(length(r), -1, -1), LAMBDA j:"
    " CASE WHEN regexp_full_match(left(r, j), b) AND regexp_full_match(substr(r, j + 1), c)"
    " THEN left(r, j) END), LAMBDA m: m IS NOT NULL), 1)"
)
"""The longest beginning of it that the second one matches, and the third one the rest."""


def is_similar_with_escape(node: exp.Expr) -> bool:
    """True for ``s SIMILAR TO p ESCAPE '!'``."""
    return isinstance(node, exp.Escape) and isinstance(node.this, exp.SimilarTo)


def spell_similar_with_escape(node: exp.Expr) -> None:
    """Put a pattern that a backslash escapes in the place of one with another sign, or none.

    Raises NOT_SUPPORTED for a sign that is computed.
    """
    pattern, sign = node.this.expression, node.expression
    if isinstance(sign, exp.Null):
        pattern.replace(exp.null())
    elif not sign.is_string:
        raise not_here(node.this, "SIMILAR TO with a computed ESCAPE", "take a constant")
    elif pattern.is_string:
        pattern.replace(exp.Literal.string(backslashed(pattern.name, _sign(sign))))
    elif _sign(sign) != "\\":
        split = f"(?s){re.escape(sign.name)}.|." if sign.name else "(?s)."
        pattern.replace(fill(_BACKSLASHED, p=exp.paren(pattern.copy()), split=split))
    node.replace(node.this)


def _sign(escape: exp.Expr) -> str:
    if len(escape.name) > 1:
        raise PalimpsestError(
            Code.DATA,
            "invalid escape string",
            advice="an escape is one sign, or none",
            position=position_of(escape),
        )
    return escape.name


def backslashed(pattern: str, escape: str) -> str:
    """A pattern with a backslash in the place of another sign that escapes.

    >>> backslashed("a#%b#c", "#")
    'a\\\\%bc'
    """
    made, signs = "", iter(pattern)
    for one in signs:
        escaped = next(signs, one) if one == escape else None
        if escaped is not None:
            made += f"\\{escaped}"
        else:
            made += "\\\\" if one == "\\" else one
    return made


def spell_similar(node: exp.Expr, _: Sequence[exp.Expr]) -> exp.Expr | None:
    """The same as a match of the whole text."""
    pattern = node.expression
    if isinstance(pattern, exp.Null):
        return exp.cast(exp.null(), "BOOLEAN")
    if isinstance(pattern, exp.Literal) and pattern.is_string:
        return call("regexp_full_match", node.this, expression_of(pattern.name))
    made = fill(_COMPUTED, p=exp.paren(pattern.copy()), split=_SPLIT)
    return call("regexp_full_match", node.this, made)


def expression_of(pattern: str) -> str:
    r"""The regular expression that matches the same texts.

    >>> expression_of("(a|b)%c.d\\%")
    '(?s)(?:(a|b).*c\\.d%)'
    """
    made, in_brackets, signs = "", False, iter(pattern)
    for sign in signs:
        if sign == "\\":
            following = next(signs, sign)
            if following == '"':
                # It parts the text for substring(), and says nothing here.
                continue
            made += following if following in " _%" else f"\\{following}"
        elif in_brackets:
            in_brackets = sign != "]"
            made += sign
        elif sign == "[":
            in_brackets = True
            made += sign
        else:
            made += _WILD.get(sign) or (f"\\{sign}" if sign in _LITERAL else sign)
    return f"(?s)(?:{made})"


def spell_part(node: exp.Expr) -> exp.Expr:
    """``substring(s SIMILAR p ESCAPE e)``, the longest part that the middle of p matches, behind
    the shortest one that its beginning matches.

    Raises NOT_SUPPORTED for a pattern that is computed, DATA for one of more parts.
    """
    text, *given = node.this, *(_bare(node.args[name]) for name in ("start", "length"))
    if any(isinstance(one, exp.Null) for one in (text, *given)):
        return exp.cast(exp.null(), "VARCHAR")
    pattern, escape = given
    if not (pattern.is_string and escape.is_string):
        raise not_here(node, "substring() by a computed pattern with ESCAPE", "take constants")
    parts = _parts(pattern.name, _sign(escape))
    if len(parts) > _PARTS_MOST:
        raise PalimpsestError(
            Code.DATA,
            "SQL regular expression may not contain more than two escape-double-quote separators",
            advice="mark the begin and the end of one part",
            position=position_of(node),
        )
    if len(parts) == 1:
        whole = expression_of(backslashed(pattern.name, escape.name))
        return fill("CASE WHEN regexp_full_match(s, p) THEN s END", s=text, p=whole)
    first, middle, last = [*parts, ""][:_PARTS_MOST]
    a, b, c = (expression_of(backslashed(part, escape.name)) for part in (first, middle, last))
    rest = fill(_MIDDLE, s=exp.paren(text.copy()), a=a, bc=b + c.removeprefix("(?s)"))
    return fill(_LONGEST, r=exp.paren(rest), b=b, c=c)


def _bare(value: exp.Expr) -> exp.Expr:
    """The constant that is cast to a text."""
    is_text = isinstance(value, exp.Cast) and value.to.this is exp.DType.TEXT
    return value.this if is_text else value


def _parts(pattern: str, escape: str) -> list[str]:
    """What stands between the quotes that are escaped."""
    found, signs = [""], iter(pattern)
    for sign in signs:
        following = next(signs, "") if sign == escape else None
        if following == '"':
            found.append("")
        else:
            found[-1] += sign + (following or "")
    return found
