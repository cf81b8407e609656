"""Units of intervals in short: ``INTERVAL '5 mins'`` is one of minutes, in every dialect.

sqlglot hands a unit on as it was written. Behind a number DuckDB takes a short one for an alias,
so that five minutes would become five seconds.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError

_SHORT = {
    "MICROSECOND": "us usec usecs usecond useconds microsec microsecs",
    "MILLISECOND": "ms msec msecs msecond mseconds millisec millisecs",
    "SECOND": "s sec secs",
    "MINUTE": "m mi min mins",
    "HOUR": "h hh hr hrs",
    "DAY": "d dd",
    "WEEK": "w wk",
    "MONTH": "mon mons mm",
    "QUARTER": "q qtr qtrs",
    "YEAR": "y yr yrs yy yyyy",
    "DECADE": "dec decs",
    "CENTURY": "c cent cents",
    "MILLENNIUM": "mil mils millenia",
}
_UNITS = {short: unit for unit, words in _SHORT.items() for short in words.upper().split()}
_WHOLE = frozenset(
    {*_SHORT, *(f"{unit}S" for unit in _SHORT), "CENTURIES", "MILLENNIA", "MILLENIA"}
)


def spell_out_units(ast: exp.Expr) -> None:
    """Write out the units of intervals, in place; raises MOMENT_TEXT for unknown ones."""
    for node in ast.find_all(exp.Interval):
        unit = node.args.get("unit")
        if not isinstance(unit, exp.Var) or unit.name.upper() in _WHOLE:
            continue
        whole = _UNITS.get(unit.name.upper())
        if whole is None:
            raise PalimpsestError(
                Code.MOMENT_TEXT,
                f'an interval has no unit "{unit.name.lower()}"',
                advice="write second, minute, hour, day, week, month or year",
            )
        unit.set("this", whole)
