"""AT TIME ZONE with an offset from UTC, which other stores have no name for. Pure.

    t AT TIME ZONE 'UTC-05:00', '-05:00'    five hours east of Greenwich, by the signs of POSIX
    t AT TIME ZONE INTERVAL '5 hours'       the same, by the signs of ISO

Whole hours have names that every store knows. Elsewhere the type of the moment decides.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import ValueTypes

_POSIX = re.compile(r"\s*(?:[a-z]{3,}|<[^>]+>)?([+-]?)(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*", re.I)
_WEST_MAX, _EAST_MAX = 12, 14
"""Hours of the zones Etc/GMT+12 and Etc/GMT-14, whose signs are those of POSIX, too."""
_OF_ZONED = "(t AT TIME ZONE 'UTC') + d"
_OF_LOCAL = "(t - d) AT TIME ZONE 'UTC'"


def spell_zone(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The same by the name of a zone or by an interval; None for a zone that has a name.

    Takes ``timezone(zone, t)``, too, and a date, which is its midnight in the session's zone, as a
    constant without a type is.
    Raises NOT_SUPPORTED where nothing says whether the moment has a zone.
    """
    zone, moment = node.expressions or (node.args["zone"], node.this)
    kind = types.of(moment).kind or ""
    inner = moment.copy()
    is_read = kind == "DATE" or moment.is_string
    if is_read:
        inner, kind = exp.cast(inner, "TIMESTAMPTZ", dialect="duckdb"), "TIMESTAMPTZ"
    offset = _POSIX.fullmatch(zone.name) if zone.is_string else None
    if offset is not None:
        sign, hours, minutes, seconds = offset.groups("0")
        most = _EAST_MAX if sign == "-" else _WEST_MAX
        if not int(minutes) and not int(seconds) and int(hours) <= most:
            name = f"Etc/GMT{'-' if sign == '-' else '+'}{int(hours)}"
            return exp.AtTimeZone(this=exp.paren(inner), zone=exp.Literal.string(name))
        away = f"{'' if sign == '-' else '-'}{hours}:{minutes}:{seconds}"
        zone = exp.cast(exp.Literal.string(away), "INTERVAL")
    elif zone.is_string or types.of(zone).kind != "INTERVAL":
        return exp.AtTimeZone(this=inner, zone=zone.copy()) if is_read else None
    if kind not in {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"}:
        advice = "cast the moment before it"
        raise not_here(node, "AT TIME ZONE with an offset that is no whole hour", advice)
    form = _OF_LOCAL if kind == "TIMESTAMP" else _OF_ZONED
    return exp.paren(fill(form, t=exp.paren(inner), d=zone.copy()))
