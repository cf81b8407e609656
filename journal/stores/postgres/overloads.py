"""Functions of PostgreSQL's for types that it lacks them for: their definitions, and no more.

They stand in schema ``_palimpsest``, last in the search path of each connection, so PostgreSQL's
own are taken wherever it has one. Each can be made again over itself.
"""

from __future__ import annotations

_PLAIN = "LANGUAGE sql IMMUTABLE PARALLEL SAFE"
_ORDERED = ("boolean", "uuid", "bytea")
_FIRST_MONDAY, _FIRST_MONTH = "timestamp '2000-01-03'", "timestamp '2000-01-01'"
"""Where buckets begin: those of days and less, those of months and more."""
_MONTHS = "(EXTRACT(YEAR FROM $1) * 12 + EXTRACT(MONTH FROM $1))::bigint"
_MONTH_OF = "((EXTRACT(YEAR FROM $2) - 2000) * 12 + EXTRACT(MONTH FROM $2) - 1)::numeric"
_MICROSECONDS = "(EXTRACT(EPOCH FROM {})::numeric * 1000000)"
_SINCE = _MICROSECONDS.format(f"$2 - {_FIRST_MONDAY}")
_WIDE = _MICROSECONDS.format("$1")
_BUCKET = (
    f"SELECT CASE WHEN {_MONTHS} > 0 THEN {_FIRST_MONTH}"
    f" + (floor({_MONTH_OF} / {_MONTHS}) * {_MONTHS})::integer * interval '1 month'"
    f" ELSE {_FIRST_MONDAY} + (floor({_SINCE} / {_WIDE}) * {_WIDE})::bigint"
    " * interval '1 microsecond' END"
)
_JSON_TYPE = (
    "SELECT CASE json_typeof($1) WHEN 'object' THEN 'OBJECT' WHEN 'array' THEN 'ARRAY'"
    " WHEN 'string' THEN 'VARCHAR' WHEN 'boolean' THEN 'BOOLEAN' WHEN 'null' THEN 'NULL'"
    " WHEN 'number' THEN CASE WHEN $1::text ~ '[.eE]' THEN 'DOUBLE'"
    " WHEN $1::text LIKE '-%' THEN 'BIGINT' ELSE 'UBIGINT' END END"
)


def _extremes() -> tuple[str, ...]:
    """min and max over types that have an order, and no such aggregate."""
    made = []
    for name, function in (("min", "least"), ("max", "greatest")):
        for kind in _ORDERED:
            made.append(
                f"CREATE OR REPLACE FUNCTION _palimpsest.{name}_of_two({kind}, {kind})"
                f" RETURNS {kind} {_PLAIN} STRICT AS 'SELECT {function}($1, $2)'"
            )
            made.append(
                f"CREATE OR REPLACE AGGREGATE _palimpsest.{name}({kind})"
                f" (SFUNC = _palimpsest.{name}_of_two, STYPE = {kind}, PARALLEL = SAFE,"
                f" COMBINEFUNC = _palimpsest.{name}_of_two)"
            )
    return tuple(made)


def _function(head: str, returns: str, body: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION _palimpsest.{head} RETURNS {returns} {_PLAIN} STRICT"
        f" AS $body$ {body} $body$"
    )


OVERLOADS = (
    *_extremes(),
    _function("length(anyarray)", "integer", "SELECT coalesce(array_length($1, 1), 0)"),
    _function("date_trunc(text, date)", "timestamp", "SELECT date_trunc($1, $2::timestamp)"),
    _function(
        "epoch_ms(bigint)",
        "timestamp",
        "SELECT timestamp '1970-01-01' + $1 * interval '1 millisecond'",
    ),
    *(
        _function(
            f"epoch_ms({kind})",
            "bigint",
            "SELECT floor(EXTRACT(EPOCH FROM $1)::numeric * 1000)::bigint",
        )
        for kind in ("timestamp", "timestamptz", "date")
    ),
    _function("time_bucket(interval, timestamp)", "timestamp", _BUCKET),
    _function("time_bucket(interval, date)", "date", f"SELECT ({_BUCKET})::date"),
    _function("json_type(json)", "text", _JSON_TYPE),
    _function(
        "json_type(json, text)",
        "text",
        "SELECT _palimpsest.json_type(_palimpsest.json_at($1, $2))",
    ),
)
