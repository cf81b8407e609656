"""What the fields of a date and a time say together, in steps of DuckDB's SQL. Pure.

The fields are those of a template of PostgreSQL; 0 and NULL are not given, as there. Source:
``do_to_timestamp`` of ``formatting.c``.
"""

from __future__ import annotations

from collections.abc import Sequence

from journal.sql.value_steps import Steps

ISO = frozenset({"iyyy", "iyy", "iy", "i", "id", "iddd", "iw"})
"""Patterns of years that begin with a week."""
_BEYOND = "error('date/time field value out of range')"


def raised(message: str) -> str:
    """An error that ends the statement."""
    return f"error('{message}')"


class FieldsMoment:
    """The date and the time of the fields that a template has; 0 and NULL are not given."""

    def __init__(self, names: Sequence[str], steps: Steps) -> None:
        self.names, self.steps = names, steps
        self.fields = {*steps.set}

    def _given(self, name: str) -> str:
        return f"NULLIF({name}_, 0)" if name in self.fields else "NULL"

    def _or(self, name: str, default: str) -> str:
        return f"COALESCE({self._given(name)}, {default})" if name in self.fields else default

    def _set_year(self) -> None:
        """The year as the calendar counts it, 0 before 1, in ``yr``."""
        bc = "bc_ = 1" if "bc" in self.fields else "FALSE"
        has_century = "cc" in self.fields
        self.steps.step(
            yr=f"CASE WHEN {bc} THEN -{self._or('y', '0')} ELSE {self._or('y', '0')} END",
            **({"ce": f"CASE WHEN {bc} THEN -cc_ ELSE cc_ END"} if has_century else {}),
        )
        year = "CASE WHEN yr_ < 0 THEN yr_ + 1 ELSE yr_ END"
        if has_century:
            first = "CASE WHEN ce_ >= 0 THEN (ce_ - 1) * 100 + 1 ELSE ce_ * 100 + 1 END"
            year = f"CASE WHEN yr_ = 0 AND ce_ <> 0 THEN {first} ELSE {year} END"
        if has_century and {"y", "yy", "i", "iy"} & {*self.names}:
            rest = "(abs(yr_) % 100)"
            last = "ce_ * 100 + CASE WHEN ce_ >= 0 THEN 0 ELSE 1 END"
            year = (
                f"CASE WHEN yr_ <> 0 AND ce_ <> 0 THEN CASE WHEN {rest} = 0 THEN {last}"
                f" WHEN ce_ < 0 THEN (ce_ + 1) * 100 - {rest} + 1 ELSE {rest} + (ce_ - 1) * 100 END"
                f" ELSE {year} END"
            )
        self.steps.step(yr=year)

    def _day(self) -> str:
        if "j" in self.fields:
            given = "CAST('2000-01-01' AS DATE) + CAST(j_ - 2451545 AS INTEGER)"
            return f"CASE WHEN j_ <> 0 THEN {given} ELSE make_date(0, 1, 1) END"
        day = self._or("dd", "1")
        if "w" in self.fields:
            day = f"COALESCE(({self._given('w')} - 1) * 7 + 1, {day})"
        plain = f"make_date(yr_, {self._or('mo', '1')}, {day})"
        if ISO & {*self.names}:
            fourth = "make_date(yr_, 1, 4)"
            monday = f"({fourth} - CAST(isodow({fourth}) - 1 AS INTEGER))"
            if "ww" in self.fields:
                into = f"COALESCE(({self._given('d')} + 5) % 7, 0)" if "d" in self.fields else "0"
                week = f"{monday} + CAST((ww_ - 1) * 7 + {into} AS INTEGER)"
                return f"CASE WHEN ww_ <> 0 THEN {week} ELSE {plain} END"
            if "ddd" in self.fields:
                return f"CASE WHEN ddd_ <> 0 THEN {monday} + (ddd_ - 1) ELSE {plain} END"
        elif {"ddd", "ww"} & self.fields:
            return self._day_of_year(plain)
        return plain

    def _day_of_year(self, plain: str) -> str:
        """The day by its number in the year, or the first one of a week; otherwise a plain one."""
        given, number = "ddd_", "ddd_"
        if "ww" in self.fields:
            given, number = "ww_", "((ww_ - 1) * 7 + 1)"
        lacking = raised("cannot calculate day of year without year information")
        last = "dayofyear(make_date(yr_, 12, 31))"
        return (
            f"CASE WHEN COALESCE({given}, 0) = 0 THEN {plain} WHEN yr_ = 0 THEN {lacking}"
            f" WHEN {number} NOT BETWEEN 1 AND {last} THEN {_BEYOND}"
            f" ELSE make_date(yr_, 1, 1) + CAST({number} - 1 AS INTEGER) END"
        )

    def _set_time(self) -> None:
        """The microseconds of the day, which must be of one, in ``us``."""
        of_day = ("sd_ // 3600", "sd_ // 60 % 60", "sd_ % 60")
        rest = of_day if "sd" in self.fields else ("0", "0", "0")
        parts = {
            name: f"COALESCE({self._given(name)}, {seconds}, 0)"
            for name, seconds in zip(("hh", "mi", "ss"), rest, strict=True)
            if name in self.fields or "sd" in self.fields
        }
        if "c" in self.fields and "hh" not in parts:
            parts["hh"] = "0"
        self.steps.step(us=f"{self._or('us', '0')} + {self._or('ms', '0')} * 1000", **parts)
        if "c" in self.fields:
            pm = "COALESCE(pm_, 0)" if "pm" in self.fields else "0"
            wrong = (
                "error('hour \"' || CAST(hh_ AS VARCHAR) || '\" is invalid for the 12-hour clock')"
            )
            self.steps.step(
                hh=f"CASE WHEN c_ IS NOT TRUE THEN hh_ WHEN hh_ NOT BETWEEN 1 AND 12 THEN {wrong}"
                f" WHEN {pm} = 1 AND hh_ < 12 THEN hh_ + 12"
                f" WHEN {pm} = 0 AND hh_ = 12 THEN 0 ELSE hh_ END"
            )
        most = {"hh": 23, "mi": 59, "ss": 59, "us": 999999}
        size = {"hh": 3600000000, "mi": 60000000, "ss": 1000000, "us": 1}
        known = [name for name in most if name in parts or name == "us"]
        checks = " OR ".join(f"{name}_ NOT BETWEEN 0 AND {most[name]}" for name in known)
        whole = " + ".join(f"CAST({name}_ AS BIGINT) * {size[name]}" for name in known)
        self.steps.step(us=f"CASE WHEN {checks} THEN {_BEYOND} ELSE {whole} END")

    def _has_time(self) -> bool:
        return bool({"hh", "mi", "ss", "ms", "us", "sd", "c"} & self.fields)

    def date(self) -> str:
        """The day; the time of day must be one."""
        self._set_year()
        if not self._has_time():
            return self.steps.result_sql(self._day())
        self._set_time()
        return self.steps.result_sql(f"CASE WHEN us_ >= 0 THEN {self._day()} END")

    def instant(self) -> str:
        """The moment, in the zone of the text or of the session."""
        self._set_year()
        day = f"CAST({self._day()} AS TIMESTAMP)"
        moment = day
        if self._has_time():
            self._set_time()
            digits = next((int(name[2]) for name in reversed(self.names) if name[:2] == "ff"), 6)
            unit = 10 ** (6 - digits)
            time = f"CAST(round(us_ / {unit}) AS BIGINT) * {unit}" if digits < 6 else "us_"
            moment = f"({day} + to_microseconds({time}))"
        local = f"CAST({moment} AS TIMESTAMPTZ)"
        if not {"zh", "zm"} & self.fields:
            return self.steps.result_sql(local)
        hours, minutes = self._or("zh", "0"), self._or("zm", "0")
        there = f"({moment} - to_minutes(CAST(zs_ * ({hours} * 60 + {minutes}) AS BIGINT)))"
        return self.steps.result_sql(
            f"CASE WHEN zs_ IS NULL THEN {local}"
            f" WHEN {hours} NOT BETWEEN 0 AND 15 OR {minutes} NOT BETWEEN 0 AND 59 THEN {_BEYOND}"
            f" ELSE timezone('UTC', {there}) END"
        )
