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
from journal.sql.value_steps import Steps
from rewriter.reading.moment_steps import ISO, FieldsMoment, raised

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
_GREGORIAN = frozenset(
    {*("y,yyy", "yyyy", "yyy", "yy", "y", "mm", "month", "mon", "rm", "dd", "ddd", "d", "day")}
    | {"dy", "ww", "w"}
)
_TWELVE = frozenset({"hh", "hh12", "am", "pm", "a.m.", "p.m."})
_SIGN = r"[\s!-/:-@\[-`{-~]"
"""A sign or a blank of a text, as a sign or blank of a template takes one."""
_WHOLE_YEAR = 4
_ADJUSTED = (
    "({n} + CASE WHEN {digits} >= 4 THEN 0 WHEN {n} < 70 THEN 2000 WHEN {n} < 100 THEN 1900"
    " WHEN {n} < 520 THEN 2000 WHEN {n} < 1000 THEN 1000 ELSE 0 END)"
)
"""A year of fewer than four digits, near 2020."""
_SCALED = {
    "ms": "{n} * CASE {digits} WHEN 1 THEN 100 WHEN 2 THEN 10 ELSE 1 END",
    "us": "{n} * CASE {digits} WHEN 1 THEN 100000 WHEN 2 THEN 10000 WHEN 3 THEN 1000"
    " WHEN 4 THEN 100 WHEN 5 THEN 10 ELSE 1 END",
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
    if ISO & {*names} and _GREGORIAN & {*names}:
        raise InvalidReading("invalid combination of date conventions")
    _check(names)
    reader = _Reader(parts)
    reader.read(parts)
    moment = FieldsMoment(names, reader)
    made = moment.date() if is_date else moment.instant()
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


class _Reader(Steps):
    """Puts one step after another; a state has the rest of the text, and the fields that are set.

    Where a sign of the template may take a sign of a field, and a minus may be that of a zone, it
    has ``x`` as well, how many blanks were passed over beyond those of the template, and ``b``,
    whether a minus was the last.
    """

    def __init__(self, parts: Sequence[Pattern]) -> None:
        self.tracks = any(part.name == "tzh" or _is_letter(part) for part in parts)
        self.is_fixed = False
        super().__init__(s="a", **({"x": "0", "b": "FALSE"} if self.tracks else {}))

    def read(self, parts: Sequence[Pattern]) -> None:
        """The steps of a template."""
        if parts and not parts[0].name:
            blanks = {"x": f"length({_BEFORE.format('s_')})"} if self.tracks else {}
            self.step(s=_without_blanks("s_"), **blanks)
        place = 0
        while place < len(parts):
            part, place = parts[place], place + 1
            if part.name == "fx":
                self.is_fixed = True
            elif part.name:
                end = place
                while end < len(parts) and _is_sign(parts[end]) and not self.tracks:
                    end += 1
                self._field(part, parts[place:], signs=end - place)
                place = end
            else:
                self._between(part)

    def _between(self, part: Pattern) -> None:
        rest, is_minus = "substr(s_, 2)", "left(s_, 1) = '-'"
        if self.is_fixed:
            self.step(s=rest)
        elif _is_sign(part) and not self.tracks:
            self.step(s=f"regexp_replace(s_, '^{_SIGN}', '')")
        elif _is_sign(part):
            taken = f"regexp_matches(s_, '^{_SIGN}')"
            self.step(
                s=f"CASE WHEN {taken} THEN {rest} ELSE s_ END",
                x=f"CASE WHEN {taken} THEN x_ ELSE x_ - 1 END",
                b=f"CASE WHEN {taken} THEN {is_minus} ELSE b_ END",
            )
        else:
            self.step(
                s=f"CASE WHEN x_ > 0 THEN s_ ELSE {rest} END",
                x="greatest(x_ - 1, 0)",
                b=f"CASE WHEN x_ > 0 THEN b_ ELSE {is_minus} END",
            )

    def _field(self, part: Pattern, rest: Sequence[Pattern], *, signs: int) -> None:
        field, width = _KEYS[part.name]
        if part.name == "tzh":
            self._zone_sign()
        elif part.name == "tzm" and "zs" not in self.set:
            self.step(zs="CASE WHEN s_ = '' THEN NULL ELSE 1 END")
        found = _match_sql(part, width, _parts_numbers(part, rest))
        letters = 2 if part.is_ordinal and width else 0
        behind = f"substr(s_, length({found}) + {1 + letters})"
        changed = {"s": behind}
        if self.is_fixed:
            changed["s"] = f"substr({behind}, {1 + signs})"
        elif signs or not self.tracks:
            changed["s"] = f"regexp_replace({behind}, '^\\s*{_SIGN}{{0,{signs}}}', '')"
        else:
            changed |= {"s": _without_blanks(behind), "x": f"length({_BEFORE.format(behind)})"}
        if self.tracks:
            changed["b"] = "FALSE"
        value = _value_of(part.name, field, found)
        shown = part.name.upper()
        why = f"error('invalid value \"' || s_ || '\" for \"{shown}\"')"
        value = f"CASE WHEN s_ = '' THEN NULL WHEN {found} = '' THEN {why} ELSE {value} END"
        if field in self.set:
            other = raised(f'conflicting values for "{shown}" field in formatting string')
            value = (
                f"CASE WHEN {field}_ <> {value} THEN {other} ELSE COALESCE({value}, {field}_) END"
            )
        changed[field or "q"] = value
        if part.name in _TWELVE:
            before = "c_" if "c" in self.set else "FALSE"
            changed["c"] = f"{before} OR s_ <> ''"
        self.step(**changed)

    def _zone_sign(self) -> None:
        """A minus before hours of a zone may have been passed over as what parts two fields."""
        written = "regexp_extract(s_, '^\\s*([+-])', 1)"
        before = "x_ > 0 AND b_ AND NOT regexp_matches(s_, '^\\s')"
        self.step(
            zs=f"CASE WHEN s_ = '' THEN NULL WHEN {written} = '-' OR ({written} = '' AND {before})"
            " THEN -1 ELSE 1 END",
            s="regexp_replace(s_, '^\\s*[+-]', '')",
        )


_BEFORE = "regexp_extract({}, '^\\s*')"


def _without_blanks(text: str) -> str:
    return f"regexp_replace({text}, '^\\s+', '')"


def _is_sign(part: Pattern) -> bool:
    """True for what takes a sign or a blank of the text, or nothing."""
    is_plain = bool(part.text) and not part.is_quoted
    return is_plain and not (part.text.isalnum() or ord(part.text) > _LAST_OF_ASCII)


def _is_letter(part: Pattern) -> bool:
    """True for what takes any one sign of the text."""
    return bool(part.text) and not _is_sign(part)


_LAST_OF_ASCII = 126


def _match_sql(part: Pattern, width: int, takes_all: bool) -> str:
    """What the text has for a pattern, with the blanks before it; empty if it has nothing."""
    if part.name == "y,yyy":
        pattern = "[+-]?[0-9]+,[0-9]{1,3}"
    elif not width:
        # Of numerals that begin alike, the longer one is meant.
        words = sorted(_WORDS[part.name], key=len, reverse=True)
        pattern = f"(?i:{'|'.join(map(re.escape, words))})"
    elif takes_all:
        pattern = "[+-]?[0-9]+"
    elif width == 1:
        pattern = "[0-9]"
    else:
        pattern = f"(?:[0-9]{{{width}}}|[+-][0-9]{{{width - 1}}})"
    return f"regexp_extract(s_, '^\\s*{pattern}')"


def _value_of(name: str, field: str, found: str) -> str:
    """The number of what was found, as its field counts."""
    if name in _WORDS:
        listed = ", ".join(f"'{word}'" for word in _WORDS[name])
        place = f"CAST(list_position([{listed}], lower({_without_blanks(found)})) AS INTEGER)"
        return f"{place} - 1" if field in _FROM_ZERO else place
    if name == "y,yyy":
        first, behind = (f"CAST(split_part({found}, ',', {n}) AS INTEGER)" for n in (1, 2))
        return f"{first} * 1000 + {behind}"
    number, digits = f"CAST({found} AS INTEGER)", f"length({_without_blanks(found)})"
    if field in _SCALED:
        return _SCALED[field].format(n=number, digits=digits)
    if field == "y" and len(name) < _WHOLE_YEAR:
        return _ADJUSTED.format(n=number, digits=digits)
    return f"{number} % 7 + 1" if name == "id" else number


def _parts_numbers(part: Pattern, rest: Sequence[Pattern]) -> bool:
    """True where a number ends by itself: FM, an ordinal, or no number right behind it."""
    if part.fills or part.is_ordinal or not rest:
        return True
    behind = rest[0]
    if behind.name:
        return behind.name not in _KEYS or not _KEYS[behind.name][1] or behind.name[:2] == "tz"
    return not behind.text.isdigit()


def signs_of(text: str, *, is_quoted: bool) -> Iterator[Pattern]:
    """The signs of a template that are no pattern."""
    return (Pattern(text=sign, is_quoted=is_quoted) for sign in text)
