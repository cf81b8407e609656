r"""Texts of moments whose seconds have more than six digits, which PostgreSQL rounds. Pure.

v::timestamp, v::time    of a text '2024-01-01 10:00:00.1234567': .123457, where stores cut it

PostgreSQL takes the fraction as a DOUBLE and rounds its microseconds to the even number.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill

_OF_A_DAY = frozenset({exp.DType.TIME, exp.DType.TIMETZ})
MOMENTS = _OF_A_DAY | {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ}
_FRACTION = r"(:\d\d)\.\d+"
_WHOLE_SECONDS = rf"TRY_CAST(regexp_replace(x, '{_FRACTION}', '\1') AS DATE)"
_ROUNDED = (
    rf"{_WHOLE_SECONDS} + to_microseconds(CAST(round_even(CAST(concat('0', regexp_extract(x,"
    r" ':\d\d(\.\d+)', 1)) AS DOUBLE) * 1000000, 0) AS BIGINT))"
)
_MIDNIGHT = rf"TRY_CAST(regexp_replace(x, '^[^:]*:\d\d{_FRACTION}', '24:00:00') AS DATE)"
_ROUNDED_TIME = f"CASE WHEN {_ROUNDED} < {_WHOLE_SECONDS} THEN {_MIDNIGHT} ELSE {_ROUNDED} END"
_TEXT = (
    r"CASE WHEN x LIKE '%._______%' AND regexp_matches(x, ':\d\d\.\d{7}')"
    " THEN COALESCE(CAST(m AS VARCHAR), x) ELSE x END"
)
"""The pattern of LIKE costs next to nothing, and leaves out what the regular expression costs."""


def with_short_fraction(text: exp.Expr, kind: exp.DType) -> exp.Expr:
    """A text of a moment of that kind with six digits at most; one that is none as it is."""
    value = exp.paren(text.copy(), copy=False)
    moment = fill(_ROUNDED_TIME if kind in _OF_A_DAY else _ROUNDED, x=value)
    for cast in moment.find_all(exp.TryCast):
        cast.to.set("this", kind)
    return fill(_TEXT, x=value, m=moment)
