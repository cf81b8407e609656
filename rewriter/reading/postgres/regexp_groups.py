"""What the groups of a regular expression match, for stores other than PostgreSQL. Pure.

regexp_match(t, p, 'i')       the groups of the first match, or the match where there are none
regexp_matches(t, p, 'g')     a row of them for each match
substring(t FROM p)           the first group, or the match

A group that is left out of a match is NULL in PostgreSQL and empty in other stores, which gives it
away where it matches no empty text. Other patterns with such a group are refused, and those of
which other stores may find another match.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill, variable
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.postgres.regexps import OF_LINES, pattern_of
from rewriter.reading.regexp_shapes import group_places


def spell_match_groups(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``regexp_match``; NULL without a match."""
    if len(arguments) not in {2, 3}:
        return None
    text, pattern = arguments[:2]
    if any(isinstance(argument, exp.Null) for argument in arguments):
        return exp.cast(exp.null(), "VARCHAR[]", dialect="duckdb")
    if "g" in _flags(node, arguments):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            'regexp_match() does not support the "global" option',
            advice="use regexp_matches(), which gives a row for each match",
            position=position_of(node),
        )
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
    places = _places(node, arguments)
    each = [fill("regexp_extract_all(t, p, n)", t=text, p=pattern, n=n) for n in places]
    row = exp.Array(
        expressions=[
            _group("list_extract(l, i)", n, places[n], l=one, i=variable("i"))
            for n, one in zip(places, each, strict=True)
        ]
    )
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
    places = group_places(pattern.name)
    if places is None:
        raise not_here(node, "substring() with this pattern", "use regexp_replace()")
    first = next(iter(places.items()))
    found = _group("regexp_extract(t, p, n)", *first, t=text, p=pattern_of(pattern))
    return fill("CASE WHEN regexp_matches(t, p) THEN g END", t=text, p=pattern_of(pattern), g=found)


def _group(sql: str, place: int, is_optional: bool, **parts: exp.Expr) -> exp.Expr:
    """What a group matches; NULL where a match leaves it out."""
    found = fill(sql, **parts, n=place)
    return fill("NULLIF(g, '')", g=found) if is_optional else found


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
    places = _places(node, arguments)
    return exp.Array(
        expressions=[
            _group("regexp_extract(t, p, n)", n, is_optional, t=text, p=pattern)
            for n, is_optional in places.items()
        ]
    )


def _places(node: exp.Expr, arguments: Sequence[exp.Expr]) -> dict[int, bool]:
    is_constant = arguments[1].is_string
    ignores_case = "i" in _flags(node, arguments)
    found = group_places(arguments[1].name, ignores_case) if is_constant else None
    if found is None:
        raise not_here(
            node,
            "this function with a pattern that is no constant, or with groups that may be left out"
            " and signs that do not tell which",
            "use regexp_replace() or substring(t FROM pattern)",
        )
    return found
