"""Functions of dates and times that PostgreSQL has under another name or form. Pure.

Parts of a moment are whole numbers in the canonical dialect, seconds too.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, template

_template = partial(template, "postgres")
_UNITS = {
    unit: (unit, f"{unit}s", *more)
    for unit, more in {
        "year": ("y", "yr", "yrs"),
        "quarter": (),
        "month": ("mon", "mons"),
        "week": ("w",),
        "day": ("d", "dayofmonth"),
        "hour": ("h", "hr", "hrs"),
        "minute": ("m", "min", "mins"),
        "second": ("s", "sec", "secs"),
        "millisecond": ("ms", "msec", "msecs"),
        "microsecond": ("us", "usec", "usecs"),
    }.items()
}
"""Units of differences by their spellings, those of the embedded store."""
_WHOLE = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings} | {
    unit: unit for unit in ("dow", "isodow", "doy", "isoyear", "decade", "century", "millennium")
}
"""Parts of a moment that are whole numbers, by their spellings."""
_OF_YEARS = frozenset({"YEAR", "ISOYEAR", "DECADE", "CENTURY", "MILLENNIUM"})
_TENS = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}


def _part(name: str) -> Change:
    part = f"EXTRACT({name} FROM x)"
    if name in _OF_YEARS:
        # That of an infinite moment is infinite too; of its months PostgreSQL says nothing.
        part = f"NULLIF(NULLIF({part}, 'Infinity'), '-Infinity')"
    return _template(f"CAST(FLOOR({part}) AS BIGINT)", "x")


_FRACTIONAL = {"second": _part("SECOND"), "millisecond": _part("MILLISECONDS")}
_AS_DOUBLE = {
    "epoch": _template("CAST(EXTRACT(EPOCH FROM x) AS DOUBLE PRECISION)", "x"),
    "julian": _template("CAST(EXTRACT(JULIAN FROM x) AS DOUBLE PRECISION)", "x"),
}
"""Parts of a moment that have a fraction."""
_ERA = _template("CAST(EXTRACT(YEAR FROM x) > 0 AS INTEGER)", "x")
_MICROSECONDS = _template("TIMESTAMP '1970-01-01' + (n) * INTERVAL '1 microsecond'", "n")


def _date_part(node: exp.Expr) -> exp.Expr | None:
    """Parts that are whole numbers, seconds without their fraction; not the epoch, or a day."""
    assert isinstance(node, exp.Anonymous)
    unit, *moment = node.expressions
    name = unit.name.lower() if isinstance(unit, exp.Literal) else ""
    if len(moment) == 1 and name == "era":
        return _ERA(exp.Hour(this=moment[0]))
    if len(moment) == 1 and name in _AS_DOUBLE:
        return _AS_DOUBLE[name](exp.Hour(this=moment[0]))
    if len(moment) != 1 or name not in _WHOLE:
        return None
    return _part(_WHOLE[name].upper())(exp.Hour(this=moment[0]))


def _extract(node: exp.Expr) -> exp.Expr | None:
    """Parts that PostgreSQL gives with a fraction, and one that it lacks."""
    name = node.name.lower()
    part = _ERA if name == "era" else _FRACTIONAL.get(_WHOLE.get(name, ""))
    return None if part is None else part(exp.Hour(this=node.expression))


def _difference(node: exp.Expr) -> exp.Expr | None:
    """The difference in decades and more is one of years, each divided first."""
    unit = node.args.get("unit")
    years = _TENS.get(unit.name.upper()) if unit is not None else None
    if years is None:
        return None
    cut = f"DIV(EXTRACT(YEAR FROM (x)), {years})"
    both = f"CAST(({cut} - {cut.replace('(x)', '(y)')}) AS BIGINT)"
    return fill(both, "postgres", x=node.this, y=node.expression)


def _difference_in(node: exp.Expr) -> exp.Expr | None:
    """A difference in a unit that only each row tells."""
    assert isinstance(node, exp.Anonymous)
    if len(node.expressions) != 3:
        return None
    unit, earlier, later = node.expressions
    found = exp.Case()
    for name, spellings in _UNITS.items():
        lower = exp.Lower(this=unit.copy())
        named = exp.In(this=lower, expressions=[exp.Literal.string(s) for s in spellings])
        of = exp.DateDiff(
            this=later.copy(),
            expression=earlier.copy(),
            unit=exp.var(name.upper()),
            date_part_boundary=True,
        )
        found = found.when(named, of)
    # What is no unit ends the statement with its own text, as a number that it is not.
    text = fill("CAST(unit || ' is no unit of time' AS BIGINT)", unit=unit)
    return exp.Paren(this=found.else_(text))


def _since_1970(node: exp.Expr) -> exp.Expr | None:
    """``epoch_ms``, of a number or of a moment, which only its type tells; ``make_timestamp``."""
    scale = node.args.get("scale")
    if not isinstance(scale, exp.Literal) or scale.name not in {"3", "6"}:
        return None
    if scale.name == "6":
        return _MICROSECONDS(exp.Hour(this=node.this))
    return call("epoch_ms", node.this)


_INTERVALS = {
    "to_milliseconds": "1 millisecond",
    "to_microseconds": "1 microsecond",
    "to_seconds": "1 second",
    "to_minutes": "1 minute",
    "to_hours": "1 hour",
    "to_weeks": "7 days",
    "to_months": "1 month",
    "to_quarters": "3 months",
    "to_years": "1 year",
    "to_decades": "10 years",
    "to_centuries": "100 years",
    "to_millennia": "1000 years",
}
BY_NAME: dict[str, Change] = {
    **{name: _template(f"x * INTERVAL '{one}'", "x") for name, one in _INTERVALS.items()},
    **{name: _part(name.upper()) for name in ("century", "decade", "millennium", "isoyear")},
    "millisecond": _part("MILLISECONDS"),
    "microsecond": _part("MICROSECONDS"),
    "nanosecond": _template("CAST(EXTRACT(MICROSECONDS FROM x) * 1000 AS BIGINT)", "x"),
    "epoch_ns": _template("CAST(EXTRACT(EPOCH FROM x) * 1000000 AS BIGINT) * 1000", "x"),
    "era": _ERA,
    "yearweek": _template(
        "CAST(EXTRACT(ISOYEAR FROM x) * 100 + EXTRACT(WEEK FROM x) AS BIGINT)", "x"
    ),
    "days_in_month": _template(
        "CAST(EXTRACT(DAY FROM DATE_TRUNC('MONTH', x) + INTERVAL '1 month'"
        " - INTERVAL '1 day') AS BIGINT)",
        "x",
    ),
    "make_timestamp_ms": _template("TIMESTAMP '1970-01-01' + x * INTERVAL '1 millisecond'", "x"),
    "get_current_timestamp": lambda _: call("now"),
    "date_part": _date_part,
    "datepart": _date_part,
    "date_diff": _difference_in,
    "datediff": _difference_in,
    "weekday": _part("DOW"),
    "datesub": lambda node: call("date_sub", *node.expressions),
    "julian": _AS_DOUBLE["julian"],
}


def _interval(node: exp.Expr) -> exp.Expr | None:
    """An amount that is no constant, times the unit."""
    amount, unit = node.this, node.args.get("unit")
    if amount is None or unit is None or isinstance(amount, exp.Literal):
        return None
    one = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(unit.name))
    return exp.paren(exp.Mul(this=exp.paren(amount.unnest().copy()), expression=one), copy=False)


BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.Interval: _interval,
    exp.CurrentTime: lambda node: None if node.this else exp.var("CURRENT_TIME"),
    exp.Extract: _extract,
    exp.ToDays: _template("x * INTERVAL '1 day'", "x"),
    exp.Year: _part("YEAR"),
    exp.Month: _part("MONTH"),
    exp.Day: _part("DAY"),
    exp.DayOfMonth: _part("DAY"),
    exp.Hour: _part("HOUR"),
    exp.Minute: _part("MINUTE"),
    exp.Second: _FRACTIONAL["second"],
    exp.Quarter: _part("QUARTER"),
    exp.Week: _part("WEEK"),
    exp.WeekOfYear: _part("WEEK"),
    exp.DayOfWeek: _part("DOW"),
    exp.DayOfWeekIso: _part("ISODOW"),
    exp.DayOfYear: _part("DOY"),
    exp.Dayname: _template("TO_CHAR(x, 'FMDay')", "x"),
    exp.Monthname: _template("TO_CHAR(x, 'FMMonth')", "x"),
    exp.DateDiff: _difference,
    exp.UnixToTime: _since_1970,
}
