"""PostgreSQL's functions of moments and intervals, in words that the stores have. Pure.

EXTRACT(SECOND FROM t)              with its fraction, on every store
date_part('hour', t)                the same as a DOUBLE, also of a date
(a, b) OVERLAPS (c, d)              conditions on the four
date_trunc('day', t, 'Asia/Tokyo')  cut in the time of that zone
date_trunc('century', t)            begins in 2001
date_trunc('month', d)              a moment in a zone, where d is a date
date_trunc('hour', c)               an interval, where c is a time of day
date_bin('15 minutes', t, o)        time_bucket
justify_hours(i)                    months, days and the rest, each by itself
clock_timestamp()                   the moment of the statement
a - b                               of moments with a zone, the time that passed between them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.builders import call, fill
from journal.sql.clock import STATEMENT_TIMESTAMP
from rewriter.reading.postgres.calls import Spell
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import KIND, ValueTypes

_FRACTIONS = {
    "SECOND": "CAST(EXTRACT(microseconds FROM t) * 0.000001 AS DECIMAL(18, 6))",
    "SECONDS": "CAST(EXTRACT(microseconds FROM t) * 0.000001 AS DECIMAL(18, 6))",
    "MILLISECOND": "CAST(EXTRACT(microseconds FROM t) * 0.001 AS DECIMAL(18, 3))",
    "MILLISECONDS": "CAST(EXTRACT(microseconds FROM t) * 0.001 AS DECIMAL(18, 3))",
}
_OF_TIME = frozenset(
    ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "TIMEZONE", "TIMEZONE_HOUR")
)
_MONTHS = "(year(i) * 12 + month(i))"
_TIME = "(hour(i) * 3600000000 + minute(i) * 60000000 + microsecond(i))"
_DAY, _MONTH = 86_400_000_000, 2_592_000_000_000
"""Microseconds of a day, and of a month of thirty days."""

_ELAPSED = (
    "(CAST(a AS TIMESTAMPTZ) AT TIME ZONE 'UTC') - (CAST(b AS TIMESTAMPTZ) AT TIME ZONE 'UTC')"
)
_ZONED = frozenset({"TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"})


def spell_difference(node: exp.Sub, left: str, right: str) -> exp.Expr | None:
    """``a - b`` by the types of both, of moments with a zone and of times of day; None for others.

    DuckDB counts the days between two moments by the clock of the session's zone.
    """
    parts = {"a": exp.paren(node.this.copy()), "b": exp.paren(node.expression.copy())}
    if left == right == "TIME":
        return fill("to_microseconds(epoch_us(a) - epoch_us(b))", **parts)
    if _ZONED & {left, right} and {left, right} <= _ZONED | {"TIMESTAMP", "DATE"}:
        made = exp.paren(fill(_ELAPSED, **parts))
        made.meta[KIND] = "INTERVAL"
        return made
    return None


def _carried(high: str, low: str, size: int) -> tuple[str, str]:
    """Both numbers, with whole ``size`` of the lower in the higher one, and of one sign."""
    whole, rest = f"({high} + {low} // {size})", f"({low} % {size})"
    shift = (
        f"CASE WHEN {whole} > 0 AND {rest} < 0 THEN 1"
        f" WHEN {whole} < 0 AND {rest} > 0 THEN -1 ELSE 0 END"
    )
    return f"{whole} - {shift}", f"{rest} + ({shift}) * {size}"


def _interval(months: str, days: str, time: str) -> str:
    parts = (("months", months), ("days", days), ("microseconds", time))
    made = " + ".join(f"to_{name}(CAST({part} AS BIGINT))" for name, part in parts)
    return f"({made})"


_DAYS, _HOURS = _carried("day(i)", _TIME, _DAY)
_WHOLE_MONTHS, _REST_OF_DAYS = _carried(_MONTHS, "day(i)", 30)
_ALL_MONTHS, _REST = _carried(_MONTHS, f"(day(i) * {_DAY} + {_TIME})", _MONTH)
_JUSTIFIED: Mapping[type[exp.Expr], str] = {
    exp.JustifyHours: _interval(_MONTHS, _DAYS, _HOURS),
    exp.JustifyDays: _interval(_WHOLE_MONTHS, _REST_OF_DAYS, _TIME),
    exp.JustifyInterval: _interval(_ALL_MONTHS, f"({_REST}) // {_DAY}", f"({_REST}) % {_DAY}"),
}
_OVERLAPS = (
    "(a > c AND NOT (a >= d AND b >= d)) OR (c > a AND NOT (c >= b AND d >= b))"
    " OR (a = c AND b IS NOT NULL AND d IS NOT NULL)"
)


def has_fraction(node: exp.Expr) -> bool:
    """True for the part of a moment that has digits behind the point in PostgreSQL."""
    return isinstance(node, exp.Extract) and node.name.upper() in _FRACTIONS


def spell_fraction(node: exp.Expr) -> exp.Expr:
    """The part with these digits."""
    return fill(_FRACTIONS[node.name.upper()], t=node.expression)


def spell_part(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """A part of a moment; raises NOT_SUPPORTED for one of a day that has none."""
    kind = types.of(node.expression).kind
    if kind == "DATE" and node.name.upper().rstrip("S") in _OF_TIME:
        unit = node.name.lower()
        raise not_here(node, f'the unit "{unit}" of a date', "cast it to TIMESTAMP")
    if kind in {"TIMESTAMP", "TIME"} and node.name.upper().startswith("TIMEZONE"):
        unit = node.name.lower()
        raise not_here(node, f'the unit "{unit}" without a zone', "cast it to TIMESTAMPTZ")
    if not types.context.capabilities.postgres_functions and _is_zoned_epoch(node, kind):
        return fill(_ZONED_EPOCH, t=node.expression)
    return spell_fraction(node) if has_fraction(node) else None


_ZONED_EPOCH = "(EXTRACT(epoch FROM t) - EXTRACT(timezone FROM t))"
"""The seconds of a time with its offset, since midnight of UTC; stores count those of its clock."""


def _is_zoned_epoch(part: exp.Expr, kind: str | None) -> bool:
    return part.name.upper() == "EPOCH" and kind in {"TIMETZ", "TIME WITH TIME ZONE"}


def is_part_call(node: exp.Expr) -> bool:
    """True for ``date_part('unit', t)`` of a unit that is a constant."""
    return (
        isinstance(node, exp.Anonymous)
        and node.name.lower() == "date_part"
        and len(node.expressions) == 2
        and node.expressions[0].is_string
    )


def is_computed_part(node: exp.Expr) -> bool:
    """True for ``date_part(unit, t)`` of any unit, which stores may count in whole numbers."""
    is_cast = isinstance(node.parent, exp.Cast) and node.parent.is_type("DOUBLE")
    is_part = isinstance(node, exp.Anonymous) and node.name.lower() == "date_part"
    return is_part and len(node.expressions) == 2 and not is_cast


def extracted_part(node: exp.Expr, kind: str | None) -> exp.Expr:
    """What ``date_part`` of a moment of a type gives: a DOUBLE, for a date as of its midnight."""
    unit, moment = node.expressions
    if kind == "DATE":
        moment = exp.cast(moment.copy(), "TIMESTAMP", dialect="duckdb")
    part = exp.Extract(this=exp.var(unit.name.upper()), expression=moment.copy())
    made = spell_fraction(part) if has_fraction(part) else part
    return exp.cast(made, "DOUBLE", dialect="duckdb")


def _justify(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    given = arguments[0]
    if given.is_string:
        given = exp.cast(given.copy(), "INTERVAL")
    return fill(_JUSTIFIED[type(node)], i=exp.paren(given.copy()))


def _overlaps(node: exp.Expr, _: Sequence[exp.Expr]) -> exp.Expr | None:
    """Two spans, each from one of its ends to the other, or as long as an interval says."""
    spans = [side.expressions for side in (node.this, node.expression)]
    if any(len(span) != 2 for span in spans):
        return None
    ends: list[exp.Expr] = []
    for given in spans:
        first, second = (
            exp.cast(end.copy(), "TIMESTAMP", dialect="duckdb") if end.is_string else end
            for end in given
        )
        last = second
        if isinstance(second, exp.Interval) or second.is_type(exp.DType.INTERVAL):
            last = exp.Add(this=first, expression=second)
        for pick in ("least", "greatest"):
            ends.append(fill(f"{pick}(x, y)", x=first, y=last))
    names = dict(zip("abcd", ends, strict=True))
    return exp.Paren(this=fill(_OVERLAPS, **names))


def spell_computed_cut(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``date_trunc`` in the time of a zone, and to a unit that a row computes."""
    if len(node.expressions) not in {2, 3}:
        return None
    unit, moment, *zones = node.expressions
    kind = types.of(moment).kind
    if kind == "DATE" or (zones and kind not in _ZONED):
        moment, kind = exp.cast(moment.copy(), "TIMESTAMPTZ", dialect="duckdb"), "TIMESTAMPTZ"
    if not zones:
        return _cut(unit, moment, kind)
    (zone,) = zones
    local = exp.paren(exp.AtTimeZone(this=exp.paren(moment.copy()), zone=zone.copy()), copy=False)
    cut = exp.cast(_cut(unit, local, "TIMESTAMP"), "TIMESTAMP", dialect="duckdb")
    days = exp.AtTimeZone(this=cut, zone=zone.copy())
    # Where clocks are set back, an hour is there twice, and its minutes tell which.
    times = fill("m - (t - cut)", m=exp.paren(moment.copy()), t=local, cut=cut)
    if unit.is_string:
        return times if unit.name.upper() in _WITHIN_DAYS else days
    return _by_unit(unit, _WITHIN_DAYS, times, days)


def _cut(unit: exp.Expr, moment: exp.Expr, kind: str | None) -> exp.Expr:
    """A moment that is cut to a unit, by its clock; centuries and millennia begin with year 1."""
    if kind == "TIME":
        moment = fill("to_microseconds(epoch_us(t))", t=exp.paren(moment.copy()))
        moment.meta[KIND] = kind = "INTERVAL"
    plain = call("date_trunc", unit, moment)
    plain.meta[KIND] = kind
    if kind == "INTERVAL" or (unit.is_string and unit.name.upper() not in _FROM_YEAR_ONE):
        return plain
    before = fill("t - INTERVAL '1 year'", t=exp.paren(moment.copy()))
    later = fill("t + INTERVAL '1 year'", t=exp.paren(call("date_trunc", unit, before)))
    if unit.is_string:
        return later
    return _by_unit(unit, _FROM_YEAR_ONE, later, plain)


def _by_unit(unit: exp.Expr, names: frozenset[str], true: exp.Expr, default: exp.Expr) -> exp.Expr:
    """One of two values, by whether a computed unit is one of these names."""
    given = exp.Upper(this=unit.copy())
    is_one = exp.In(this=given, expressions=[exp.Literal.string(name) for name in sorted(names)])
    return exp.Case(ifs=[exp.If(this=is_one, true=true)], default=default)


_WITHIN_DAYS = frozenset(
    f"{unit}{s}"
    for unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
    for s in ("", "S")
)


def cut_in_zone(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``date_trunc`` of a date, which is its midnight in the session's zone; None for others."""
    if types.of(node.this).kind != "DATE":
        return None
    midnight = exp.cast(node.this.copy(), "TIMESTAMPTZ", dialect="duckdb")
    return type(node)(this=midnight, unit=node.args["unit"].copy())


def spell_cut(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``date_trunc`` of a date and of a time of day, which is an interval then, and to centuries
    and millennia, which begin with the year 1; None for others.
    """
    if types.of(node.this).kind == "TIME":
        elapsed = fill("to_microseconds(epoch_us(t))", t=exp.paren(node.this.copy()))
        elapsed.meta[KIND] = "INTERVAL"
        return type(node)(this=elapsed, unit=node.args["unit"].copy())
    unit = node.args["unit"].name.upper()
    if unit not in _FROM_YEAR_ONE:
        return cut_in_zone(node, types)
    if _CUT_SO in node.meta or node.this.is_string or types.of(node.this).kind == "INTERVAL":
        return None
    moment = (cut_in_zone(node, types) or node).this
    before = fill("t - INTERVAL '1 year'", t=exp.paren(moment.copy()))
    cut = type(node)(this=before, unit=node.args["unit"].copy())
    cut.meta[_CUT_SO] = True
    return exp.paren(fill("t + INTERVAL '1 year'", t=cut))


_FROM_YEAR_ONE = frozenset({"CENTURY", "CENTURIES", "MILLENNIUM", "MILLENNIUMS", "MILLENNIA"})
_CUT_SO = "palimpsest_cut"


def _bin(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if len(arguments) != 3:
        return None
    width, moment, origin = (argument.copy() for argument in arguments)
    if width.is_string:
        width = exp.cast(width, "INTERVAL")
    moment, origin = (
        exp.cast(one, "TIMESTAMP", dialect="duckdb") if one.is_string else one
        for one in (moment, origin)
    )
    return fill(
        "CASE WHEN extract('month' FROM w) <> 0 OR extract('year' FROM w) <> 0"
        " THEN error('timestamps cannot be binned into intervals containing months or years')"
        " ELSE bin END",
        w=exp.paren(width.copy()),
        bin=call("time_bucket", width, moment, origin),
    )


_ROUNDED = (
    "CASE WHEN isfinite(m) THEN"
    " m + to_microseconds(CAST(round(epoch_us(m) / n) AS BIGINT) * n - epoch_us(m)) ELSE m END"
)
_ROUNDED_TIME = "t + to_microseconds(CAST(round(epoch_us(t) / n) AS BIGINT) * n - epoch_us(t))"
_PLACES = 6


def rounded_moment(moment: exp.Expr, kind: exp.DType, digits: exp.Expr | None) -> exp.Expr | None:
    """A moment or a time of day whose seconds have as many digits; None where none are left out."""
    text = "" if digits is None else digits.name
    if not text.isdigit() or int(text) >= _PLACES:
        return None
    unit = 10 ** (_PLACES - int(text))
    if kind in {exp.DType.TIME, exp.DType.TIMETZ}:
        return fill(_ROUNDED_TIME, t=exp.paren(moment), n=unit)
    return fill(_ROUNDED, m=exp.paren(moment), n=unit)


def spell_current(node: exp.Expr) -> exp.Expr | None:
    """``current_timestamp(0)``, ``current_time(0)``, ``localtimestamp``, ``localtime``."""
    # DuckDB takes the word for the output that has its name, the call for nothing else.
    now: exp.Expr = exp.Anonymous(this="now")
    kind = _CURRENT[type(node)]
    if kind in {exp.DType.TIMESTAMP, exp.DType.TIME}:
        now = exp.cast(now, exp.DType.TIMESTAMP)
    if kind in {exp.DType.TIME, exp.DType.TIMETZ}:
        now = exp.cast(now, kind)
    made = rounded_moment(now, kind, node.this)
    is_plain = isinstance(node, exp.CurrentTimestamp | exp.CurrentTime)
    return made if made is not None or (is_plain and not _is_output_name(node)) else now


def spell_today(node: exp.Expr) -> exp.Expr | None:
    """``current_date`` in a query that has an output of that name."""
    return exp.cast(exp.Anonymous(this="now"), exp.DType.DATE) if _is_output_name(node) else None


def _is_output_name(node: exp.Expr) -> bool:
    """True for a word of the clock that is the name of an output of a query around it."""
    name = _KEYWORDS[type(node)]
    query = node.find_ancestor(exp.Select)
    while query is not None:
        if any(fold(output.alias) == name for output in query.expressions):
            return True
        query = query.find_ancestor(exp.Select)
    return False


def native_current(node: exp.Expr) -> exp.Expr | None:
    """The same as a cast, whose digits PostgreSQL's adapter keeps."""
    digits = node.this
    if digits is None:
        return None
    kind = exp.DataType(
        this=_CURRENT[type(node)], expressions=[exp.DataTypeParam(this=digits.copy())]
    )
    return exp.Cast(this=type(node)(), to=kind)


_KEYWORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentTime: "current_time",
}
_CURRENT: Mapping[type[exp.Expr], exp.DType] = {
    exp.CurrentTimestamp: exp.DType.TIMESTAMPTZ,
    exp.CurrentTime: exp.DType.TIMETZ,
    exp.Localtimestamp: exp.DType.TIMESTAMP,
    exp.Localtime: exp.DType.TIME,
}


def _moment_of_statement(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    return None if arguments else call(STATEMENT_TIMESTAMP)


CALLS: Mapping[str, Spell] = {
    "date_bin": _bin,
    "clock_timestamp": _moment_of_statement,
}
"""By the name of a function that the parser does not know."""
KINDS: Mapping[type[exp.Expr], Spell] = {
    **dict.fromkeys(_JUSTIFIED, _justify),
    exp.Overlaps: _overlaps,
}
"""By the kind of node that the parser makes of a call."""
