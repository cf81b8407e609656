"""Parts of moments, their names and their texts, where Spark counts or writes otherwise.

    dayofweek(d)            0 is Sunday, where Spark begins with 1
    dayname(d)              Saturday, where Spark writes Sat
    strftime(d, '%j')       date_format(d, 'DDD')
    ts AT TIME ZONE 'x'     what the type of ts says: an instant, or the local time

Pure: AST in, AST out.
"""

from __future__ import annotations

import re
from functools import partial

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, refused, template
from journal.stores.hive.dialect.known_types import KnownTypes
from journal.stores.hive.dialect.moments import BARE, microseconds

_NOTE = "palimpsest_moment"
_LESS_DATE = "palimpsest_less_date"
_INSTANTS = frozenset({exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ})
_BARES = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATE})
_FORMATS = {
    "Y": "yyyy",
    "m": "MM",
    "d": "dd",
    "H": "HH",
    "M": "mm",
    "S": "ss",
    "y": "yy",
    "f": "SSSSSS",
    "g": "SSS",
    "I": "hh",
    "p": "a",
    "A": "EEEE",
    "a": "EEE",
    "B": "MMMM",
    "b": "MMM",
    "j": "DDD",
    "-d": "d",
    "-m": "M",
    "-H": "H",
    "-I": "h",
    "-M": "m",
    "-S": "s",
}
"""Letters of strftime as Spark's patterns write them."""
_MARK = re.compile(r"%(-?.)|([^%]+)|%$", re.S)
_refuse = partial(refused, "Hive", advice="take parts with extract(), and join them")
_PARTS: dict[str, str] = {
    **dict.fromkeys(("DOW", "DAYOFWEEK", "WEEKDAY"), "(dayofweek(x) - 1)"),
    "ISODOW": "(weekday(x) + 1)",
    "ISOYEAR": "extract(YEAROFWEEK FROM x)",
    "YEARWEEK": "(extract(YEAROFWEEK FROM x) * 100 + weekofyear(x))",
    "CENTURY": "((year(x) + 99) DIV 100)",
    "DECADE": "(year(x) DIV 10)",
    "MILLENNIUM": "((year(x) + 999) DIV 1000)",
    "ERA": "(CASE WHEN year(x) > 0 THEN 1 WHEN year(x) <= 0 THEN 0 END)",
    "WEEK": "weekofyear(x)",
    **dict.fromkeys(
        ("MILLISECOND", "MILLISECONDS"), "CAST(floor(extract(SECOND FROM x) * 1000) AS BIGINT)"
    ),
}
_AS_TEXT = "concat(CAST(x AS STRING), regexp_replace(date_format(x, 'xxx'), ':00$', ''))"
_EPOCH = (
    "(CAST(CASE WHEN typeof(x) = 'timestamp' THEN unix_micros(CAST(x AS TIMESTAMP))"
    " ELSE timestampdiff(MICROSECOND, began, bare) END AS DOUBLE) / 1000000)"
)
"""An instant is counted as it is; what has no zone, from a beginning without one."""


def note_moments(tree: exp.Expr, known: KnownTypes) -> None:
    """Note the types of what a difference, a sum or a time zone is about."""
    kinds = (exp.AtTimeZone, exp.Sub, exp.Add, exp.TimestampTrunc, exp.Anonymous, exp.Cast)
    for node in list(tree.find_all(*kinds)):
        if not isinstance(node, exp.Anonymous):
            node.meta[_NOTE] = known.of(node.this)
        elif str(node.this).lower() in {"timezone", "date_trunc"} and len(node.expressions) == 2:
            node.meta[_NOTE] = known.of(node.expressions[1])
        if isinstance(node, exp.Sub):
            node.meta[_LESS_DATE] = _is_date(known.of(node.expression))
    _write_instants(tree, known)


def _write_instants(tree: exp.Expr, known: KnownTypes) -> None:
    """Cast the instants among joined texts to text, so that they are written with their offset."""
    joined = [
        (part, kind)
        for node in tree.find_all(exp.DPipe, exp.Concat)
        for part in node.iter_expressions()
        if _is_instant(kind := known.of(part))
    ]
    for part, kind in joined:
        cast = exp.cast(part.copy(), "TEXT")
        cast.meta[_NOTE] = kind
        part.replace(cast)


def _is_date(kind: object) -> bool:
    return isinstance(kind, exp.DataType) and kind.this is exp.DType.DATE


def _is_instant(kind: object) -> bool:
    return isinstance(kind, exp.DataType) and kind.this in _INSTANTS


def part(node: exp.Expr) -> exp.Expr | None:
    """``extract(part FROM x)``."""
    return _part(node.name.upper(), node.expression) or microseconds(node)


def _part(name: str, of: exp.Expr) -> exp.Expr | None:
    if name == "EPOCH":
        began = exp.cast(exp.Literal.string("1970-01-01 00:00:00"), BARE.copy())
        bare = exp.cast(of.copy(), BARE.copy())
        return fill(_EPOCH, "spark", began=began, bare=bare, x=exp.paren(of.copy()))
    sql = _PARTS.get(name)
    return None if sql is None else fill(sql, "spark", x=exp.paren(of.copy()))


def named_part(node: exp.Expr) -> exp.Expr | None:
    """``date_part('dow', x)``."""
    if len(node.expressions) != 2 or not node.expressions[0].is_string:
        return None
    name, of = node.expressions
    taken = exp.Extract(this=exp.var(name.name.upper()), expression=of.copy())
    return part(taken) or taken


def _function(name: str) -> Change:
    def change(node: exp.Expr) -> exp.Expr | None:
        given = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
        return _part(name, given[0]) if len(given) == 1 else None

    return change


def _microsecond(node: exp.Expr) -> exp.Expr | None:
    taken = exp.Extract(this=exp.var("MICROSECOND"), expression=node.expressions[0].copy())
    return microseconds(taken)


def formatted(node: exp.Expr) -> exp.Expr | None:
    """``strftime``."""
    return call("date_format", node.this, _pattern(node))


def read(node: exp.Expr) -> exp.Expr | None:
    """``strptime``, whose moments have no zone."""
    return call("to_timestamp_ntz", node.this, _pattern(node))


def _pattern(node: exp.Expr) -> str:
    form = node.args["format"]
    if not form.is_string:
        _refuse("format of a moment that is computed")(node)
    found = ""
    for mark in _MARK.finditer(form.name):
        letter, text = mark.groups()
        if letter == "%" or text is not None:
            found += _as_constant(text or "%")
        elif letter in _FORMATS:
            found += _FORMATS[letter]
        else:
            _refuse(f"format of moments with %{letter or ''}")(node)
    return found


def _as_constant(text: str) -> str:
    """Letters stand for themselves within quotes, and other signs anywhere."""
    if not re.search(r"[A-Za-z'\[\]#{}]", text):
        return text
    return "'" + text.replace("'", "''") + "'"


def made_of_parts(node: exp.Expr) -> exp.Expr | None:
    """``make_timestamp`` of its parts, without a zone."""
    parts = [node.args.get(name) for name in ("year", "month", "day", "hour", "min", "sec")]
    if any(given is None for given in parts):
        return None
    return call("make_timestamp_ntz", *[given for given in parts if given is not None])


def in_zone(node: exp.Expr) -> exp.Expr | None:
    """``x AT TIME ZONE zone``, by the type of x."""
    if isinstance(node, exp.Anonymous):
        if len(node.expressions) != 2:
            return None
        zone, of = node.expressions
    else:
        zone, of = node.args["zone"], node.this
    kind = node.meta.get(_NOTE)
    here, bare = call("current_timezone"), exp.cast(of.copy(), BARE.copy())
    if _is_instant(kind):
        return call("convert_timezone", here, zone, bare)
    if isinstance(kind, exp.DataType) and kind.this in _BARES:
        moved = call("convert_timezone", zone, here, bare)
        return exp.cast(moved, "TIMESTAMP", dialect="spark")
    return refused(
        "Hive",
        "AT TIME ZONE of what has no known type",
        "cast it to TIMESTAMP or TIMESTAMP WITH TIME ZONE",
    )(node)


def difference_of_days(node: exp.Expr) -> exp.Expr | None:
    """``date - date``, a number of days."""
    if _is_date(node.meta.get(_NOTE)) and node.meta.get(_LESS_DATE):
        return call("datediff", node.this, node.expression)
    return later(node)


def later(node: exp.Expr) -> exp.Expr | None:
    """A date and a span of time, which make a moment."""
    is_span = isinstance(node.expression, exp.Interval)
    if is_span and _is_date(node.meta.get(_NOTE)):
        node.set("this", exp.cast(node.this.copy(), BARE.copy()))
    return None


def of_moment(change: Change) -> Change:
    """For ``date_trunc``: of a date, it gives a moment without a zone."""

    def changed(node: exp.Expr) -> exp.Expr | None:
        if _is_date(node.meta.get(_NOTE)):
            of = node.expressions[1] if isinstance(node, exp.Anonymous) else node.this
            of.replace(exp.cast(of.copy(), BARE.copy()))
        return change(node)

    return changed


def time_of_day(cast: exp.Expr) -> exp.Expr | None:
    """A cast to TIME, which the store holds as text: what stands behind the date of a moment."""
    if not cast.meta.get(TO_TIME) or isinstance(cast.this, exp.Literal):
        return None
    return fill("substring_index(CAST(x AS STRING), ' ', -1)", "spark", x=cast.this)


def instant_as_text(cast: exp.Expr) -> exp.Expr | None:
    """A cast of an instant to text, which names the offset of the session's zone."""
    if not _is_instant(cast.meta.get(_NOTE)) or not cast.is_type("text"):
        return None
    return fill(_AS_TEXT, "spark", x=cast.this)


TO_TIME = "palimpsest_to_time"
"""At a cast to TIME, noted before that is a text like others."""
_name = partial(template, "spark")
BY_NAME: dict[str, Change] = {
    "date_part": named_part,
    "datepart": named_part,
    "timezone": in_zone,
    "weekday": _function("DOW"),
    "microsecond": _microsecond,
    **{
        name: _function(name.upper())
        for name in ("century", "decade", "millennium", "era", "yearweek", "isoyear", "millisecond")
    },
}
BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.Extract: part,
    exp.DayOfWeek: _function("DOW"),
    exp.DayOfWeekIso: _function("ISODOW"),
    exp.Week: _function("WEEK"),
    exp.TimeToUnix: _function("EPOCH"),
    exp.Dayname: _name("date_format(x, 'EEEE')", "x"),
    exp.Monthname: _name("date_format(x, 'MMMM')", "x"),
    exp.TimeToStr: formatted,
    exp.StrToTime: read,
    exp.TimestampFromParts: made_of_parts,
    exp.AtTimeZone: in_zone,
    exp.Sub: difference_of_days,
    exp.Add: later,
}
