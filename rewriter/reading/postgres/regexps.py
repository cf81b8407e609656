r"""Regular expressions as PostgreSQL reads them, for stores that read others. Pure.

.                      any sign, the end of a line as well
\w, [[:alpha:]]        letters of all languages
\m, \M, \y             the begin and the end of a word
\b                     a backspace
regexp_count(t, p), regexp_substr(t, p, 1, 2), regexp_instr(t, p)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.regexp_shapes import group_places
from rewriter.reading.value_types import ValueTypes

_CLASSES = {
    "[:alpha:]": r"\p{L}",
    "[:alnum:]": r"\p{L}\p{N}",
    "[:upper:]": r"\p{Lu}",
    "[:lower:]": r"\p{Ll}",
}
_WORD = r"\p{L}\p{N}_"
_ESCAPES = {
    "w": f"[{_WORD}]", "W": f"[^{_WORD}]", "m": r"\b", "M": r"\b", "y": r"\b", "Y": r"\B",
    "Z": r"\z", "b": r"\x08", "B": r"\\",
}  # fmt: skip
_INSIDE = {"w": _WORD, **{escape: _ESCAPES[escape] for escape in "bB"}}
"""Those that have a meaning within brackets."""
_SIGN = re.compile(r"\\(?P<escape>.)|(?P<named>\[:\w+:\])|(?P<other>.)", re.S)
_OPTIONS = re.compile(r"\(\?([a-z]+)\)")
_REFERENCE = re.compile(r"\\(.|$)", re.S)
OF_LINES = frozenset("nmpwx")
"""Flags under which a line has an end, and blanks do not count."""
_TEXTS = re.compile(r"[^\\\[\](){}*+?|.^$]+(\|[^\\\[\](){}*+?|.^$]+)+")
"""Texts of which one is sought."""


def pattern_of(pattern: exp.Expr) -> exp.Expr:
    """A pattern in the words of the store; one that is computed reads ends of lines alone."""
    if pattern.is_string:
        return exp.Literal.string(expression_in_store(pattern.name))
    if isinstance(pattern, exp.Null):
        return pattern.copy()
    return fill("'(?s)' || p", p=exp.paren(pattern.copy()))


def expression_in_store(pattern: str) -> str:
    r"""A constant pattern in the words of the store.

    >>> expression_in_store(r"\mword.[[:alpha:]]\w")
    '(?s)\\bword.[\\p{L}][\\p{L}\\p{N}_]'
    """
    if _TEXTS.fullmatch(pattern):
        # Of several that begin alike, PostgreSQL finds the longest.
        return "|".join(sorted(pattern.split("|"), key=len, reverse=True))
    options = _OPTIONS.match(pattern)
    if options is not None and set(options[1]) & OF_LINES:
        return pattern
    made, has_dot, since = "", False, -1
    for found in _SIGN.finditer(pattern):
        escape, named, sign = found["escape"], found["named"], found["other"]
        is_inside = since >= 0
        if escape is not None:
            special = _ESCAPES.get(escape)
            if special is not None and is_inside:
                special = _INSIDE.get(escape)
            made += special or found[0]
        elif named is not None and is_inside:
            made += _CLASSES.get(named, named)
        elif named is not None:
            # Outside of brackets it is one of these signs.
            made += named
        else:
            if not is_inside and sign == "[":
                since = len(made)
            elif is_inside and sign == "]" and made[since + 1 :] not in {"", "^"}:
                since = -1
            has_dot = has_dot or (sign == "." and not is_inside)
            made += sign
    return f"(?s){made}" if has_dot else made


def spell_match(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``t ~ p``, ``regexp_replace`` and ``regexp_like``; None where nothing is to be changed."""
    flags = node.args.get("modifiers") or node.args.get("flag")
    pattern = node.expression
    if flags is not None and not (flags.is_string and not set(flags.name) & OF_LINES):
        return None
    made = node.copy()
    made.set("expression", pattern_of(pattern))
    replacement = node.args.get("replacement")
    if replacement is not None and replacement.is_string:
        made.set("replacement", exp.Literal.string(_REFERENCE.sub(_reference, replacement.name)))
    return None if made == node else made


def _reference(found: re.Match[str]) -> str:
    """What stands for a backslash in a replacement, and the sign behind it."""
    sign = found[1]
    if sign == "&":
        return "\\0"
    return found[0] if sign in {"\\", *"123456789"} else f"\\\\{sign}"


_NO_SIGN = frozenset({"", "()", "(?:)"})
_MAYBE = re.compile(r"(\(.+\)|\[[^\]]+\]|\\?.)([*?])", re.S)
"""What may stand once, or any number of times."""
_SIGNS = (
    "CASE WHEN t = '' THEN [''] ELSE flatten(list_transform(range(1, len(l) + 2), LAMBDA i:"
    " CASE WHEN i <= len(l) AND NOT regexp_full_match(list_extract(l, i), p)"
    " THEN [list_extract(l, i)]"
    " WHEN i = 1 OR regexp_full_match(list_extract(l, i - 1), p) THEN [''] ELSE [] END)) END"
)
"""The signs of a text, apart from matches, and the empty texts between and around matches."""


def spell_split(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``regexp_split_to_array(t, p)`` and ``_table``.

    Raises NOT_SUPPORTED for a p that may be empty, and is neither ``x*`` nor ``x?``.
    """
    if len(arguments) != 2:
        return None
    text, pattern = arguments
    if not pattern.is_string or not _may_be_empty(pattern.name):
        return call(function_name(node), text, pattern_of(pattern))
    if pattern.name in _NO_SIGN:
        return call(function_name(node), text, "")
    found = _MAYBE.fullmatch(pattern.name)
    if found is None or _may_be_empty(found[1]) or not _is_one(found[1]):
        advice = "write + for *"
        raise not_here(node, "a split by a pattern that matches the empty text", advice)
    wanted = expression_in_store(found[1] + ("+" if found[2] == "*" else ""))
    given = exp.paren(text.copy())
    signs = fill("regexp_extract_all(t, p)", t=given, p=f"(?s){wanted}|.")
    made = fill(_SIGNS, t=given, l=signs, p=wanted)
    return made if function_name(node).endswith("array") else exp.Explode(this=made)


def _is_one(pattern: str) -> bool:
    """True for a sign, or brackets that close at the end."""
    depth = 0
    for place, sign in enumerate(pattern):
        depth += (sign in "([") - (sign in ")]")
        if depth == 0 and place < len(pattern) - 1 and pattern[0] in "([":
            return False
    return depth == 0 or pattern[0] == "\\"


def _may_be_empty(pattern: str) -> bool:
    try:
        return re.match(pattern, "") is not None
    except re.error:
        return False


def _placed(node: exp.Expr, names: Sequence[str], place: str) -> dict[str, exp.Expr]:
    """The arguments of a call by name, with the text from its start on; raises NOT_SUPPORTED."""
    given = {name: node.args[name] for name in names if node.args.get(name) is not None}
    pattern, start = node.expression, given.get(place)
    flags = given.get("parameters")
    is_plain = flags is None or (flags.is_string and not set(flags.name) & OF_LINES)
    if not pattern.is_string or not is_plain or (start is not None and "^" in pattern.name):
        raise not_here(
            node,
            "this function with a pattern that is no constant, or flags of lines",
            "use regexp_replace() or substring(t FROM pattern)",
        )
    text: exp.Expr = exp.paren(node.this.copy())
    if start is not None:
        text = fill("substr(t, n)", t=text, n=start)
    flag = exp.Literal.string("i" if flags is not None and "i" in flags.name else "c")
    return {"t": text, "p": pattern_of(pattern), "f": flag, **given}


def spell_count(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``regexp_count(t, p, start, flags)``."""
    parts = _placed(node, ("position", "parameters"), "position")
    sql = "CAST(len(regexp_extract_all(t, p, 0, f)) AS INTEGER)"
    return fill(sql, **{name: parts[name] for name in "tpf"})


def spell_substr(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``regexp_substr(t, p, start, n, flags, group)``; NULL without such a match."""
    parts = _placed(node, ("position", "occurrence", "parameters", "group"), "position")
    group = parts.get("group", exp.Literal.number(0))
    pattern, number = node.expression.name, int(group.name) if group.is_int else -1
    places = {0: False} if number == 0 else group_places(pattern, parts["f"].name == "i")
    if places is None or number < 0:
        raise not_here(node, "regexp_substr() of this group", "take a group that always matches")
    if number and number not in places:
        return exp.cast(exp.null(), "VARCHAR")
    found = fill("regexp_extract_all(t, p, g, f)", g=group, **{n: parts[n] for n in "tpf"})
    nth = parts.get("occurrence", exp.Literal.number(1))
    sql = "NULLIF(list_extract(l, n), '')" if places[number] else "list_extract(l, n)"
    return fill(sql, l=found, n=nth)


def spell_instr(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``regexp_instr(t, p, start, n, end, flags)``: where the n-th match begins or ends, or 0.

    Raises NOT_SUPPORTED for the place of a group.
    """
    names = ("position", "occurrence", "option", "parameters")
    parts = _placed(node, names, "position")
    group = node.args.get("group")
    counts = {name: parts.get(name) for name in ("occurrence", "option")}
    if (group is not None and group.name != "0") or not all(
        one is None or one.is_int for one in counts.values()
    ):
        raise not_here(node, "regexp_instr() of a group", "take the place of the whole match")
    nth = int(counts["occurrence"].name) if counts["occurrence"] is not None else 1
    ends = counts["option"] is not None and counts["option"].name == "1"
    option = "(?is)" if parts["f"].name == "i" else "(?s)"
    before = exp.Literal.string(option + _up_to(parts["p"].name, nth, ends=ends))
    start = parts.get("position", exp.Literal.number(1))
    return fill(
        "CASE WHEN len(regexp_extract_all(t, p, 0, f)) >= n"
        " THEN CAST(length(regexp_extract(t, b, 1)) + s AS INTEGER)"
        " WHEN t IS NOT NULL THEN 0 END",
        **{name: parts[name] for name in "tpf"},
        n=nth,
        b=before,
        s=start,
    )


def _up_to(pattern: str, nth: int, *, ends: bool) -> str:
    """A pattern whose first group is all before the n-th match of another, or before its end.

    There must be as many matches: where a later one is missing, it would take earlier ones apart.
    """
    one = f".*?(?:{pattern})"
    earlier = f"(?:{one}){{{nth - 1}}}" if nth > 1 else ""
    return f"^({earlier}{one})" if ends else f"^({earlier}.*?)(?:{pattern})"


def spell_replaced(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``regexp_replace(t, p, r, start, n, flags)``; n = 0 replaces all matches."""
    start, nth = node.args.get("position"), node.args.get("occurrence")
    if start is None and nth is None:
        return spell_match(node, types)
    flags = node.args.get("modifiers")
    is_plain = flags is None or (flags.is_string and not set(flags.name) & OF_LINES)
    number = 1 if nth is None else int(nth.name) if nth.is_int else -1
    pattern, replacement = node.expression, node.args["replacement"]
    is_known = pattern.is_string and is_plain and number >= 0
    if not is_known or "^" in pattern.name or (number > 1 and "\\" in replacement.sql()):
        raise not_here(
            node, "regexp_replace() from a place on with such arguments", "take constants"
        )
    wanted = pattern_of(pattern).name
    option = "i" if flags is not None and "i" in flags.name else "c"
    parts: dict[str, exp.Expr] = {
        "t": exp.paren(node.this.copy()),
        "s": exp.Literal.number(1) if start is None else start,
        "p": exp.Literal.string(wanted),
        "r": replacement,
        "f": exp.Literal.string(option + ("g" if number == 0 else "")),
        "o": exp.Literal.string(option),
        "n": exp.Literal.number(max(number, 1)),
    }
    behind = "substr(t, s)"
    if number <= 1:
        return fill(f"left(t, s - 1) || regexp_replace({behind}, p, r, f)", **parts)
    parts["b"] = exp.Literal.string("(?s)" + _up_to(wanted, number, ends=False))
    return fill(
        f"left(t, s - 1) || CASE WHEN len(regexp_extract_all({behind}, p, 0, o)) >= n"
        f" THEN regexp_replace({behind}, b, '\\1' || r, o) ELSE {behind} END",
        **parts,
    )
