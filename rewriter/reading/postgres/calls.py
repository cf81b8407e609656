"""PostgreSQL's functions of arrays and texts in DuckDB's SQL, for stores that lack them. Pure.

A function that DuckDB has under the same name stands here where it gives something else there:
``string_to_array('', ',')`` is an empty array, ``format('%s', x)`` takes PostgreSQL's places, and
``array_remove(a, 1)`` keeps NULL. What cannot be said is left as it is, so that the store refuses
it, or refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.reading.postgres.bytes import spell_byte
from rewriter.reading.postgres.operators import joined_arrays
from rewriter.reading.postgres.quoting import (
    QUOTED,
    QUOTED_NAME,
    QUOTED_OR_NULL,
    spell_format,
)
from rewriter.reading.postgres.regexp_groups import (
    spell_match_groups,
    spell_matches,
    spell_substring,
)
from rewriter.reading.postgres.regexps import spell_split

Spell = Callable[[exp.Expr, Sequence[exp.Expr]], exp.Expr | None]
"""Makes what stands for a call of its arguments; None leaves the call as it is."""

_NESTED = "regexp_full_match(typeof(a), '.*\\[\\]\\[\\]')"
_FLAT_ONLY = f"CASE WHEN {_NESTED} THEN error('an array of several dimensions') ELSE value END"
_SPLIT = (
    "CASE WHEN t IS NULL THEN NULL WHEN t = '' THEN CAST([] AS VARCHAR[])"
    " WHEN d IS NULL THEN string_split(t, '') WHEN d = '' THEN [t] ELSE string_split(t, d) END"
)
_SPLIT_BY_TEXT = (
    "CASE WHEN t IS NULL THEN NULL WHEN t = '' THEN CAST([] AS VARCHAR[])"
    " ELSE string_split(t, d) END"
)
_BUCKET = (
    "CASE WHEN n <= 0 THEN error('count must be greater than zero')"
    " WHEN CAST(x AS DOUBLE) > CAST('Infinity' AS DOUBLE) THEN error('operand cannot be NaN')"
    " WHEN greatest(abs(CAST(lo AS DOUBLE)), abs(CAST(hi AS DOUBLE)))"
    " >= CAST('Infinity' AS DOUBLE) THEN error('lower and upper bounds must be finite')"
    " WHEN lo = hi THEN error('lower bound cannot equal upper bound')"
    " WHEN lo < hi THEN CASE WHEN x < lo THEN 0 WHEN x >= hi THEN n + 1"
    " ELSE CAST(floor((x - lo) * n / (hi - lo)) AS INTEGER) + 1 END"
    " WHEN lo > hi THEN CASE WHEN x > lo THEN 0 WHEN x <= hi THEN n + 1"
    " ELSE CAST(floor((lo - x) * n / (lo - hi)) AS INTEGER) + 1 END END"
)


def _piece(sql: str, *names: str) -> Spell:
    """A piece of DuckDB's SQL; a call with another number of arguments stays as it is."""

    def spell(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != len(names):
            return None
        parts = {n: exp.Paren(this=a.copy()) for n, a in zip(names, arguments, strict=True)}
        return fill(sql, **parts)

    return spell


def _of_dimension(sql: str) -> Spell:
    """A piece about the first dimension; for another one it is asked of the first element."""

    def spell(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != 2 or not arguments[1].is_int:
            return None
        array, dimension = arguments[0].copy(), int(arguments[1].name)
        for _step in range(1, dimension):
            array = fill("list_extract(a, 1)", a=array)
        return fill(sql, a=exp.Paren(this=array)) if dimension > 0 else exp.null()

    return spell


def _string_to_array(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if len(arguments) not in {2, 3}:
        return None
    text, delimiter = (exp.Paren(this=a.copy()) for a in arguments[:2])
    is_text = arguments[1].is_string and arguments[1].name
    split = fill(_SPLIT_BY_TEXT if is_text else _SPLIT, t=text, d=delimiter)
    if len(arguments) == 2:
        return split
    return fill("list_transform(s, LAMBDA e: NULLIF(e, n))", s=split, n=arguments[2])


def _rows_of(spell: Spell) -> Spell:
    """A row for each element of an array."""

    def rows(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        made = spell(node, arguments)
        return None if made is None else exp.Explode(this=made)

    return rows


def _array_fill(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if len(arguments) != 2 or not isinstance(arguments[1], exp.Array):
        return None
    made = arguments[0].copy()
    for size in reversed(arguments[1].expressions):
        made = fill("list_transform(range(n), LAMBDA e: v)", n=size, v=made)
    return made


def _array_cat(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    return joined_arrays(*arguments) if len(arguments) == 2 else None


_YEAR = (
    "CASE WHEN y > 0 THEN y WHEN y < 0 THEN y + 1 WHEN y = 0 THEN CAST(error("
    "concat('date field value out of range: 0-', lpad(CAST(m AS VARCHAR), 2, '0'), '-',"
    " lpad(CAST(d AS VARCHAR), 2, '0'))) AS INTEGER) END"
)
"""Stores count year 1 before our era as 0; PostgreSQL has no year of that number."""


def _of_our_era(year: exp.Expr, month: exp.Expr, day: exp.Expr) -> exp.Expr | None:
    """A year of PostgreSQL's as stores count them; None for a constant that is the same."""
    if year.is_int and int(year.to_py()) > 0:
        return None
    return fill(_YEAR, y=exp.paren(year.copy()), m=month, d=day)


def _date(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``make_date``, whose years below zero lie before our era."""
    year = _of_our_era(*arguments) if len(arguments) == 3 else None
    return None if year is None else call("make_date", year, *arguments[1:])


def _moment(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``make_timestamp``, likewise."""
    year = _of_our_era(*arguments[:3]) if len(arguments) == 6 else None
    if year is None:
        return None
    made = node.copy()
    made.set("year", year)
    return made


def _moment_in_zone(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``make_timestamptz``, which fails for a day or a time that is none."""
    if len(arguments) not in {6, 7}:
        return None
    year = _of_our_era(*arguments[:3]) or arguments[0]
    moment = call("make_timestamp", year, *arguments[1:6])
    if len(arguments) == 7:
        return call("timezone", arguments[6], moment)
    return exp.cast(moment, "TIMESTAMPTZ", dialect="duckdb")


def _every(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    return exp.LogicalAnd(this=arguments[0].copy()) if len(arguments) == 1 else None


_FLAT = {
    "cardinality": "len(a)",
    "array_dims": "CASE WHEN len(a) > 0 THEN '[1:' || CAST(len(a) AS VARCHAR) || ']' END",
}
CALLS: Mapping[str, Spell] = {
    **{name: _piece(_FLAT_ONLY.replace("value", sql), "a") for name, sql in _FLAT.items()},
    "array_upper": _of_dimension("CASE WHEN len(a) > 0 THEN CAST(len(a) AS INTEGER) END"),
    "array_lower": _of_dimension("CASE WHEN len(a) > 0 THEN 1 END"),
    "array_ndims": _piece(
        "CASE WHEN len(a) > 0 THEN len(regexp_extract(typeof(a), '(\\[\\])+$')) // 2 END", "a"
    ),
    "array_positions": _piece(
        "CAST(list_filter(range(1, len(a) + 1), LAMBDA i: list_extract(a, i) IS NOT DISTINCT FROM"
        " x) AS INTEGER[])",
        *("a", "x"),
    ),
    "array_replace": _piece(
        "list_transform(a, LAMBDA e: CASE WHEN e IS NOT DISTINCT FROM x THEN y ELSE e END)",
        *("a", "x", "y"),
    ),
    "array_fill": _array_fill,
    "trim_array": _piece(
        "CASE WHEN n < 0 OR n > len(a) THEN error('number of elements to trim must be between 0"
        " and ' || CAST(len(a) AS VARCHAR)) ELSE list_slice(a, 1, len(a) - n) END",
        *("a", "n"),
    ),
    "every": _every,
    "make_date": _date,
    "make_timestamptz": _moment_in_zone,
    "num_nulls": lambda _, given: _counted("x IS NULL", given),
    "num_nonnulls": lambda _, given: _counted("x IS NOT NULL", given),
    "min_scale": _piece(
        "CAST(length(rtrim(split_part(CAST(x AS VARCHAR), '.', 2), '0')) AS INTEGER)", "x"
    ),
    "scale": _piece("CAST(length(split_part(CAST(x AS VARCHAR), '.', 2)) AS INTEGER)", "x"),
    "trim_scale": _piece("x", "x"),
    "quote_literal": _piece(QUOTED, "x"),
    "quote_ident": _piece(QUOTED_NAME, "x"),
    "quote_nullable": _piece(QUOTED_OR_NULL, "x"),
    "string_to_table": _rows_of(_string_to_array),
    **dict.fromkeys(("get_byte", "set_byte"), spell_byte),
    **dict.fromkeys(("regexp_split_to_array", "regexp_split_to_table"), spell_split),
    "regexp_match": spell_match_groups,
    "regexp_matches": spell_matches,
}
"""By the name of a function that the parser does not know."""
KINDS: Mapping[type[exp.Expr], Spell] = {
    exp.ArrayConcat: _array_cat,
    exp.ArrayRemove: _piece("list_filter(a, LAMBDA e: e IS DISTINCT FROM x)", "a", "x"),
    exp.ArraySize: _of_dimension("CASE WHEN len(a) > 0 THEN CAST(len(a) AS INTEGER) END"),
    exp.Format: spell_format,
    exp.StringToArray: _string_to_array,
    exp.Substring: spell_substring,
    exp.TimestampFromParts: _moment,
    exp.WidthBucket: _piece(_BUCKET, "x", "lo", "hi", "n"),
}
"""By the kind of node that the parser makes of a call."""


def _counted(sql: str, given: Sequence[exp.Expr]) -> exp.Expr | None:
    if not given:
        return None
    if isinstance(given[0], exp.Variadic):
        return fill(f"CAST(len(list_filter(a, LAMBDA x: {sql})) AS INTEGER)", a=given[0].this)
    each = [fill(f"CASE WHEN {sql} THEN 1 ELSE 0 END", x=exp.Paren(this=x.copy())) for x in given]
    total = each[0]
    for one in each[1:]:
        total = exp.Add(this=total, expression=one)
    return exp.Paren(this=total)


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a call, in the order of PostgreSQL's."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    names = ("this", *(name for name in node.arg_types if name != "this"))
    found: list[exp.Expr] = []
    for name in names:
        part = node.args.get(name)
        found.extend(
            part if isinstance(part, list) else [part] if isinstance(part, exp.Expr) else []
        )
    return found
