"""``to_char`` and ``to_number`` by PostgreSQL's templates, in DuckDB's SQL. Pure.

    to_char(t, 'FMDay, DD Mon YYYY')    strftime(t, '%A, %d %b %Y')
    to_char(n, 'FM999,990.00')          its digits, grouped and filled up
    to_number('-1,234.5', '9,999.99')   the digits of the text, if they are as the template says

A template that is no constant, or has a pattern that is not known here, is refused. A PostgreSQL
store has the function itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.time import format_time

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill
from rewriter.name_resolution import position_of

# fmt: off
_CODES = {
    "yyyy": "%Y", "yy": "%y", "mm": "%m", "dd": "%d", "hh24": "%H", "hh12": "%I", "hh": "%I",
    "mi": "%M", "ss": "%S", "ms": "%g", "us": "%f", "ddd": "%j", "iyyy": "%G", "iw": "%V",
    "id": "%u", "AM": "%p", "PM": "%p", "Mon": "%b", "Dy": "%a",
}
# fmt: on
"""Patterns that strftime has; FM takes the zeros of numbers away."""
_NAMES = {"month": "%B", "day": "%A", "mon": "%b", "dy": "%a", "am": "%p", "pm": "%p"}
_WHOLE_CODES = frozenset({"%g", "%f", "%Y", "%G", "%u"})
"""What FM changes nothing of."""
_PADDED = frozenset({"month", "day"})
_NAME_WIDTH = 9
_CALLS = {
    "d": "CAST(dayofweek(x) + 1 AS VARCHAR)",
    "q": "CAST(quarter(x) AS VARCHAR)",
    "ww": "lpad(CAST((dayofyear(x) - 1) // 7 + 1 AS VARCHAR), 2, '0')",
    "w": "CAST((day(x) - 1) // 7 + 1 AS VARCHAR)",
    "j": "CAST(CAST(floor(julian(CAST(x AS DATE))) AS BIGINT) AS VARCHAR)",
    "ssss": "CAST(hour(x) * 3600 + minute(x) * 60 + second(x) AS VARCHAR)",
    "sssss": "CAST(hour(x) * 3600 + minute(x) * 60 + second(x) AS VARCHAR)",
    "cc": "CASE WHEN year(x) > 9900 THEN '100'"
    " ELSE lpad(CAST((year(x) + 99) // 100 AS VARCHAR), 2, '0') END",
    "y,yyy": "CAST(year(x) // 1000 AS VARCHAR) || ',' || lpad(CAST(year(x) % 1000 AS VARCHAR), 3,"
    " '0')",
    "rm": "rpad(list_extract(['i', 'ii', 'iii', 'iv', 'v', 'vi', 'vii', 'viii', 'ix', 'x', 'xi',"
    " 'xii'], month(x)), 4, ' ')",
    **{
        f"ff{n}": f"lpad(CAST(microsecond(x) % 1000000 // {10 ** (6 - n)} AS VARCHAR), {n}, '0')"
        for n in range(1, 7)
    },
    **{
        name: f"lpad(CAST({year}(x) % {10 ** len(name)} AS VARCHAR), {len(name)}, '0')"
        for year, names in (("year", ("yyy", "y")), ("isoyear", ("iyy", "iy", "i")))
        for name in names
    },
}
_WITHOUT_ZEROS = frozenset({"ww", "cc", "yyy", "iyy", "iy"})
"""What FM takes the zeros from."""
_SPANS = {
    "yyyy": ("year(x)", 4), "mm": ("month(x)", 2), "dd": ("day(x)", 2), "hh24": ("hour(x)", 2),
    "hh12": ("(hour(x) + 11) % 12 + 1", 2), "hh": ("(hour(x) + 11) % 12 + 1", 2),
    "mi": ("minute(x)", 2), "ss": ("second(x)", 2), "ms": ("millisecond(x) % 1000", 3),
    "us": ("microsecond(x) % 1000000", 6),
}  # fmt: skip
"""Parts of an interval and how many digits they have at least."""
_ORDINAL = (
    "CASE WHEN regexp_matches(n, '1[0-9]$') THEN 'th' WHEN ends_with(n, '1') THEN 'st'"
    " WHEN ends_with(n, '2') THEN 'nd' WHEN ends_with(n, '3') THEN 'rd' ELSE 'th' END"
)
_REFUSED = (
    *("a.m.", "p.m.", "b.c.", "a.d.", "bc", "ad", "tzh"),
    *("tzm", "tz", "of", "iddd", "fx", "th", "sp"),
)
_KNOWN = sorted({*map(str.lower, _CODES), *_NAMES, *_CALLS, *_REFUSED}, key=len, reverse=True)
_PART = re.compile(
    '"(?P<text>[^"]*)"|(?P<plain>(?:fm|tm)?)(?P<name>'
    + "|".join(map(re.escape, _KNOWN))
    + ")(?P<ordinal>th)?",
    re.I,
)
_NUMBER = re.compile(
    r"(?P<plain>FM)?(?P<front>[SL]?)(?P<whole>[90,G]+)(?:[.D](?P<rest>[90]+))?"
    r"(?P<back>S|MI|PR)?",
    re.I,
)
_OF_NUMBERS = re.compile(r"[90]")
_SCIENTIFIC = re.compile(r"9(?:[.D](?P<rest>9+))?EEEE", re.I)


def template_of(node: exp.Expr) -> str | None:
    """The template as it was written, which the parser has translated; None for no constant."""
    found = node.args.get("format")
    if not isinstance(found, exp.Literal) or not found.is_string:
        return None
    of = sqlglot.Dialect.get_or_raise("postgres")
    return format_time(found.name, of.INVERSE_TIME_MAPPING, of.INVERSE_TIME_TRIE) or ""


def native_call(node: exp.Expr, name: str = "to_char") -> exp.Expr:
    """The call of a function with a template as PostgreSQL itself reads it."""
    template = template_of(node)
    return call(name, node.this, node.args.get("format") if template is None else template)


def spell_template(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """What stands for ``to_char(x, 'template')``; raises NOT_SUPPORTED for other templates."""
    assert isinstance(node, exp.TimeToStr)
    template = template_of(node)
    if template is None:
        raise _refused(node, "a template that is no constant")
    bare = re.sub(r'"[^"]*"|hh24|hh12|ff\d', "", template, flags=re.I)
    if _OF_NUMBERS.search(bare):
        return _number(node, template)
    return _moment(node, template)


def spell_reading(node: exp.Expr, _: Sequence[exp.Expr]) -> exp.Expr | None:
    """``to_date(t, 'DD Mon YYYY')`` and ``to_timestamp``, whose template has names of months.

    Raises NOT_SUPPORTED for a pattern that reads nothing here.
    """
    template = template_of(node)
    if template is None:
        return None
    format_, end = "", 0
    for found in _PART.finditer(template):
        format_ += template[end : found.start()].replace("%", "%%")
        end = found.end()
        if found["text"] is not None:
            format_ += found["text"].replace("%", "%%")
            continue
        code = _NAMES.get(found["name"].lower()) or _CODES.get(found["name"].lower())
        if code is None:
            function = "to_date" if isinstance(node, exp.StrToDate) else "to_timestamp"
            raise _refused(node, f"the pattern {found['name']}", function)
        format_ += code
    made = node.copy()
    made.set("format", exp.Literal.string(format_ + template[end:].replace("%", "%%")))
    is_date = isinstance(node, exp.StrToDate)
    return made if is_date else exp.cast(made, "TIMESTAMPTZ", dialect="duckdb")


def _moment(node: exp.TimeToStr, template: str) -> exp.Expr:
    parts: list[exp.Expr] = []
    format_, end = "", 0
    for found in _PART.finditer(template):
        format_ += template[end : found.start()].replace("%", "%%")
        end = found.end()
        if found["text"] is not None:
            format_ += found["text"].replace("%", "%%")
            continue
        name, is_plain = found["name"], bool(found["plain"])
        code = _code(name, is_plain)
        if code is not None and not found["ordinal"]:
            format_ += code
            continue
        if name.lower() in _REFUSED:
            raise _refused(node, f"the pattern {name}")
        parts += [_formatted(node.this, format_)] if format_ else []
        parts.append(
            _spelled_name(node.this, name, is_plain)
            if code is None
            else _formatted(node.this, code)
        )
        if found["ordinal"]:
            suffix = fill(_ORDINAL, n=parts[-1])
            parts.append(exp.Upper(this=suffix) if found["ordinal"].isupper() else suffix)
        format_ = ""
    format_ += template[end:].replace("%", "%%")
    if format_ or not parts:
        parts.append(_formatted(node.this, format_))
    made = parts[0]
    for part in parts[1:]:
        made = exp.DPipe(this=made, expression=part, safe=True)
    return exp.Paren(this=made)


def spell_span(node: exp.Expr) -> exp.Expr | None:
    """``to_char`` of an interval; raises NOT_SUPPORTED for patterns of moments alone."""
    template = template_of(node)
    if template is None:
        raise _refused(node, "a template that is no constant")
    parts: list[exp.Expr] = []
    end = 0
    for found in _PART.finditer(template):
        parts.append(exp.Literal.string(template[end : found.start()]))
        end = found.end()
        if found["text"] is not None:
            parts.append(exp.Literal.string(found["text"]))
            continue
        part = _SPANS.get(found["name"].lower())
        if part is None or found["ordinal"]:
            raise _refused(node, f"the pattern {found['name']} of an interval")
        number = fill(part[0], x=exp.paren(node.this.copy()))
        text = "CAST(v AS VARCHAR)"
        if not found["plain"]:
            text = (
                f"CASE WHEN v < 0 OR length({text}) >= n THEN {text} ELSE lpad({text}, n, '0') END"
            )
        parts.append(exp.paren(fill(text, v=exp.paren(number), n=part[1])))
    parts.append(exp.Literal.string(template[end:]))
    parts = [p for p in parts if not (p.is_string and not p.name)] or [exp.Literal.string("")]
    made = parts[0]
    for following in parts[1:]:
        made = exp.DPipe(this=made, expression=following, safe=True)
    return exp.Paren(this=made)


def _code(name: str, is_plain: bool) -> str | None:
    """What strftime calls a pattern; None where it has no such thing."""
    lower = name.lower()
    if lower in _NAMES:
        if lower in _PADDED:
            return _NAMES[lower] if is_plain and name == name.capitalize() else None
        return _CODES.get(name)
    code = _CODES.get(lower)
    return code.replace("%", "%-") if code and is_plain and code not in _WHOLE_CODES else code


def _spelled_name(value: exp.Expr, name: str, is_plain: bool) -> exp.Expr:
    """A name in capitals or small letters, filled up with blanks; a number of the calendar."""
    lower = name.lower()
    made: exp.Expr
    if lower in _CALLS:
        made = exp.paren(fill(_CALLS[lower], x=exp.Paren(this=value.copy())))
        if lower == "rm":
            made = exp.Trim(this=made) if is_plain else made
            return exp.Upper(this=made) if name.isupper() else made
        if is_plain and lower in _WITHOUT_ZEROS:
            return fill("CASE WHEN ltrim(v, '0') = '' THEN '0' ELSE ltrim(v, '0') END", v=made)
        return made
    made = _formatted(value, _NAMES[lower])
    if name == lower:
        made = exp.Lower(this=made)
    elif name == name.upper():
        made = exp.Upper(this=made)
    if lower in _PADDED and not is_plain:
        return fill("rpad(x, n, ' ')", x=made, n=_NAME_WIDTH)
    return made


def _formatted(value: exp.Expr, format_: str) -> exp.Expr:
    return exp.TimeToStr(this=value.copy(), format=exp.Literal.string(format_))


def _number(node: exp.TimeToStr, template: str) -> exp.Expr:
    """Digits before and behind the point, groups of thousands, zeros, blanks, and the sign."""
    scientific = _SCIENTIFIC.fullmatch(template)
    if scientific is not None:
        sql = "CASE WHEN x < 0 THEN '' WHEN x >= 0 THEN ' ' END || printf(f, CAST(x AS DOUBLE))"
        form = f"%.{len(scientific['rest'] or '')}e"
        return exp.Paren(this=fill(sql, x=exp.paren(node.this.copy()), f=form))
    found = _NUMBER.fullmatch(template)
    if found is None:
        raise _refused(node, f"the template '{template}'")
    whole, rest = found["whole"].upper().replace("G", ","), found["rest"] or ""
    digits = whole.replace(",", "")
    least = len(digits) - digits.index("0") if "0" in digits else 0
    groups = whole != digits
    if groups and (whole != _with_commas(digits) or least > 3):
        raise _refused(node, f"the template '{template}'")
    exact = exp.DataType.build(f"DECIMAL(38, {max(len(rest), 10)})", dialect="duckdb")
    number = fill("round(x, d)", x=exp.Cast(this=node.this.copy(), to=exact), d=len(rest))
    size = fill("CAST(trunc(abs(r)) AS HUGEINT)", r=number)
    text = fill("format('{:,}', w)" if groups else "CAST(w AS VARCHAR)", w=size)
    text = fill("CASE WHEN length(t) < n THEN lpad(t, n, '0') ELSE t END", t=text, n=least)
    if rest and not least:
        text = fill("CASE WHEN w = 0 THEN '' ELSE t END", w=size, t=text)
    if rest:
        sql = "t || '.' || lpad(CAST(CAST((abs(r) - w) * p AS BIGINT) AS VARCHAR), d, '0')"
        text = fill(sql, t=text, r=number, w=size, p=10 ** len(rest), d=len(rest))
        optional = len(rest) - len(rest.rstrip("9"))
        if found["plain"] and optional:
            text = fill("regexp_replace(t, p, '')", t=text, p=f"0{{1,{optional}}}$")
    over = re.sub("[90]", "#", whole + ("." + rest if rest else ""))
    text = fill("CASE WHEN w >= m THEN o ELSE t END", w=size, m=10 ** len(digits), o=over, t=text)
    return exp.Paren(this=_signed(node.this, text, found, len(over)))


def _signed(value: exp.Expr, text: exp.Expr, found: re.Match[str], width: int) -> exp.Expr:
    """Digits with the sign where the template puts it, filled up with blanks unless FM says not."""
    front, back = found["front"].upper(), (found["back"] or "").upper()
    is_plain = bool(found["plain"])
    blank = "" if is_plain else " "
    if back in {"S", "MI"}:
        if not is_plain:
            text = _filled(text, width)
        plus = "+" if back == "S" else blank
        text = fill("t || CASE WHEN x < 0 THEN '-' ELSE s END", x=value, s=plus, t=text)
    elif back == "PR":
        sql = "CASE WHEN x < 0 THEN '<' || t || '>' ELSE s || t || s END"
        text = fill(sql, x=value, s=blank, t=text)
        text = text if is_plain else _filled(text, width + 2)
    else:
        plus = "+" if front == "S" else blank
        text = fill("CASE WHEN x < 0 THEN '-' ELSE s END || t", x=value, s=plus, t=text)
        text = text if is_plain else _filled(text, width + 1)
    # The locale has no sign of a currency, for which PostgreSQL leaves a blank.
    return fill("' ' || t", t=text) if front == "L" else text


_OF_TEXT = re.compile(
    r"(?:FM)?(?P<front>S|SG|MI|L|\$)?(?P<whole>[90,G]*)(?:[.D](?P<rest>[90]*))?"
    r"(?P<back>S|SG|MI|PR|TH)?",
    re.I,
)
_DIGITS_MAX = 38
_READ = (
    "CASE WHEN t IS NULL THEN NULL WHEN regexp_matches(trim(t), accepted) THEN"
    " (CASE WHEN regexp_matches(t, '[-<]') THEN '-' ELSE '' END)"
    " || regexp_extract(regexp_replace(t, '[^0-9.]', '', 'g'), kept, 0)"
    " ELSE error('the text ' || t || said) END"
)


def spell_to_number(node: exp.Expr, _: Sequence[exp.Expr]) -> exp.Expr | None:
    """What stands for ``to_number(t, 'template')``; raises NOT_SUPPORTED for other templates.

    Digits behind the point that the template has no place for are cut off, as in PostgreSQL; a
    text that has more before it, or anything else, is an error.
    """
    format_ = node.args.get("format")
    if not isinstance(format_, exp.Literal) or not format_.is_string:
        raise _refused(node, "a template that is no constant", "to_number")
    found = _OF_TEXT.fullmatch(format_.name.replace(" ", ""))
    whole, rest = ("", "") if found is None else (found["whole"].upper(), found["rest"] or "")
    digits = whole.replace(",", "").replace("G", "")
    if found is None or not digits + rest or len(digits + rest) > _DIGITS_MAX:
        raise _refused(node, f"the template '{format_.name}'", "to_number")
    front, back = (found["front"] or "").upper(), (found["back"] or "").upper()
    number = rf"{'(?:[0-9],?)' if whole != digits else '[0-9]'}{{0,{len(digits)}}}(?:\.[0-9]*)?"
    number = rf"[^0-9.,+-]*{number}" if front in {"L", "$"} else number
    accepted = rf"[-+]?\s*{number}"
    if back == "PR":
        accepted = rf"<{number}>|{number}"
    elif back == "TH":
        accepted += "(?i:st|nd|rd|th)?"
    elif back:
        accepted = rf"{number}\s*[-+]?"
    accepted = f"^(?:{accepted})$"
    kept = rf"^[0-9]*(?:\.[0-9]{{0,{len(rest)}}})?"
    said = f" is no number by the template {format_.name}"
    text = exp.Paren(this=exp.Cast(this=node.this.copy(), to=exp.DataType.build("VARCHAR")))
    read = fill(_READ, t=text, accepted=accepted, kept=kept, said=said)
    kind = exp.DataType.build(f"DECIMAL({_DIGITS_MAX}, {len(rest)})", dialect="duckdb")
    return exp.Cast(this=exp.Paren(this=read), to=kind)


def _filled(text: exp.Expr, width: int) -> exp.Expr:
    return fill("lpad(t, n, ' ')", t=text, n=width)


def _with_commas(digits: str) -> str:
    """Digits with a comma between each three, from behind."""
    return re.sub(r"(?<=.)(?=(?:.{3})+$)", ",", digits)


def _refused(node: exp.Expr, what: str, function: str = "to_char") -> PalimpsestError:
    moments = "YYYY, MM, DD, HH24, MI, SS, Mon, Day and their like, or "
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{function}() with {what} is not supported on this store",
        advice=f"use {moments if function == 'to_char' else ''}9 and 0 for numbers",
        position=position_of(node),
    )
