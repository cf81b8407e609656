"""Functions of the canonical dialect that Spark has under another name or form. Pure."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.blob_literals import literal_bytes
from journal.sql.builders import call, fill
from journal.sql.calls import Calls, Change, refused, refused_everywhere, template
from journal.sql.lowering.list_calls import SORTS, TRANSFORMS
from journal.sql.relations import ident
from journal.stores.hive.dialect import enums, moment_parts, numbers, texts
from journal.stores.hive.dialect import json as hive_json
from journal.stores.hive.dialect.elements import element, no_lambda, sorted_list, transformed
from journal.stores.hive.dialect.lists import collected, joined_distinct
from journal.stores.hive.dialect.moments import difference, difference_in, truncated
from journal.stores.hive.dialect.nested import (
    as_text,
    compared,
    extreme,
    length,
    ordered,
    outermost,
)
from journal.stores.hive.dialect.quantified import in_query, quantified

_RENAMED = {
    "strlen": "octet_length",
    "ucase": "upper",
    "lcase": "lower",
    "gen_random_uuid": "uuid",
    "today": "current_date",
    "error": "raise_error",
    "epoch_us": "unix_micros",
    "epoch_ms": "unix_millis",
    "make_timestamptz": "timestamp_micros",
    "bool_and": "bool_and",
    "list_distinct": "array_distinct",
    "round_even": "bround",
    "unnest": "explode",
    "list_reverse": "reverse",
    "array_reverse": "reverse",
    "prefix": "startswith",
    "suffix": "endswith",
}
"""Functions that take the same arguments under another name."""


_refused = partial(refused, "Hive")
_template = partial(template, "spark")


def _field(node: exp.Expr) -> exp.Expr | None:
    """A field of a struct goes by its name alone."""
    value, name = node.expressions
    return exp.Dot(this=value, expression=ident(name.name)) if name.is_string else None


def _trim_clause(node: exp.Expr) -> exp.Expr | None:
    """Spark's function takes the blanks first, so the clause is written."""
    if len(node.expressions) != 2:
        return None
    value, blanks = node.expressions
    return exp.Trim(this=value, expression=blanks, position="BOTH")


def _distinct(node: exp.Expr) -> exp.Expr | None:
    """The values of a list, without NULL."""
    return call("array_compact", call("array_distinct", node.this))


def _place(node: exp.Expr) -> exp.Expr | None:
    """Where a value is in a list; NULL, not 0, if it is not there."""
    given = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]
    found = call("array_position", *given)
    return exp.Nullif(this=found, expression=exp.Literal.number(0))


def _flat(node: exp.Expr) -> exp.Expr | None:
    """The members of lists; one that is NULL has none."""
    return call("flatten", call("array_compact", node.this))


def _cast(node: exp.Expr) -> exp.Expr | None:
    """A literal of bytes, or a list as text."""
    assert isinstance(node, exp.Cast)
    given = literal_bytes(node)
    if given is None:
        made = enums.cast(node) or hive_json.cast(node) or numbers.cast_to_whole(node)
        made = made or numbers.float_as_text(node)
        made = made or moment_parts.time_of_day(node) or moment_parts.instant_as_text(node)
        return made or as_text(node)
    return call("unhex", given.hex())


def _contained(node: exp.Expr) -> exp.Expr | None:
    """Of a list with NULL Spark cannot tell whether it has a value; it has not, canonically."""
    if node.meta.get("settled"):
        return None
    if isinstance(node.expression, exp.Null):
        return exp.Null()
    made = node.copy()
    made.meta["settled"] = True
    known = "CASE WHEN l IS NULL OR x IS NULL THEN NULL ELSE COALESCE(found, FALSE) END"
    return fill(known, l=node.this, x=node.expression, found=made)


def _joined(node: exp.Expr) -> exp.Expr | None:
    """Of lists: one that is NULL adds nothing, where Spark makes NULL of all."""
    for value in (node.this, *node.expressions):
        if not isinstance(value, exp.Array):
            value.replace(exp.Coalesce(this=value.copy(), expressions=[exp.Array()]))
    return None


def _grouping(node: exp.Expr) -> exp.Expr | None:
    """Of several expressions: one bit for each, the last the lowest."""
    given = node.expressions
    if len(given) < 2:
        return None
    total: exp.Expr = exp.Literal.number(0)
    for place, each in enumerate(reversed(given)):
        one = exp.Grouping(expressions=[each.copy()])
        total = fill("total + one * bit", total=total, one=one, bit=2**place)
    return exp.Paren(this=exp.cast(total, "BIGINT"))


def _average(node: exp.Expr) -> exp.Expr | None:
    """The canonical average of decimals is a double, too."""
    of = node.this
    for value in list(of.expressions) if isinstance(of, exp.Distinct) else [of]:
        if not isinstance(value, exp.Cast):
            value.replace(exp.cast(value.copy(), "DOUBLE"))
    return None


_ORDERED = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile),
    *(exp.Lag, exp.Lead),
)


def _window(node: exp.Expr) -> exp.Expr | None:
    """A list over a window; and where rows are numbered in any order, Spark wants to be told so."""
    found = collected(node)
    if found is not None:
        return found
    of = node.this.this if isinstance(node.this, exp.IgnoreNulls) else node.this
    if isinstance(of, _ORDERED) and not node.args.get("order") and not node.args.get("alias"):
        node.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Null(), nulls_first=True)]))
    return None


def _sliced(node: exp.Expr) -> exp.Expr | None:
    """A part of a list from a place that is written; Spark wants to be told its length."""
    (part,) = node.expressions if len(node.expressions) == 1 else (None,)
    if not isinstance(part, exp.Slice):
        return None if part is None else element(node)
    if part.args.get("step") is not None:
        return None
    start, end = part.this, part.expression
    if start is None:
        start = exp.Literal.number(1)
    if not isinstance(start, exp.Literal) or not start.is_int or int(start.name) < 1:
        return _refused("lists cut at such a place", "begin at a place that is written, from 1")(
            node
        )
    last: exp.Expr = call("size", node.this)
    if end is not None:
        counted = "(CASE WHEN n < 0 THEN size + (n + 1) ELSE n END)"
        last = fill(counted, n=end, size=last)
    count = fill("GREATEST(last - before, 0)", last=last, before=int(start.name) - 1)
    return call("slice", node.this, start, count)


_REFUSED_NAMES, _REFUSED_KINDS = refused_everywhere("Hive")
_BY_NAME: dict[str, Change] = {
    **_REFUSED_NAMES,
    "struct_extract": _field,
    "trim": _trim_clause,
    **dict.fromkeys(SORTS, sorted_list),
    **dict.fromkeys(("list_extract", "list_element", "array_extract"), element),
    **dict.fromkeys(TRANSFORMS, transformed),
    **{name: no_lambda(name) for name in ("list_reduce", "array_reduce", "reduce")},
    "json_array_length": hive_json.length,
    "json_valid": hive_json.valid,
    "json_exists": hive_json.exists,
    **{name: hive_json.unknown(name) for name in hive_json.UNKNOWN},
    **moment_parts.BY_NAME,
    "date_diff": difference_in,
    "datediff": difference_in,
    "date_trunc": moment_parts.of_moment(truncated),
    "printf": texts.format_values,
    "regexp_full_match": texts.matched_in_full,
    **dict.fromkeys(("list_position", "list_indexof", "array_indexof"), _place),
    "regexp_split_to_array": texts.split_by_pattern,
    "string_split_regex": texts.split_by_pattern,
    "str_split_regex": texts.split_by_pattern,
    "isfinite": _template("CAST(x AS STRING) NOT IN ('NaN', 'Infinity', '-Infinity')", "x"),
    "sha256": _template("SHA2(x, 256)", "x"),
    "fdiv": _template("CAST(x AS DOUBLE) / CAST(y AS DOUBLE)", "x", "y"),
}
_BY_CLASS: dict[type[exp.Expr], Change] = {
    **_REFUSED_KINDS,
    exp.Avg: _average,
    exp.Grouping: _grouping,
    **dict.fromkeys((exp.EQ, exp.NEQ), quantified),
    **dict.fromkeys((exp.GT, exp.GTE, exp.LT, exp.LTE), lambda n: compared(n) or quantified(n)),
    **dict.fromkeys((exp.Max, exp.Min), extreme),
    **dict.fromkeys((exp.Greatest, exp.Least), outermost),
    exp.Length: length,
    exp.Ordered: ordered,
    exp.ArrayAgg: collected,
    exp.Between: compared,
    exp.Cast: _cast,
    exp.Filter: lambda node: collected(node) or joined_distinct(node),
    exp.GroupConcat: joined_distinct,
    exp.In: in_query,
    exp.Window: _window,
    exp.Transform: transformed,
    exp.ArrayFilter: transformed,
    exp.Array: transformed,
    exp.Reduce: no_lambda("reduce"),
    exp.Bracket: _sliced,
    exp.JSONExtract: hive_json.extracted,
    exp.JSONExtractScalar: hive_json.extracted,
    exp.JSONKeys: hive_json.keys,
    **{kind: hive_json.unknown(name) for kind, name in hive_json.UNKNOWN_KINDS.items()},
    exp.JSONType: hive_json.kind,
    exp.TryCast: hive_json.cast,
    exp.ArrayContains: _contained,
    exp.ArrayConcat: _joined,
    exp.Div: numbers.divided,
    exp.BitwiseLeftShift: numbers.shifted,
    exp.Log: numbers.logarithm,
    exp.Trunc: numbers.cut,
    exp.IsNan: numbers.is_no_number,
    exp.IsInf: numbers.is_infinite,
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike), texts.matched),
    **dict.fromkeys((exp.RegexpFullMatch, exp.SimilarTo), texts.matched_in_full),
    exp.RegexpReplace: texts.replaced,
    exp.Chr: texts.character,
    exp.Left: texts.left_part,
    exp.Right: texts.right_part,
    exp.Substring: texts.substring,
    exp.Concat: texts.join_values,
    exp.ArrayDistinct: _distinct,
    exp.ArrayPosition: _place,
    exp.Flatten: _flat,
    **{
        kind: _refused(f"{kind.key}()", "compute it of sums of powers, or over a COPY of the rows")
        for kind in (exp.Kurtosis, exp.Skewness)
    },
    **moment_parts.BY_CLASS,
    exp.DateDiff: difference,
    exp.TimestampTrunc: moment_parts.of_moment(truncated),
}

CALLS = Calls(_RENAMED, _BY_NAME, _BY_CLASS)
