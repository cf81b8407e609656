"""Refuses values that a Hive store cannot hold, before it sends them.

    DATE '10000-01-01', '0044-03-15 (BC)', 'infinity'    PAL-311: years 1 to 9999 come back
    170141183460469231731687303715884105727              PAL-311: a HUGEINT has 38 digits there
    TIMESTAMP '1582-10-10 00:00:00' on Apache Hive       PAL-311: its files skip these ten days

Apache Hive makes NULL or another day of such values and says nothing; Spark keeps some that
nobody reads back. Looks at rows as the text that travels; never at members of lists and structs.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.engine import HiveEngine

_T = exp.DType
_YEARS = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:.]+)?")
_DIGITS_MAX = 38
_FIRST_US, _END_US = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The years 1 to 9999 in microseconds since 1970; the end is excluded."""
_GAP_US = range(-12_220_156_800_000_000, -12_219_292_800_000_000)
"""From 1582-10-05 to 1582-10-14, which neither calendar of Hive's timestamps has."""
_GAP = re.compile(r"1582-10-(0[5-9]|1[0-4])")


def _is_dated(text: str) -> bool:
    return _YEARS.fullmatch(text) is not None


def _is_dated_by_hive(text: str) -> bool:
    return _is_dated(text) and not _GAP.match(text)


def _is_instant(text: str) -> bool:
    return text not in {"infinity", "-infinity"} and _FIRST_US <= int(text) < _END_US


def _is_instant_of_hive(text: str) -> bool:
    return _is_instant(text) and int(text) not in _GAP_US


def _has_digits(text: str) -> bool:
    return len(text.lstrip("-")) <= _DIGITS_MAX


_TIMES = {_T.TIMESTAMP, _T.TIMESTAMPNTZ, _T.TIMESTAMP_S, _T.TIMESTAMP_MS}
_INSTANTS = {_T.TIMESTAMPTZ, _T.TIMESTAMPLTZ}
_YEARS_TOLD = "a Hive store has the years 1 to 9999"
_GAP_TOLD = f"{_YEARS_TOLD}, and Apache Hive no 5 to 14 October 1582"
_ADVICE = "write NULL or a value within, or keep the column as text"


def _bound(kind: exp.DType, engine: HiveEngine) -> tuple[Callable[[str], bool], str] | None:
    """Whether a text of a type can be held, and what is said if not; None where all can."""
    is_apache = engine is HiveEngine.APACHE
    if kind is _T.INT128:
        return _has_digits, f"a HUGEINT has {_DIGITS_MAX} digits in a Hive store"
    if kind is _T.DATE:
        return _is_dated, _YEARS_TOLD
    if kind in _TIMES:
        return (_is_dated_by_hive, _GAP_TOLD) if is_apache else (_is_dated, _YEARS_TOLD)
    if kind in _INSTANTS:
        return (_is_instant_of_hive, _GAP_TOLD) if is_apache else (_is_instant, _YEARS_TOLD)
    return None


def check_bounds(
    columns: Sequence[tuple[str, exp.DType]],
    rows: Sequence[Sequence[str | None]],
    engine: HiveEngine,
) -> None:
    """Raise OUT_OF_RANGE for the first value, as the text that travels, that is not held."""
    for place, (name, kind) in enumerate(columns):
        found = _bound(kind, engine)
        if found is None:
            continue
        holds, told = found
        for row in rows:
            text = row[place]
            if text is not None and not holds(text):
                raise PalimpsestError(
                    Code.OUT_OF_RANGE,
                    f'the value {text} of column "{name}" cannot be held: {told}',
                    advice=_ADVICE,
                )
