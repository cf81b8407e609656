"""What the groups of a regular expression match, for stores other than PostgreSQL. Pure.

regexp_match(t, p, 'i')       the groups of the first match, or the match where there are none
regexp_matches(t, p, 'g')     a row of them for each match
substring(t FROM p)           the first group, or the match

A group that may be left out of a match is NULL in PostgreSQL and empty in other stores: patterns
with such a group are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import call, fill, variable
from rewriter.reading.postgres_quoting import not_here
from rewriter.reading.postgres_regexps import OF_LINES, pattern_of

UNSURE_GROUP = re.compile(r"\)[?*{]|\|")
"""A group that may be left out of a match."""


def spell_match_groups(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``regexp_match``; NULL without a match."""
    if len(arguments) not in {2, 3}:
        return None
    text, pattern = arguments[:2]
    if any(isinstance(argument, exp.Null) for argument in arguments):
        return exp.cast(exp.null(), "VARCHAR[]", dialect="duckdb")
    found, wanted = _groups(node, arguments), _pattern(node, pattern, _flags(node, arguments))
    return fill("CASE WHEN regexp_matches(t, p) THEN g END", t=text, p=wanted, g=found)


def spell_matches(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``regexp_matches``: a row for the first match, or for each one with the flag ``g``."""
    if not _is_in_output(node) or len(arguments) not in {2, 3}:
        return None
    text, flags = arguments[0], _flags(node, arguments)
    pattern = _pattern(node, arguments[1], flags)
    if "g" not in flags:
        once = fill(
            "CASE WHEN regexp_matches(t, p) THEN [g] ELSE [] END",
            t=text,
            p=pattern,
            g=_groups(node, arguments),
        )
        return _rows_of(once, node)
    places = _places(node, arguments[1])
    each = [fill("regexp_extract_all(t, p, n)", t=text, p=pattern, n=n) for n in places]
    row = exp.Array(expressions=[call("list_extract", one, variable("i")) for one in each])
    matches = fill("list_transform(range(1, len(l) + 1), LAMBDA i: r)", l=each[0], r=row)
    return _rows_of(matches, node)


def _is_in_output(node: exp.Expr) -> bool:
    """True for a part of an output, which may give rows."""
    while not isinstance(node.parent, exp.Query | exp.Unnest | None):
        node = node.parent
    return isinstance(node.parent, exp.Select | exp.Unnest) and node.arg_key == "expressions"


def _rows_of(matches: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A row of each match; all of their groups for ``unnest()`` of them."""
    if isinstance(node.parent, exp.Explode | exp.Unnest):
        return call("flatten", matches)
    return exp.Explode(this=matches)


def spell_substring(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``substring(t FROM 'pattern')``; NULL without a match."""
    if len(arguments) != 2 or not arguments[1].is_string:
        return None
    text, pattern = arguments
    count = group_count(pattern)
    if count is None or (count and UNSURE_GROUP.search(pattern.name)):
        raise not_here(node, "substring() with this pattern", "use regexp_replace()")
    return fill(
        "CASE WHEN regexp_matches(t, p) THEN regexp_extract(t, p, n) END",
        t=text,
        p=pattern_of(pattern),
        n=min(count, 1),
    )


def group_count(pattern: exp.Expr) -> int | None:
    """How many groups a constant pattern has; None for others."""
    if not pattern.is_string:
        return None
    try:
        return re.compile(pattern.name).groups
    except re.error:
        return None


def _flags(node: exp.Expr, arguments: Sequence[exp.Expr]) -> str:
    """The flags of a call; raises NOT_SUPPORTED for those of lines, and for computed ones."""
    if len(arguments) < 3:
        return ""
    flags = arguments[2]
    if not flags.is_string or set(flags.name) & OF_LINES:
        raise not_here(node, "this function with these flags", "take 'g' and 'i'")
    name = str(flags.name)
    # Of c and i, the last one counts.
    return name.replace("i", "") if name.rfind("c") > name.rfind("i") else name


def _pattern(node: exp.Expr, pattern: exp.Expr, flags: str) -> exp.Expr:
    wanted = pattern_of(pattern)
    if "i" not in flags:
        return wanted
    if not wanted.is_string:
        raise not_here(node, "the flag i with a pattern that is no constant", "write '(?i)' in it")
    return exp.Literal.string(f"(?i){wanted.name}")


def _groups(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr:
    text, pattern = arguments[0], _pattern(node, arguments[1], _flags(node, arguments))
    places = _places(node, arguments[1])
    return exp.Array(
        expressions=[fill("regexp_extract(t, p, n)", t=text, p=pattern, n=n) for n in places]
    )


def _places(node: exp.Expr, pattern: exp.Expr) -> Sequence[int]:
    """The numbers of the groups that a match gives; 0 is the match itself."""
    count = group_count(pattern)
    if count is None or (count and UNSURE_GROUP.search(pattern.name)):
        raise not_here(
            node,
            "this function with a pattern that is no constant, or whose groups may be left out",
            "use regexp_replace() or substring(t FROM pattern)",
        )
    return range(1, count + 1) if count else [0]
