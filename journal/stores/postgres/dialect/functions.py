"""Functions of the canonical dialect that PostgreSQL has under another name or form. Pure."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from sqlglot import exp

from journal.sql.array_text import parse_list, text_of_array
from journal.sql.blob_literals import literal_bytes
from journal.sql.builders import call
from journal.sql.calls import Calls, Change, refused, refused_everywhere, template
from journal.sql.dialects import IN_POSTGRES
from journal.stores.postgres.dialect import aggregates, elements, formats, moments, texts
from journal.stores.postgres.dialect.tried_casts import tried_cast

_RENAMED = {
    "strlen": "octet_length",
    "ucase": "upper",
    "lcase": "lower",
    "gen_random_uuid": "gen_random_uuid",
    "make_date": "make_date",
    "today": "current_date",
    "uuidv4": "gen_random_uuid",
    "array_push_back": "array_append",
    "greatest_common_divisor": "gcd",
    "least_common_multiple": "lcm",
}
"""Functions that take the same arguments under another name."""


_refused = partial(refused, "PostgreSQL")
_template = partial(template, "postgres")


_MEANS: dict[type[exp.Expr], str] = {
    exp.Avg: "avg",
    exp.Stddev: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.Variance: "variance",
    exp.VariancePop: "var_pop",
}
_ROUND_EVEN = _refused("round_even()", "use round(), which rounds halves away from zero")
_EPOCH = "TIMESTAMP WITH TIME ZONE '1970-01-01 00:00:00+00'"
_DONE = "palimpsest_done"
_IGNORE_NULLS = _refused("IGNORE NULLS", "leave the nulls out with FILTER (WHERE .. IS NOT NULL)")
# Of one number; that of parts is PostgreSQL's own.
_INSTANT = _template(f"{_EPOCH} + n * INTERVAL '1 microsecond'", "n")
_MICROSECONDS = _template("CAST(EXTRACT(EPOCH FROM x) * 1000000 AS BIGINT)", "x")
_DIVIDED = _template("CAST(x AS DOUBLE PRECISION) / CAST(y AS DOUBLE PRECISION)", "x", "y")


def _quotient(node: exp.Expr) -> exp.Expr | None:
    """A DOUBLE, whatever is divided; ``safe``: NULL where the divisor is zero."""
    if node.args.get("typed"):
        return None
    divisor = node.expression
    if node.args.get("safe"):
        divisor = exp.Nullif(this=divisor.copy(), expression=exp.Literal.number(0))
    made = exp.Div(this=_double(node.this), expression=_double(divisor), typed=True)
    return exp.paren(made, copy=False)


def _double(value: exp.Expr) -> exp.Expr:
    return exp.cast(value.copy(), "DOUBLE")


def _ours(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a function in our schema, where it has the name that its column shall have."""
    schema = exp.to_identifier("_palimpsest", quoted=True)
    return exp.Dot(this=schema, expression=call(name, *arguments))


def _mean(node: exp.Expr) -> exp.Expr | None:
    """Averages and deviations are DOUBLE; with what belongs to the aggregate, FILTER and OVER.

    In PostgreSQL's own words they are of its types.
    """
    if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        return None
    inner = node
    while isinstance(inner, exp.Filter | exp.Window):
        inner = inner.this
    name = None if IN_POSTGRES in inner.meta else _MEANS.get(type(inner))
    return None if name is None else _ours(name, node)


def _unless_native(change: Change) -> Change:
    """A change that leaves alone what a client has said in PostgreSQL's own words."""
    return lambda node: None if IN_POSTGRES in node.meta else change(node)


def _window(node: exp.Expr) -> exp.Expr | None:
    """A window of a mean, or of the nearest row before or behind whose value is not NULL."""
    inner = node.this
    if isinstance(inner, exp.IgnoreNulls) and isinstance(inner.this, exp.Lag | exp.Lead):
        return _nearest_known(node, inner.this)
    return _mean(node)


def _nearest_known(node: exp.Expr, inner: exp.Expr) -> exp.Expr | None:
    offset = inner.args.get("offset")
    if (offset is not None and offset.name != "1") or inner.args.get("default") is not None:
        return _IGNORE_NULLS(node)
    if node.args.get("alias") is not None or node.args.get("order") is None:
        return _IGNORE_NULLS(node)
    is_lag = isinstance(inner, exp.Lag)
    made = node.copy()
    made.set("this", _ours("last_known" if is_lag else "any_value", inner.this))
    one, all_rows = exp.Literal.number(1), "UNBOUNDED"
    ends = {"start": all_rows, "start_side": "PRECEDING", "end": one, "end_side": "PRECEDING"}
    if not is_lag:
        ends = {"start": one, "start_side": "FOLLOWING", "end": all_rows, "end_side": "FOLLOWING"}
    made.set("spec", exp.WindowSpec(kind="ROWS", **ends))
    return made


def _rounded(node: exp.Expr) -> exp.Expr | None:
    """Halves go away from zero, also those of DOUBLE, which may be rounded to digits too."""
    digits = node.args.get("decimals")
    return _ours("round", node.this, *([] if digits is None else [digits]))


def _round_even(node: exp.Expr) -> exp.Expr | None:
    """PostgreSQL's own rounding of a DOUBLE, by a name that is not changed once more.

    A NUMERIC it rounds away from zero, so only what is cast to DOUBLE is known to be right.
    """
    match node.expressions:
        case [exp.Cast() as value, digits] if value.is_type(exp.DType.DOUBLE):
            if digits.is_int and digits.name == "0":
                return call("round", value)
    return _ROUND_EVEN(node)


def _any_value(node: exp.Expr) -> exp.Expr | None:
    return None if isinstance(node.parent, exp.IgnoreNulls) else _ours("any_value", node.this)


def _ignore_nulls(node: exp.Expr) -> exp.Expr | None:
    """The first or the last value that is not NULL; what lies nearest is the window's matter."""
    inner = node.this
    if isinstance(inner, exp.Lag | exp.Lead) and isinstance(node.parent, exp.Window):
        return None
    if isinstance(inner, exp.AnyValue | exp.FirstValue | exp.First):
        return _ours("any_value", inner.this)
    if isinstance(inner, exp.LastValue | exp.Last):
        return _ours("last_known", inner.this)
    return _IGNORE_NULLS(node)


_WILDCARDS = _refused("JSON paths with wildcards", "unnest the array, or use jsonb_path_query")


def _json_at(name: str) -> Change:
    """A place in JSON: that of a parameter, or a path that sqlglot leaves as it was written."""

    def change(node: exp.Expr) -> exp.Expr | None:
        place = node.expression
        if isinstance(place, exp.Literal) and place.is_string and place.name.startswith("$"):
            if "*" in place.name or ".." in place.name:
                return _WILDCARDS(node)
        elif not isinstance(place, exp.Parameter):
            above = node.parent
            if isinstance(above, exp.JSONExtract | exp.JSONExtractScalar):
                # sqlglot would write a place as a key before a step that is computed.
                is_computed = not isinstance(above.expression, exp.JSONPath)
                return exp.Paren(this=node.copy()) if is_computed else None
            return None
        return _ours(name, exp.cast(node.this, "JSON"), exp.cast(place, "TEXT"))

    return change


def _dense(name: str) -> Change:
    """JSON that is made of values has no blanks between its parts."""

    def change(node: exp.Expr) -> exp.Expr | None:
        return _ours("json_dense", call(name, *node.expressions))

    return aggregates.alone(change)


def _json_of(node: exp.Expr) -> exp.Expr | None:
    """A value as JSON; a text that is written out is told to be one."""
    if len(node.expressions) != 1:
        return None
    (value,) = node.expressions
    if value.is_string:
        value = exp.cast(value.copy(), "TEXT")
    return _ours("json_dense", exp.Anonymous(this="pg_catalog.to_json", expressions=[value.copy()]))


_NO_OBJECT = _refused("json_object", "use PostgreSQL's json_build_object")


def _json_object(node: exp.Expr) -> exp.Expr | None:
    """An object of keys and values, without blanks between them."""
    if not all(isinstance(pair, exp.JSONKeyValue) for pair in node.expressions):
        return _NO_OBJECT(node)
    parts: list[exp.Expr] = []
    for pair in node.expressions:
        parts += [exp.cast(pair.this.copy(), "TEXT"), pair.expression.copy()]
    return _ours("json_dense", call("json_build_object", *parts))


def _literal(node: exp.Expr) -> exp.Expr | None:
    """A literal of bytes, and one of a list as DuckDB writes it."""
    assert isinstance(node, exp.Cast)
    value = node.this
    is_text = value.is_string or isinstance(value, exp.RawString)
    if node.to.is_type(exp.DType.ARRAY) and is_text and value.name.endswith("]"):
        with suppress(ValueError):
            node.set("this", exp.Literal.string(text_of_array(parse_list(value.name))))
        return None
    given = literal_bytes(node)
    if given is not None:
        node.set("this", exp.Literal.string(f"\\x{given.hex()}"))
    return None


def _logarithm(node: exp.Expr) -> exp.Expr | None:
    """To a base, which PostgreSQL has for NUMERIC alone, it is a DOUBLE all the same."""
    if node.expression is None or node.meta.get(_DONE):
        return None
    made = node.copy()
    made.meta[_DONE] = True
    for name in ("this", "expression"):
        made.set(name, exp.cast(made.args[name], "DECIMAL"))
    return exp.cast(made, "DOUBLE")


def _bucket(node: exp.Expr) -> exp.Expr | None:
    """A bucket of time; one that begins elsewhere is left to the server, which has no such."""
    if node.args.get("unit") or node.args.get("zone") or node.args.get("origin"):
        return None
    return call("time_bucket", node.this, node.expression)


def _scientific(node: exp.Expr) -> exp.Expr | None:
    """A number with an exponent is a DOUBLE; to PostgreSQL it is a NUMERIC."""
    if not isinstance(node, exp.Literal) or node.is_string or "e" not in node.name.lower():
        return None
    return exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DType.DOUBLE))


_NO_KEYS = _refused("recursive queries with USING KEY", "keep the latest rows in the query around")


def _recursion(node: exp.Expr) -> exp.Expr | None:
    return _NO_KEYS(node) if node.args.get("key_expressions") else None


_REFUSED_NAMES, _REFUSED_KINDS = refused_everywhere("PostgreSQL")
_BY_NAME: dict[str, Change] = {
    **_REFUSED_NAMES,
    **moments.BY_NAME,
    **elements.BY_NAME,
    **texts.BY_NAME,
    **aggregates.BY_NAME,
    "make_timestamptz": _INSTANT,
    "error": _template("_palimpsest.fail(x)", "x"),
    "epoch_us": _MICROSECONDS,
    "any_value": lambda node: _ours("any_value", *node.expressions),
    "json_group_array": _dense("json_agg"),
    "json_group_object": _dense("json_object_agg"),
    "json_of": _json_of,
    "try_strptime": formats.try_moment,
    "fdiv": _DIVIDED,
    "round_even": _round_even,
    "multiply": _template("x * y", "x", "y"),
    "add": _template("x + y", "x", "y"),
    "subtract": _template("x - y", "x", "y"),
    "even": _template("CAST(SIGN(x) * CEIL(ABS(x) / 2.0) * 2 AS DOUBLE PRECISION)", "x"),
    "log2": _template("CAST(LOG(2, CAST(x AS NUMERIC)) AS DOUBLE PRECISION)", "x"),
}
_BY_CLASS: dict[type[exp.Expr], Change] = {
    **_REFUSED_KINDS,
    exp.AnyValue: _any_value,
    **dict.fromkeys(_MEANS, _mean),
    exp.Filter: lambda node: aggregates.without_filter(node) or _mean(node),
    exp.CTE: _recursion,
    exp.Round: _rounded,
    exp.Div: _quotient,
    exp.IntDiv: lambda node: _ours("whole_quotient", node.this, node.expression),
    exp.Glob: texts.matches_glob,
    exp.Sign: _unless_native(_template("CAST(SIGN(x) AS SMALLINT)", "x")),
    exp.IsInf: _template("ABS(CAST(x AS DOUBLE PRECISION)) = 'Infinity'", "x"),
    exp.Log: _unless_native(_logarithm),
    exp.StrToTime: formats.parse_moment,
    exp.TimeToStr: formats.format_moment,
    exp.Window: _window,
    exp.Cast: _literal,
    exp.Literal: _unless_native(_scientific),
    exp.IgnoreNulls: _ignore_nulls,
    exp.JSONExtract: _json_at("json_at"),
    exp.JSONExtractScalar: _json_at("json_text_at"),
    exp.TryCast: tried_cast,
    exp.IsNan: _template("CAST(x AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)", "x"),
    exp.Struct: _refused("STRUCT and MAP values", "use columns of their own, or JSON"),
    **moments.BY_CLASS,
    **elements.BY_CLASS,
    **texts.BY_CLASS,
    **aggregates.BY_CLASS,
    exp.DateBin: _bucket,
    exp.DateFromParts: lambda n: call("make_date", *(n.args[p] for p in ("year", "month", "day"))),
    exp.JSONObject: _json_object,
    exp.JSONArray: lambda node: _ours("json_dense", call("json_build_array", *node.expressions)),
    exp.ToMap: _refused("STRUCT and MAP values", "use a table of pairs, or JSON"),
    exp.Lambda: _refused("lambda functions", "unnest the array, and aggregate it again"),
}

CALLS = Calls(_RENAMED, _BY_NAME, _BY_CLASS)
