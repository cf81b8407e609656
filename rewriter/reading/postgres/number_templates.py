"""``to_char`` of numbers by PostgreSQL's templates, in DuckDB's SQL. Pure.

    to_char(n, 'FM999,990.00')     its digits, grouped and filled up
    to_char(n, 'SG99V9')           with a sign, ten times as large
    to_char(n, 'RN'), 'FM999th'    Roman numbers, ordinal ones

A template has places for digits before and behind the point. What stands in the places before it is
the text of the digits with blanks, or nothing, in front; the sign stands before the first digit,
wherever that is. What is no pattern stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.sql.builders import fill, variable

_WORDS = (
    *("EEEE", "eeee", "FM", "fm", "MI", "mi", "PL", "pl", "PR", "pr", "RN", "rn", "SG", "sg"),
    *("SP", "sp", "TH", "th", "B", "b", "C", "c", "D", "d", "G", "g", "L", "l", "S", "s"),
    *("V", "v", "9", "0", ".", ","),
)
_PART = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"?|\\(?P<quote>")|(?P<word>'
    + "|".join(map(re.escape, _WORDS))
    + r")|(?P<other>.)",
    re.S,
)
_DIGITS_MAX = 38
_WHOLE_MAX = 28
_DOUBLE_DIGITS = 15
"""How many digits PostgreSQL writes of a DOUBLE."""
ORDINAL = (
    "CASE WHEN regexp_matches(n, '1[0-9]$') THEN 'th' WHEN ends_with(n, '1') THEN 'st'"
    " WHEN ends_with(n, '2') THEN 'nd' WHEN ends_with(n, '3') THEN 'rd' ELSE 'th' END"
)
"""The ending of an ordinal number, by the text of its digits."""
_SCIENTIFIC = (
    "CASE WHEN x < 0 THEN '-' WHEN x >= 0 THEN ' ' END || printf(f, abs(CAST(x AS DOUBLE)))"
)
_ROMAN_DIGITS = ("", "a", "aa", "aaa", "ab", "b", "ba", "baa", "baaa", "ac")
"""What the letters of one, five and ten make of a digit."""
_ROMAN = "||".join(
    f"translate(list_extract({list(_ROMAN_DIGITS)}, w // {unit} % 10 + 1), 'abc', '{letters}')"
    for unit, letters in ((1000, "M??"), (100, "CDM"), (10, "XLC"), (1, "IVX"))
)
_ROMAN_WIDTH = 15


class UnknownTemplate(Exception):
    """A template with a pattern, or an order of patterns, that is not written here."""


@dataclass(frozen=True, slots=True)
class _Template:
    """The patterns in their order, and what counts of them all.

    ``whole`` and ``rest`` are the numbers of places before and behind the point, ``scale`` how many
    of the first stand behind V. ``zeros`` are the places before the point from the first 0 on,
    ``kept`` those behind it up to the last.
    """

    parts: tuple[tuple[str, str], ...]
    whole: int
    rest: int
    scale: int
    zeros: int
    kept: int
    plain: bool
    sign: str

    @property
    def is_simple(self) -> bool:
        """Whether nothing stands between the digits before the point."""
        words = "".join(text if kind == "word" else "?" for kind, text in self.parts)
        return re.search(r"[90][^90.]+[90.]", words) is None

    @property
    def has_point(self) -> bool:
        """Whether digits stand behind the point."""
        return self.rest > 0


def number_text(value: exp.Expr, template: str, *, is_double: bool) -> exp.Expr:
    """What stands for ``to_char(value, template)``; raises ``UnknownTemplate``.

    ``is_double`` says that the value is a floating-point number, whose halves are those of base 2.
    """
    parts = tuple(_parts(template))
    words = [text for kind, text in parts if kind == "word"]
    if "EEEE" in words:
        return _scientific(value, words)
    if "RN" in words or "rn" in words:
        near = "round_even(x, 0)" if is_double else "round(x)"
        whole = fill(f"CAST({near} AS BIGINT)", x=exp.paren(value.copy()))
        made = _joined(_roman(whole, kind, text, "FM" in words) for kind, text in parts)
        return fill("CASE WHEN x IS NOT NULL THEN t END", x=value, t=made)
    read = _read(parts)
    text = _text(exp.paren(value.copy()), read, is_double=is_double)
    if read.is_simple and isinstance(value.unnest(), exp.Column | exp.Literal):
        return _template_text(text, read)
    # What is computed is computed once, and its text is named in each part.
    body = _template_text(variable(_TEXT), read)
    sql = f"list_extract(list_transform([t], LAMBDA {_TEXT}: body), 1)"
    return fill(sql, t=text, body=body)


_TEXT = "digits_of_number"


def _parts(template: str) -> Iterator[tuple[str, str]]:
    """The patterns of a template, in capitals but for ``th`` and ``rn``, and its other texts."""
    for found in _PART.finditer(template):
        word = found["word"]
        if word is not None:
            yield "word", word if word in {"th", "rn"} else word.upper().replace("D", ".")
        elif found["text"] is not None:
            yield "text", re.sub(r"\\(.)", r"\1", found["text"], flags=re.S)
        else:
            yield "text", found["quote"] or found["other"]


def _read(parts: tuple[tuple[str, str], ...]) -> _Template:
    whole = rest = scale = zeros_from = kept = 0
    sign, is_behind, is_scaled, sign_at = "", False, False, -1
    for word in (text for kind, text in parts if kind == "word"):
        if word in {"9", "0"}:
            if word == "0":
                zeros_from = zeros_from or (0 if is_behind else whole + 1)
                kept = rest + 1 if is_behind else kept
            rest, whole = rest + is_behind, whole + (not is_behind)
            scale += is_scaled
        elif word == ".":
            if is_behind or is_scaled:
                raise UnknownTemplate("several points")
            is_behind = True
        elif word == "V":
            if is_behind or is_scaled:
                raise UnknownTemplate("V")
            is_scaled = True
        elif word in {"S", "MI", "PL", "SG", "PR"}:
            if sign:
                raise UnknownTemplate("several signs")
            sign, sign_at = word, -1 if is_behind else whole
        elif word == "SP" or (word in {",", "G"} and is_behind):
            raise UnknownTemplate(word)
    if is_scaled and any(text == "0" for _, text in parts):
        raise UnknownTemplate("V with 0")
    if is_behind and not rest and parts[-1] != ("word", "."):
        raise UnknownTemplate("a point without digits")
    if whole > _WHOLE_MAX or whole + rest >= _DIGITS_MAX:
        raise UnknownTemplate("that many digits")
    if sign == "S":
        # Behind the last digit before the point it is written behind the number.
        sign = "S<" if 0 <= sign_at < whole else "S>"
    plain = any(text == "FM" for kind, text in parts if kind == "word")
    zeros = whole - zeros_from + 1 if zeros_from else 0
    return _Template(parts, whole, rest, scale, zeros, kept, plain, sign)


def _text(number: exp.Expr, read: _Template, *, is_double: bool) -> exp.Expr:
    """The text of a number with its sign and as many digits behind the point."""
    if read.scale:
        number = fill("(x * p)", x=number, p=10**read.scale)
    if not is_double:
        kind = exp.DataType.build(f"DECIMAL({_DIGITS_MAX}, {read.rest})", dialect="duckdb")
        return fill("CAST(r AS VARCHAR)", r=exp.Cast(this=number, to=kind))
    size = "length(printf('%.0f', abs(x)))"
    rest = f"CASE WHEN {size} >= k THEN 0 ELSE least(n, k - {size}) END"
    form = fill(f"'%.' || CAST({rest} AS VARCHAR) || 'f'", x=number, n=read.rest, k=_DOUBLE_DIGITS)
    return fill("printf(f, CAST(x AS DOUBLE))", f=form, x=number)


def _template_text(text: exp.Expr, read: _Template) -> exp.Expr:
    made = _joined(_pieces(read, _number(text, read)))
    return fill("CASE WHEN t IS NOT NULL THEN made END", t=text, made=made)


def _number(text: exp.Expr, read: _Template) -> dict[str, exp.Expr]:
    """The parts of the number's text: whether it is negative or too long, its digits, its sign."""
    whole = fill("ltrim(split_part(t, '.', 1), '-')", t=text)
    over = fill("length(w) > n", w=whole, n=read.whole)
    digits = whole
    if read.zeros > 1:
        sql = "lpad(w, CAST(greatest(length(w), n) AS INTEGER), '0')"
        digits = fill(sql, w=whole, n=read.zeros)
    rest = fill("split_part(t, '.', 2)", t=text)
    if read.plain and read.kept < read.rest:
        zeros = f"0{{1,{read.rest - read.kept}}}$"
        rest = fill("regexp_replace(f, p, '')", f=rest, p=zeros)
    if read.has_point and not read.zeros:
        none = "''" if not read.plain else "CASE WHEN f = '' THEN '0' ELSE '' END"
        digits = fill(f"CASE WHEN w = '0' THEN {none} ELSE d END", w=whole, d=digits, f=rest)
    negative = fill("starts_with(t, '-')", t=text)
    return {
        "negative": negative,
        "over": over,
        "point": fill("o OR contains(t, '.')", o=over, t=text),
        "whole": whole,
        "digits": fill("CASE WHEN o THEN h ELSE d END", o=over, h="#" * read.whole, d=digits),
        "rest": fill("CASE WHEN o THEN h ELSE f END", o=over, h="#" * read.rest, f=rest),
        "sign": _sign(negative, read),
    }


def _sign(negative: exp.Expr, read: _Template) -> exp.Expr:
    """What is written before the first digit."""
    if read.sign in {"S>", "MI", "SG"}:
        return exp.Literal.string("")
    below = "<" if read.sign == "PR" else "-"
    above = "+" if read.sign == "S<" else "" if read.plain else " "
    return fill("CASE WHEN n THEN b ELSE a END", n=negative, b=below, a=above)


def _pieces(read: _Template, number: dict[str, exp.Expr]) -> Iterator[exp.Expr]:
    """The texts that are joined, in the order of the template."""
    place = behind = 0
    is_behind, start = False, 0
    blank = "" if read.plain else " "
    last = max((i for i, part in enumerate(read.parts) if part[1] in {"9", "0"}), default=-1)

    def digits() -> Iterator[exp.Expr]:
        """The places since the last text between them."""
        nonlocal start
        if is_behind and behind > start:
            yield fill("substr(f, n, m)", f=number["rest"], n=start + 1, m=behind - start)
            start = behind
        elif not is_behind and place > start:
            yield _places(start, place, read, number)
            start = place

    for index, (kind, text) in enumerate(read.parts):
        if kind == "word" and text in {"9", "0"}:
            behind, place = behind + is_behind, place + (not is_behind)
            if index == last:
                yield from digits()
                yield from _closing(read, number)
            continue
        yield from digits()
        if kind == "text":
            yield exp.Literal.string(text)
        elif text == ".":
            if read.has_point:
                # A DOUBLE of many digits has none behind the point, and no point.
                is_late = "CASE WHEN d = '' THEN s ELSE '' END || CASE WHEN p THEN '.' ELSE '' END"
                parts = {"d": number["digits"], "s": number["sign"], "p": number["point"]}
                yield fill(is_late, **parts)
            else:
                yield fill("CASE WHEN o THEN '.' ELSE '' END", o=number["over"])
            is_behind, start = True, 0
        elif text in {",", "G"}:
            separated = "CASE WHEN length(d) > n THEN ',' ELSE b END"
            yield fill(separated, d=number["digits"], n=read.whole - place, b=blank)
        elif text == "L":
            # The locale has no sign of a currency, for which PostgreSQL leaves a blank.
            yield exp.Literal.string(" ")
        elif text in {"MI", "PL", "SG"}:
            above = {"MI": blank, "PL": "+", "SG": "+"}[text]
            below = {"MI": "-", "PL": blank, "SG": "-"}[text]
            yield fill("CASE WHEN n THEN b ELSE a END", n=number["negative"], b=below, a=above)
        elif text.upper() == "TH" and not read.has_point:
            ending = fill(ORDINAL, n=number["whole"])
            ending = exp.Upper(this=ending) if text == "TH" else ending
            yield fill(
                "CASE WHEN n OR o THEN '' ELSE e END",
                n=number["negative"],
                o=number["over"],
                e=ending,
            )


def _places(start: int, end: int, read: _Template, number: dict[str, exp.Expr]) -> exp.Expr:
    """What stands in the places from ``start`` to ``end`` before the point.

    The digits take the last places. Before them stands the sign, and before it are blanks.
    """
    before = "" if read.plain else f"repeat(' ', {read.whole - start} - length(d)) ||"
    rest = "''" if read.plain else f"'{' ' * (end - start)}'"
    first = f"{before} s || left(d, length(d) - {read.whole - end})"
    sql = f"CASE WHEN length(d) > {read.whole - end} THEN {first} ELSE {rest} END"
    if start:
        later = f"substr(d, length(d) - {read.whole - start - 1}, {end - start})"
        sql = f"CASE WHEN length(d) > {read.whole - start} THEN {later} ELSE {sql} END"
    return fill(sql, d=number["digits"], s=number["sign"])


def _closing(read: _Template, number: dict[str, exp.Expr]) -> Iterator[exp.Expr]:
    """What is written behind the last digit."""
    signs = {"S>": ("-", "+"), "PR": (">", "" if read.plain else " ")}.get(read.sign)
    if signs is not None:
        sql = "CASE WHEN n THEN b ELSE a END"
        yield fill(sql, n=number["negative"], b=signs[0], a=signs[1])


def _scientific(value: exp.Expr, words: list[str]) -> exp.Expr:
    """``9.99EEEE``."""
    digits = "".join(word for word in words if word != "EEEE")
    if re.fullmatch(r"9(\.9+)?", digits) is None or words[-1] != "EEEE":
        raise UnknownTemplate("EEEE")
    rest = digits.partition(".")[2]
    return exp.Paren(this=fill(_SCIENTIFIC, x=exp.paren(value.copy()), f=f"%.{len(rest)}e"))


def _roman(whole: exp.Expr, kind: str, text: str, is_plain: bool) -> exp.Expr:
    if kind == "text" or text not in {"RN", "rn", "FM"}:
        if kind == "word":
            raise UnknownTemplate("RN beside other patterns")
        return exp.Literal.string(text)
    if text == "FM":
        return exp.Literal.string("")
    sql = f"CASE WHEN w BETWEEN 1 AND 3999 THEN {_ROMAN} ELSE over END"
    made = fill(sql, w=whole, over="#" * _ROMAN_WIDTH)
    made = exp.Lower(this=made) if text == "rn" else made
    return made if is_plain else fill("lpad(t, n, ' ')", t=made, n=_ROMAN_WIDTH)


def _joined(parts: Iterator[exp.Expr]) -> exp.Expr:
    given = [part for part in parts if not (part.is_string and not part.name)]
    made = given[0] if given else exp.Literal.string("")
    for part in given[1:]:
        made = exp.DPipe(this=made, expression=part, safe=True)
    return exp.Paren(this=made)
