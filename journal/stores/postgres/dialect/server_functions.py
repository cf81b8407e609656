"""Functions that the adapter's SQL calls in schema ``_palimpsest``: those of ``functions.sql`` and
``duckdb_functions.sql``, and families of them, which differ in a name and a type only: what rounds,
what averages, what is least.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

_PLAIN = "LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE"
_AWAY = "sign({x}) * floor(abs({x}) + 0.5)"
"""Halves of a DOUBLE go away from zero; PostgreSQL's own round takes them to the even neighbour."""
_SCALED = "($1 * 10::double precision ^ $2)"
_MEAN = (("numeric", "double precision"), ("double precision",) * 2, ("interval",) * 2)
_MEANS = ("avg", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop")
_DOUBLE = "double precision"
_ROUNDED = (
    (_DOUBLE, _DOUBLE, _AWAY.format(x="$1")),
    ("numeric", "numeric", "round($1)"),
    ("bigint", "bigint", "$1"),
    ("integer", "integer", "$1"),
    (f"{_DOUBLE}, integer", _DOUBLE, f"{_AWAY.format(x=_SCALED)} / 10::double precision ^ $2"),
    ("numeric, integer", "numeric", "round($1, $2)"),
    ("bigint, integer", "bigint", "round($1::numeric, $2)::bigint"),
    ("integer, integer", "integer", "round($1::numeric, $2)::integer"),
)
_MILLISECONDS = "round(EXTRACT(EPOCH FROM $1)::numeric * 1000)::bigint"
_FILES = ("functions.sql", "duckdb_functions.sql")
_OF_NUMBERS = {
    **{name: name for name in ("skewness", "kurtosis", "kurtosis_pop", "mad", "geomean", "sem")},
    "geometric_mean": "geomean",
}
"""Aggregates that look at all their numbers again, and the functions that do."""
_MOMENTS = (
    ("timestamp", "timestamp 'epoch'", "timestamp"),
    ("timestamptz", "timestamptz 'epoch'", "timestamptz"),
    ("date", "timestamp 'epoch'", "timestamp"),
    ("time", "time '00:00'", "time"),
)
"""What has a mean, from when it is counted, and the type of the mean."""
_MEAN_MOMENT = (
    "CASE WHEN $1[2] > 0 THEN {start} + (sign($1[1]) * ceil(abs($1[1] / $1[2]) - 0.5))"
    "::double precision * interval '1 microsecond' END"
)
"""Half a microsecond is left out."""
_AS_THEY_ARE = ("smallint", "integer", "bigint", "numeric", "boolean", "text")
"""Types whose texts are DuckDB's as well."""
_UNDEFINED = {
    **dict.fromkeys(("sin", "cos", "tan", "cot"), "abs($1) = 'Infinity'"),
    **dict.fromkeys(("asin", "acos", "atanh"), "abs($1) > 1"),
    "acosh": "$1 < 1",
    "sqrt": "$1 < 0",
}
"""Where a function of a DOUBLE is no number, and PostgreSQL's ends in an error."""


def statements() -> Iterator[str]:
    """What makes each function, or makes it again over itself."""
    for name in _FILES:
        text = files("journal.stores.postgres.dialect").joinpath(name).read_text("utf-8")
        _, *written = text.split("\n\n")
        yield from written
    for name in _MEANS:
        # What these aggregates give of numbers is a DOUBLE; of intervals, what it is.
        for given, shown in _MEAN:
            yield _function(f"{name}({given})", shown, f"$1::{shown}")
    for given, shown, body in _ROUNDED:
        yield _function(f"round({given})", shown, body)
    for kind in ("timestamp", "timestamptz", "date", "time", "interval"):
        yield _function(f"epoch_ms({kind})", "bigint", _MILLISECONDS)
    for kind, start, shown in _MOMENTS:
        sums = "ARRAY[$1[1] + extract(EPOCH FROM $2)::numeric * 1000000, $1[2] + 1]"
        yield _function(f"moments_summed(numeric[], {kind})", "numeric[]", sums)
        yield _function(f"mean_of_{kind}s(numeric[])", shown, _MEAN_MOMENT.format(start=start))
        yield (
            f"CREATE OR REPLACE AGGREGATE _palimpsest.mean_moment({kind})"
            " (SFUNC = _palimpsest.moments_summed, STYPE = numeric[], INITCOND = '{0,0}',"
            f" PARALLEL = SAFE, FINALFUNC = _palimpsest.mean_of_{kind}s)"
        )
    for kind in _AS_THEY_ARE:
        yield _function(f"shown({kind})", "text", "$1::text")
    for name, where in _UNDEFINED.items():
        body = f"CASE WHEN {where} THEN 'NaN'::{_DOUBLE} ELSE {name}($1) END"
        yield _function(f"boundless_{name}({_DOUBLE})", _DOUBLE, body)
    for name, made in _OF_NUMBERS.items():
        yield (
            f"CREATE OR REPLACE AGGREGATE _palimpsest.{name}({_DOUBLE})"
            f" (SFUNC = _palimpsest.kept_number, STYPE = {_DOUBLE}[], PARALLEL = SAFE,"
            f" FINALFUNC = _palimpsest.{made}_of)"
        )
    for name, of_two in (("min", "least"), ("max", "greatest")):
        # These types have an order, and no such aggregate.
        for kind in ("boolean", "uuid", "bytea"):
            yield _function(f"{name}_of_two({kind}, {kind})", kind, f"{of_two}($1, $2)")
            yield (
                f"CREATE OR REPLACE AGGREGATE _palimpsest.{name}({kind})"
                f" (SFUNC = _palimpsest.{name}_of_two, STYPE = {kind}, PARALLEL = SAFE,"
                f" COMBINEFUNC = _palimpsest.{name}_of_two)"
            )


def _function(head: str, returns: str, body: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION _palimpsest.{head} RETURNS {returns} {_PLAIN}"
        f" AS $body$ SELECT {body} $body$"
    )
