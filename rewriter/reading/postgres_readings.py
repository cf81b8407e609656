"""``to_date`` and ``to_timestamp`` by PostgreSQL's templates, for stores that can fail on purpose.

Pure. A template becomes steps over a state, as in PostgreSQL's own reader: the rest of the text,
how many blanks were passed over beyond those of the template, and the fields that were read. Each
step is a ``list_transform`` over a list of one state, so that it is computed once.

    to_timestamp('2011-12-18 11:38 PM', 'YYYY-MM-DD HH12:MI PM')

A field reads as many digits as it has letters if another number follows at once, and all there are
otherwise. A text may end before its template. Source: ``DCH_from_char`` of ``formatting.c``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from journal.model.lazy_dataclass import dataclass

_KEYS: Mapping[str, tuple[str, int]] = {
    "y,yyy": ("y", 5), "yyyy": ("y", 4), "yyy": ("y", 3), "yy": ("y", 2), "y": ("y", 1),
    "iyyy": ("y", 4), "iyy": ("y", 3), "iy": ("y", 2), "i": ("y", 1),
    "mm": ("mo", 2), "month": ("mo", 0), "mon": ("mo", 0), "rm": ("mo", 0),
    "dd": ("dd", 2), "ddd": ("ddd", 3), "iddd": ("ddd", 3), "d": ("d", 1), "id": ("d", 1),
    "day": ("d", 0), "dy": ("d", 0), "ww": ("ww", 2), "iw": ("ww", 2), "w": ("w", 1),
    "cc": ("cc", 2), "q": ("", 1), "j": ("j", 1),
    "hh24": ("hh", 2), "hh12": ("hh", 2), "hh": ("hh", 2), "mi": ("mi", 2), "ss": ("ss", 2),
    "ms": ("ms", 3), "us": ("us", 6), **{f"ff{n}": ("us", n) for n in range(1, 7)},
    "ssss": ("sd", 4), "sssss": ("sd", 5), "tzh": ("zh", 2), "tzm": ("zm", 2),
    **dict.fromkeys(("am", "pm", "a.m.", "p.m."), ("pm", 0)),
    **dict.fromkeys(("ad", "bc", "a.d.", "b.c."), ("bc", 0)),
}  # fmt: skip
"""Patterns, the field that each reads, and how many digits it has; 0 for words."""
_WORDS: Mapping[str, Sequence[str]] = {
    "month": "january february march april may june july august september october november"
    " december".split(),
    "mon": "jan feb mar apr may jun jul aug sep oct nov dec".split(),
    "rm": "i ii iii iv v vi vii viii ix x xi xii".split(),
    "day": "sunday monday tuesday wednesday thursday friday saturday".split(),
    "dy": "sun mon tue wed thu fri sat".split(),
    **dict.fromkeys(("am", "pm"), ("am", "pm")),
    **dict.fromkeys(("a.m.", "p.m."), ("a.m.", "p.m.")),
    **dict.fromkeys(("ad", "bc"), ("ad", "bc")),
    **dict.fromkeys(("a.d.", "b.c."), ("a.d.", "b.c.")),
}
_FROM_ZERO = frozenset({"pm", "bc"})
_ISO = frozenset({"iyyy", "iyy", "iy", "i", "id", "iddd", "iw"})
_GREGORIAN = frozenset(
    {*("y,yyy", "yyyy", "yyy", "yy", "y", "mm", "month", "mon", "rm", "dd", "ddd", "d", "day")}
    | {"dy", "ww", "w"}
)
_TWELVE = frozenset({"hh", "hh12", "am", "pm", "a.m.", "p.m."})
_SIGN = "[!-/:-@\\[-`{-~]"
_NUMBER = "^[+-]?[0-9]+"
_ADJUSTED = (
    "CASE WHEN length(v) >= 4 THEN n WHEN n < 70 THEN n + 2000 WHEN n < 100 THEN n + 1900"
    " WHEN n < 520 THEN n + 2000 WHEN n < 1000 THEN n + 1000 ELSE n END"
)
"""A year of fewer than four digits, near 2020."""
_SCALED = {
    "ms": "n * CASE length(v) WHEN 1 THEN 100 WHEN 2 THEN 10 ELSE 1 END",
    "us": "n * CASE length(v) WHEN 1 THEN 100000 WHEN 2 THEN 10000 WHEN 3 THEN 1000 WHEN 4 THEN 100"
    " WHEN 5 THEN 10 ELSE 1 END",
}
"""25 milliseconds are a quarter of a second, 025 a fortieth."""


class UnknownReading(Exception):
    """A template with a pattern, or patterns together, that are not read here."""


class InvalidReading(Exception):
    """A template that PostgreSQL refuses as well."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A part of a template: a pattern by its name in small letters, or one sign of ``text``."""

    name: str = ""
    text: str = ""
    is_quoted: bool = False
    fills: bool = False
    """Whether FM stands before it."""
    is_ordinal: bool = False


def reading_sql(parts: Sequence[Pattern], *, is_date: bool) -> str:
    """DuckDB's SQL for what the text ``a`` says by a template.

    Raises UnknownReading and InvalidReading.
    """
    names = [part.name for part in parts if part.name]
    if _ISO & {*names} and _GREGORIAN & {*names}:
        raise InvalidReading("invalid combination of date conventions")
    _check(names)
    fields = {_KEYS[name][0] for name in names if name != "fx"} - {""}
    reader = _Reader(fields)
    for place, part in enumerate(parts):
        reader.read(part, parts[place + 1 :], is_first=place == 0)
    moment = _Moment(names, fields)
    made = reader.ended(moment.date() if is_date else moment.instant())
    at_once = _read_at_once(parts)
    if at_once is None:
        return made
    return f"COALESCE(CAST({at_once} AS {'DATE' if is_date else 'TIMESTAMPTZ'}), {made})"


_CODES = {
    "yyyy": ("%Y", 4), "mm": ("%m", 2), "dd": ("%d", 2), "hh24": ("%H", 2), "mi": ("%M", 2),
    "ss": ("%S", 2),
}  # fmt: skip


def _read_at_once(parts: Sequence[Pattern]) -> str | None:
    """What a text gives that is as long as its template, and looks like it; NULL for other texts.

    The store reads these itself, in a fraction of the time. None where it has no code for a part.
    """
    pattern, codes = "", ""
    for part in parts:
        if part.name not in _CODES and (part.name or part.text.isalnum() or part.text in "'%\\"):
            return None
        code, width = _CODES.get(part.name, (part.text, 1))
        pattern += f"[0-9]{{{width}}}" if part.name else re.escape(part.text)
        codes += code
    given = {part.name for part in parts}
    if not {"yyyy", "mm", "dd"} <= given or len([p for p in parts if p.name]) != len(given - {""}):
        return None
    return f"try_strptime(CASE WHEN regexp_full_match(a, '{pattern}') THEN a END, '{codes}')"


def _check(names: Sequence[str]) -> None:
    unknown = next((name for name in names if name not in _KEYS and name != "fx"), None)
    if unknown is not None:
        raise UnknownReading(f"the pattern {unknown.upper()}")
    fields = {_KEYS[name][0] for name in names if name != "fx"}
    days = {"ddd", "ww"} & fields
    if "j" in fields and fields & {"y", "mo", "dd", "ddd", "ww", "w", "cc", "bc"}:
        raise UnknownReading("J beside other patterns of a day")
    if days and fields & {"mo", "dd", "w"}:
        raise UnknownReading("a day of the year beside a month")
    if len(days) > 1:
        raise UnknownReading("a week beside a day of the year")
    if not names or names == ["fx"]:
        raise UnknownReading("a template without patterns")


class _Reader:
    """Puts one step after another."""

    def __init__(self, fields: set[str]) -> None:
        self.fields = sorted(fields)
        self.seen: set[str] = set()
        self.is_fixed = False
        unset = ", ".join(f"'{name}': CAST(NULL AS INTEGER)" for name in [*self.fields, "zs", "c"])
        start = "'s': a, 'x': 0, 'b': FALSE, 'z': FALSE, 'v': '', " + unset
        self.sql = f"[{{{start}}}]"

    def _step(self, **changed: str) -> None:
        """A state with changed parts, which may name parts of the state before: ``s_``, ``x_``."""
        every = ("s", "x", "b", "z", "v", "zs", "c", *self.fields)
        kept = {name: f"{name}_" for name in every} | changed
        inside = ", ".join(f"'{name}': {value}" for name, value in kept.items())
        self.sql = f"list_transform({self.sql}, LAMBDA t: {{{self._named(inside)}}})"

    def ended(self, made: str) -> str:
        """What is made of the last state; NULL of no text."""
        made = f"CASE WHEN s_ IS NOT NULL THEN {made} END"
        named = self._named(made)
        return f"list_extract(list_transform({self.sql}, LAMBDA t: {named}), 1)"

    def _named(self, sql: str) -> str:
        every = "|".join(("s", "x", "b", "z", "v", "zs", "c", *self.fields))
        return re.sub(rf"\b({every})_(?!\w)", r"struct_extract(t, '\1')", sql)

    def read(self, part: Pattern, rest: Sequence[Pattern], *, is_first: bool) -> None:
        """The step of a part of the template."""
        if not self.is_fixed and (part.name or is_first):
            self._step(
                s="ltrim(s_, blanks)",
                x="x_ + length(s_) - length(ltrim(s_, blanks))",
                b="b_ AND NOT regexp_matches(s_, '^\\s')",
                z="s_ = ''",
            )
        else:
            self._step(z="s_ = ''")
        if part.name == "fx":
            self.is_fixed = True
        elif part.name:
            self._field(part, rest)
        else:
            self._between(part)

    def _between(self, part: Pattern) -> None:
        sign = part.text
        is_sign = not part.is_quoted and not (sign.isalnum() or ord(sign) > 126)
        rest, is_minus = "substr(s_, 2)", "left(s_, 1) = '-'"
        if self.is_fixed:
            self._step(s=rest)
        elif is_sign:
            taken = f"regexp_matches(s_, '^(\\s|{_SIGN})')"
            self._step(
                s=f"CASE WHEN {taken} THEN {rest} ELSE s_ END",
                x=f"CASE WHEN z_ OR {taken} THEN x_ ELSE x_ - 1 END",
                b=f"CASE WHEN {taken} THEN {is_minus} ELSE b_ END",
            )
        else:
            self._step(
                s=f"CASE WHEN x_ > 0 THEN s_ ELSE {rest} END",
                x="CASE WHEN x_ > 0 THEN x_ - 1 ELSE x_ END",
                b=f"CASE WHEN x_ > 0 THEN b_ ELSE {is_minus} END",
            )

    def _field(self, part: Pattern, rest: Sequence[Pattern]) -> None:
        field, width = _KEYS[part.name]
        if part.name == "tzh":
            self._zone_sign()
        elif part.name == "tzm":
            self._step(zs="CASE WHEN z_ THEN zs_ ELSE COALESCE(zs_, 1) END")
        if part.name == "y,yyy":
            value = self._thousands()
        elif not width:
            value = self._word(part.name)
        else:
            self._digits(part, width, _parts_numbers(part, rest))
            value = _value_of(part.name, field)
        letters = 2 if part.is_ordinal and width else 0
        end = f"substr(s_, length(v_) + {1 + letters})"
        after = end if self.is_fixed else f"ltrim({end}, blanks)"
        changed = {"s": after, "x": "0" if self.is_fixed else f"length({end}) - length({after})"}
        if field:
            changed[field] = self._kept(part.name, field, value)
        if part.name in _TWELVE:
            changed["c"] = "CASE WHEN z_ THEN c_ ELSE 1 END"
        self._step(b="FALSE", **changed)
        self.seen |= {field}

    def _kept(self, name: str, field: str, value: str) -> str:
        """The field, which two patterns must say alike."""
        made = f"CASE WHEN z_ THEN {field}_ ELSE {value} END"
        if field not in self.seen:
            return made
        why = _raised(f'conflicting values for "{name.upper()}" field in formatting string')
        return (
            f"CASE WHEN NOT z_ AND {field}_ <> 0 AND {field}_ <> {value} THEN {why} ELSE {made} END"
        )

    def _digits(self, part: Pattern, width: int, takes_all: bool) -> None:
        """What a number is, as a text; the rest of the text begins with it."""
        shown = part.name.upper()
        if takes_all:
            found = f"regexp_extract(s_, '{_NUMBER}')"
            wrong = f"{found} = ''"
        else:
            found = f"regexp_extract(left(s_, {width}), '{_NUMBER}')"
            wrong = f"length({found}) < {width}"
        why = f"error('invalid value \"' || s_ || '\" for \"{shown}\"')"
        self._step(v=f"CASE WHEN z_ THEN '' WHEN {wrong} THEN {why} ELSE {found} END")

    def _word(self, name: str) -> str:
        words = _WORDS[name]
        # Of numerals that begin alike, the longer one is meant.
        either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        found = f"regexp_extract(lower(s_), '^({either})')"
        why = f"error('invalid value \"' || s_ || '\" for \"{name.upper()}\"')"
        self._step(v=f"CASE WHEN z_ THEN '' WHEN {found} = '' THEN {why} ELSE {found} END")
        first = 0 if _KEYS[name][0] in _FROM_ZERO else 1
        listed = ", ".join(f"'{word}'" for word in words)
        return f"CAST(list_position([{listed}], v_) AS INTEGER) - {1 - first}"

    def _thousands(self) -> str:
        found = "regexp_extract(s_, '^[+-]?[0-9]+,[0-9]{1,3}')"
        why = "error('invalid input string for \"Y,YYY\"')"
        self._step(v=f"CASE WHEN z_ THEN '' WHEN {found} = '' THEN {why} ELSE {found} END")
        first, behind = (f"CAST(split_part(v_, ',', {n}) AS INTEGER)" for n in (1, 2))
        return f"{first} * 1000 + {behind}"

    def _zone_sign(self) -> None:
        """A minus before hours of a zone may have been passed over as what parts two fields."""
        before = "CASE WHEN x_ > 0 AND b_ THEN -1 ELSE 1 END"
        written = "regexp_matches(s_, '^[+ -]')"
        sign = f"CASE WHEN {written} THEN CASE left(s_, 1) WHEN '-' THEN -1 ELSE 1 END"
        self._step(
            zs=f"CASE WHEN z_ THEN zs_ ELSE {sign} ELSE {before} END END",
            s=f"CASE WHEN {written} THEN ltrim(substr(s_, 2), blanks) ELSE s_ END",
        )


def _value_of(name: str, field: str) -> str:
    """The number of a text of digits, as its field counts."""
    number = "CAST(v_ AS INTEGER)"
    if field in _SCALED:
        return re.sub(r"\bn\b", number, _SCALED[field]).replace("(v)", "(v_)")
    if field == "y" and len(name) < 4:
        return "(" + re.sub(r"\bn\b", number, _ADJUSTED).replace("(v)", "(v_)") + ")"
    return f"({number} % 7 + 1)" if name == "id" else number


def _parts_numbers(part: Pattern, rest: Sequence[Pattern]) -> bool:
    """True where a number ends by itself: FM, an ordinal, or no number right behind it."""
    if part.fills or part.is_ordinal or not rest:
        return True
    behind = rest[0]
    if behind.name:
        return behind.name not in _KEYS or not _KEYS[behind.name][1] or behind.name[:2] == "tz"
    return not behind.text.isdigit()


class _Moment:
    """The date and the time of the fields that a template has; 0 and NULL are not given."""

    def __init__(self, names: Sequence[str], fields: set[str]) -> None:
        self.names, self.fields = names, fields

    def _field(self, name: str) -> str:
        return f"NULLIF({name}_, 0)" if name in self.fields else "NULL"

    def _year(self) -> str:
        bc = "bc_ = 1" if "bc" in self.fields else "FALSE"
        year = self._field("y")
        signed = f"CASE WHEN {bc} THEN -{year} ELSE {year} END"
        plain = f"CASE WHEN ({signed}) < 0 THEN ({signed}) + 1 ELSE {signed} END"
        if "cc" not in self.fields:
            return f"COALESCE({plain}, 0)" if "y" in self.fields else "0"
        century = f"(CASE WHEN {bc} THEN -{self._field('cc')} ELSE {self._field('cc')} END)"
        first = (
            f"CASE WHEN {century} >= 0 THEN ({century} - 1) * 100 + 1 ELSE {century} * 100 + 1 END"
        )
        if "y" not in self.fields:
            return f"COALESCE({first}, 0)"
        if all(len(name) > 2 for name in self.names if _KEYS.get(name, ("",))[0] == "y"):
            return f"COALESCE({plain}, {first}, 0)"
        rest = f"({year} % 100)"
        last = f"{century} * 100 + CASE WHEN {century} >= 0 THEN 0 ELSE 1 END"
        within = (
            f"CASE WHEN {rest} = 0 THEN {last}"
            f" WHEN {century} < 0 THEN ({century} + 1) * 100 - {rest} + 1"
            f" ELSE {rest} + ({century} - 1) * 100 END"
        )
        return (
            f"COALESCE(CASE WHEN {year} IS NOT NULL AND {century} IS NOT NULL THEN {within} END,"
            f" {plain}, {first}, 0)"
        )

    def _day(self) -> str:
        year = self._year()
        if "j" in self.fields:
            given = "CAST('2000-01-01' AS DATE) + CAST(j_ - 2451545 AS INTEGER)"
            return f"CASE WHEN j_ <> 0 THEN {given} ELSE make_date(0, 1, 1) END"
        month = f"COALESCE({self._field('mo')}, 1)"
        day = f"COALESCE({self._field('dd')}, 1)"
        if "w" in self.fields:
            day = f"COALESCE(({self._field('w')} - 1) * 7 + 1, {day})"
        plain = f"make_date({year}, {month}, {day})"
        if _ISO & {*self.names}:
            fourth = f"make_date({year}, 1, 4)"
            monday = f"({fourth} - CAST(isodow({fourth}) - 1 AS INTEGER))"
            if "ww" in self.fields:
                into = f"COALESCE(({self._field('d')} + 5) % 7, 0)" if "d" in self.fields else "0"
                week = f"{monday} + CAST((ww_ - 1) * 7 + {into} AS INTEGER)"
                return f"CASE WHEN ww_ <> 0 THEN {week} ELSE {plain} END"
            if "ddd" in self.fields:
                return f"CASE WHEN ddd_ <> 0 THEN {monday} + (ddd_ - 1) ELSE {plain} END"
            return plain
        if {"ddd", "ww"} & self.fields:
            return self._day_of_year(plain)
        return plain

    def _day_of_year(self, plain: str) -> str:
        """The day by its number in the year, or the first one of a week; otherwise a plain one."""
        given, number = "ddd_", "ddd_"
        if "ww" in self.fields:
            given, number = "ww_", "((ww_ - 1) * 7 + 1)"
        year = self._year()
        lacking = _raised("cannot calculate day of year without year information")
        beyond = _raised("date/time field value out of range")
        last = f"dayofyear(make_date({year}, 12, 31))"
        return (
            f"CASE WHEN COALESCE({given}, 0) = 0 THEN {plain} WHEN {year} = 0 THEN {lacking}"
            f" WHEN {number} NOT BETWEEN 1 AND {last} THEN {beyond}"
            f" ELSE make_date({year}, 1, 1) + CAST({number} - 1 AS INTEGER) END"
        )

    def _parts(self) -> tuple[str, str, str]:
        """Hour, minute and second."""
        of_day = ("sd_ // 3600", "sd_ // 60 % 60", "sd_ % 60")
        found = [
            f"COALESCE({self._field(name)}, {seconds if 'sd' in self.fields else 'NULL'}, 0)"
            for name, seconds in zip(("hh", "mi", "ss"), of_day, strict=True)
        ]
        pm = "COALESCE(pm_, 0)" if "pm" in self.fields else "0"
        wrong = "error('hour \"' || CAST(h AS VARCHAR) || '\" is invalid for the 12-hour clock')"
        hour = (
            f"CASE WHEN c_ IS NULL THEN h WHEN h < 1 OR h > 12 THEN {wrong}"
            f" WHEN {pm} = 1 AND h < 12 THEN h + 12 WHEN {pm} = 0 AND h = 12 THEN 0 ELSE h END"
        )
        return "(" + re.sub(r"\bh\b", found[0], hour) + ")", found[1], found[2]

    def _time(self) -> str:
        """The microseconds of the day, which must be of one."""
        hour, minute, second = self._parts()
        ms, us = (f"COALESCE({self._field(name)}, 0)" for name in ("ms", "us"))
        fraction = f"({ms} * 1000 + {us})"
        beyond = _raised("date/time field value out of range")
        checks = " OR ".join(
            f"{value} NOT BETWEEN 0 AND {most}"
            for value, most in ((hour, 23), (minute, 59), (second, 59), (fraction, 999999))
        )
        whole = f"((CAST({hour} AS BIGINT) * 60 + {minute}) * 60 + {second}) * 1000000 + {fraction}"
        return f"CASE WHEN {checks} THEN {beyond} ELSE {whole} END"

    def date(self) -> str:
        """The day; the time of day must be one."""
        return f"CASE WHEN ({self._time()}) >= 0 THEN {self._day()} END"

    def instant(self) -> str:
        """The moment, in the zone of the text or of the session."""
        time = f"({self._time()})"
        digits = next((int(name[2]) for name in reversed(self.names) if name[:2] == "ff"), 6)
        if digits < 6:
            unit = 10 ** (6 - digits)
            time = f"(CAST(round({time} / {unit}) AS BIGINT) * {unit})"
        moment = f"(CAST({self._day()} AS TIMESTAMP) + to_microseconds({time}))"
        local = f"CAST({moment} AS TIMESTAMPTZ)"
        if not {"zh", "zm"} & self.fields:
            return local
        hours, minutes = (f"COALESCE({self._field(name)}, 0)" for name in ("zh", "zm"))
        beyond = _raised("date/time field value out of range")
        there = f"({moment} - to_minutes(CAST(zs_ * ({hours} * 60 + {minutes}) AS BIGINT)))"
        return (
            f"CASE WHEN zs_ IS NULL THEN {local}"
            f" WHEN {hours} NOT BETWEEN 0 AND 15 OR {minutes} NOT BETWEEN 0 AND 59 THEN {beyond}"
            f" ELSE timezone('UTC', {there}) END"
        )


def _raised(message: str) -> str:
    return f"error('{message}')"


def signs_of(text: str, *, is_quoted: bool) -> Iterator[Pattern]:
    """The signs of a template that are no pattern."""
    return (Pattern(text=sign, is_quoted=is_quoted) for sign in text)
