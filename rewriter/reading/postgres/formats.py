"""``to_char`` and ``to_number`` by PostgreSQL's templates, in DuckDB's SQL. Pure.

    to_char(t, 'FMDay, DD Mon YYYY')    strftime(t, '%A, %d %b %Y')
    to_date('5 Jan 2020', 'DD Mon YYYY')    strptime of it
    to_number('-1,234.5', '9,999.99')   the digits of the text, if they are as the template says

A template that is no constant, or has a pattern that is not known here, is refused. A PostgreSQL
store has the function itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import fill
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.number_templates import ORDINAL, UnknownTemplate, number_text
from rewriter.reading.postgres.readings import (
    InvalidReading,
    Pattern,
    UnknownReading,
    reading_sql,
    signs_of,
)
from rewriter.reading.value_types import ValueTypes

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
    "iw": "lpad(CAST(weekofyear(x) AS VARCHAR), 2, '0')",
    "w": "CAST((day(x) - 1) // 7 + 1 AS VARCHAR)",
    "j": "CAST(CAST(floor(julian(CAST(x AS DATE))) AS BIGINT) AS VARCHAR)",
    "ssss": "CAST(hour(x) * 3600 + minute(x) * 60 + second(x) AS VARCHAR)",
    "sssss": "CAST(hour(x) * 3600 + minute(x) * 60 + second(x) AS VARCHAR)",
    "cc": "CASE WHEN year(x) > 9900 THEN '100'"
    " ELSE lpad(CAST((year(x) + 99) // 100 AS VARCHAR), 2, '0') END",
    "iddd": "lpad(CAST((weekofyear(x) - 1) * 7 + isodow(x) AS VARCHAR), 3, '0')",
    "y,yyy": "CAST(year(x) // 1000 AS VARCHAR) || ',' || lpad(CAST(year(x) % 1000 AS VARCHAR), 3,"
    " '0')",
    "rm": "rpad(list_extract(['i', 'ii', 'iii', 'iv', 'v', 'vi', 'vii', 'viii', 'ix', 'x', 'xi',"
    " 'xii'], month(x)), 4, ' ')",
    **dict.fromkeys(("ad", "bc"), "CASE WHEN year(x) > 0 THEN 'ad' ELSE 'bc' END"),
    **dict.fromkeys(("a.d.", "b.c."), "CASE WHEN year(x) > 0 THEN 'a.d.' ELSE 'b.c.' END"),
    **dict.fromkeys(("a.m.", "p.m."), "CASE WHEN hour(x) < 12 THEN 'a.m.' ELSE 'p.m.' END"),
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
_WORDS = frozenset({"rm", "ad", "bc", "a.d.", "b.c.", "a.m.", "p.m."})
"""What is written in the letters, capitals or not, of its pattern."""
_WITHOUT_ZEROS = frozenset({"ww", "iw", "cc", "yyy", "iyy", "iy", "iddd"})
"""What FM takes the zeros from."""
_SPANS = {
    "yyyy": ("year(x)", 4), "mm": ("month(x)", 2), "dd": ("day(x)", 2), "hh24": ("hour(x)", 2),
    "hh12": ("(hour(x) + 11) % 12 + 1", 2), "hh": ("(hour(x) + 11) % 12 + 1", 2),
    "mi": ("minute(x)", 2), "ss": ("second(x)", 2), "ms": ("millisecond(x) % 1000", 3),
    "us": ("microsecond(x) % 1000000", 6),
}  # fmt: skip
"""Parts of an interval and how many digits they have at least."""
_SECONDS = "CAST(EXTRACT(epoch FROM CAST(x AS TIMESTAMP)) - EXTRACT(epoch FROM x) AS BIGINT)"
_HOURS = (
    f"(CASE WHEN {_SECONDS} < 0 THEN '-' ELSE '+' END"
    f" || lpad(CAST(abs({_SECONDS}) // 3600 AS VARCHAR), 2, '0'))"
)
_MINUTES = f"lpad(CAST(abs({_SECONDS}) % 3600 // 60 AS VARCHAR), 2, '0')"
_OFFSETS = {
    "tzh": _HOURS,
    "tzm": _MINUTES,
    "of": f"({_HOURS} || CASE WHEN {_SECONDS} % 3600 = 0 THEN '' ELSE ':' || {_MINUTES} END)",
}
_REFUSED = ("tz", "th", "sp")
_KNOWN = {*map(str.lower, _CODES), *_NAMES, *_CALLS, *_OFFSETS, *_REFUSED, "fx"}
_SPELLED = {*_KNOWN, *map(str.upper, _KNOWN), *map(str.capitalize, _NAMES)} - {"Am", "Pm"}
_PART = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"|(?P<plain>(?:FM|fm|TM|tm)?)(?P<name>'
    + "|".join(map(re.escape, sorted(_SPELLED, key=len, reverse=True)))
    + ")(?P<ordinal>TH|th)?"
)
_OF_NUMBERS = re.compile(r"[90]")
_DOUBLES = frozenset({"DOUBLE", "FLOAT", "REAL"})
_MOMENTS = ("DATE", "TIME")
_NUMERIC = frozenset({"SMALLINT", "INTEGER", "INT", "BIGINT", "TINYINT", "HUGEINT", *_DOUBLES})


def spell_template(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """What stands for ``to_char(x, 'template')``; raises NOT_SUPPORTED for other templates."""
    value, template = _given(node)
    kind = types.of(value).kind or ""
    if isinstance(node.expressions[1], exp.Null):
        return exp.cast(exp.null(), "VARCHAR")
    if template is None:
        raise _refused(node, "a template that is no constant")
    if kind == "INTERVAL":
        return _span(node, value, template)
    bare = re.sub(r'"[^"]*"|hh24|hh12|ff\d', "", template, flags=re.I)
    is_number = kind in _NUMERIC or kind.startswith("DECIMAL")
    if is_number or (_OF_NUMBERS.search(bare) and not kind.startswith(_MOMENTS)):
        try:
            return number_text(value, template, is_double=kind in _DOUBLES)
        except UnknownTemplate as what:
            raise _refused(node, f"the template '{template}' ({what})") from None
    if kind.startswith("TIMESTAMP("):
        # The store would make nanoseconds of it, which reach from 1677 to 2262.
        value = exp.cast(value.copy(), "TIMESTAMP", dialect="duckdb")
    elif kind == "TIME":
        value = fill("CAST('1970-01-01' AS DATE) + t", t=value)
    return _moment(node, value, template, kind)


def _given(node: exp.Expr) -> tuple[exp.Expr, str | None]:
    """The value, and the template if it is a constant."""
    value, template = node.expressions
    return value, template.name if template.is_string else None


_FIELDS = "CASE WHEN regexp_matches(t, r) THEN fields ELSE t END"
_READ_BY = {
    "%Y": "[0-9]{4}",
    "%G": "[0-9]{4}",
    "%g": "[0-9]{1,3}",
    "%f": "[0-9]{1,6}",
    "%j": "[0-9]{3}",
    "%u": "[1-7]",
    "%b": "[A-Za-z]{3}",
    "%a": "[A-Za-z]{3}",
    "%B": "[A-Za-z]+",
    "%A": "[A-Za-z]+",
    "%p": "[AaPp][Mm]",
}
"""How the texts look that patterns read, where they are not two digits."""
_FRACTIONS = frozenset({"%g", "%f"})
_LETTERS = frozenset({"%b", "%a", "%B", "%A", "%p"})


def spell_reading(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``to_date(t, 'DD Mon YYYY')`` and ``to_timestamp`` of a template that is a constant.

    Raises NOT_SUPPORTED for a pattern that reads nothing here.
    """
    value, template = _given(node)
    if template is None:
        return None
    if not types.context.capabilities.raises_in_sql:
        return _parsed_by_codes(node)
    name = function_name(node)
    try:
        sql = reading_sql(list(_patterns(template)), is_date=name == "to_date")
    except UnknownReading as what:
        raise _refused(node, str(what), name) from None
    except InvalidReading as why:
        advice = "take patterns of the week (IYYY, IW, ID) or of the month, not both"
        raise PalimpsestError(
            Code.MOMENT_TEXT, str(why), advice=advice, position=position_of(node)
        ) from None
    return fill(sql, a=exp.cast(value.copy(), "VARCHAR"))


def _patterns(template: str) -> Iterator[Pattern]:
    """The parts of a template, in order."""
    end = 0
    for found in _PART.finditer(template):
        yield from signs_of(template[end : found.start()], is_quoted=False)
        end = found.end()
        if found["text"] is not None:
            yield from signs_of(_text_in_quotes(found), is_quoted=True)
        else:
            fills = found["plain"].lower() == "fm"
            yield Pattern(found["name"].lower(), fills=fills, is_ordinal=bool(found["ordinal"]))
    yield from signs_of(template[end:], is_quoted=False)


def _parsed_by_codes(node: exp.Expr) -> exp.Expr | None:
    """The same for a store that reads a text by codes alone: the fields of the text, in order.

    A blank or sign of the template takes any such of the text, or none, and blanks before a field
    say nothing. What stands behind all that the template reads does not count. Raises NOT_SUPPORTED
    for a pattern that reads nothing here.
    """
    value, template = _given(node)
    if template is None:
        return None
    codes: list[str] = []
    read, end = "", 0
    for found in _PART.finditer(template):
        name = (found["name"] or "").lower()
        code = _NAMES.get(name) or _CODES.get(name)
        between = template[end : found.start()]
        if found["text"] is not None:
            read += _between(between, False) + _as_written(_text_in_quotes(found))
        elif code is None:
            raise _refused(node, f"the pattern {found['name']}", function_name(node))
        else:
            read += _between(between, bool(codes) and _is_number(codes[-1]) and _is_number(code))
            read += rf"\s*({_field(code, _begins_with_number(template[found.end() :]))})"
            codes.append(code)
        end = found.end()
    if not codes:
        raise _refused(node, "a template without patterns", function_name(node))
    given, how = exp.paren(value.copy()), exp.Literal.string(" ".join(codes))
    each = [_group(given, f"^{read}", n) for n in range(1, len(codes) + 1)]
    fields = each[0]
    for field in each[1:]:
        fields = fill("a || ' ' || b", a=fields, b=field)
    text = fill(_FIELDS, t=given, r=f"^{read}", fields=fields)
    kind = "DATE" if function_name(node) == "to_date" else "TIMESTAMPTZ"
    return exp.cast(exp.StrToTime(this=text, format=how), kind, dialect="duckdb")


def _group(text: exp.Expr, pattern: str, place: int) -> exp.Expr:
    """What a group of a pattern matches."""
    return exp.RegexpExtract(
        this=text.copy(),
        expression=exp.Literal.string(pattern),
        group=exp.Literal.number(place),
    )


def _begins_with_number(template: str) -> bool:
    """True where the next field follows at once, and is one of digits."""
    found = _PART.match(template)
    name = (found["name"] or "").lower() if found is not None else ""
    return name in _CODES and _is_number(_CODES[name])


def _is_number(code: str) -> bool:
    return code not in _LETTERS


def _field(code: str, is_followed: bool) -> str:
    """What a pattern reads: of a number all digits, unless another one follows at once."""
    known = _READ_BY.get(code, "[0-9]{2}")
    return known if is_followed or not _is_number(code) or code in _FRACTIONS else "[0-9]+"


def _between(text: str, parts_numbers: bool) -> str:
    """What stands between two patterns: for signs and blanks as many others or fewer, and for each
    letter one sign. Something parts two numbers.
    """
    found = ""
    for run in re.findall(r"[^A-Za-z0-9]+|[A-Za-z0-9]+", text):
        if run[0].isascii() and run[0].isalnum():
            found += rf"\s*[^0-9]{{{len(run)}}}"
        else:
            found += f"[^A-Za-z0-9]{{{int(parts_numbers)},{len(run)}}}"
    return found


def _as_written(text: str) -> str:
    return "".join(r"\s" if sign.isspace() else re.escape(sign) for sign in text)


def _moment(node: exp.Expr, value: exp.Expr, template: str, kind: str) -> exp.Expr:
    parts: list[exp.Expr] = []
    format_, end = "", 0
    for found in _PART.finditer(template):
        format_ += template[end : found.start()].replace("%", "%%")
        end = found.end()
        if found["text"] is not None:
            format_ += _text_in_quotes(found).replace("%", "%%")
            continue
        name, is_plain = found["name"], bool(found["plain"])
        if name.lower() == "fx":
            continue
        code = _code(name, is_plain)
        if code is not None and not found["ordinal"]:
            format_ += code
            continue
        if name.lower() in _REFUSED or (is_plain and name.lower() in _OFFSETS):
            raise _refused(node, f"the pattern {name}")
        parts += [_formatted(value, format_)] if format_ else []
        if name.lower() in _OFFSETS:
            parts.append(_offset(node, value, name, kind))
        elif code is None:
            parts.append(_spelled_name(value, name, is_plain))
        else:
            parts.append(_formatted(value, code))
        if found["ordinal"]:
            suffix = fill(ORDINAL, n=parts[-1])
            parts.append(exp.Upper(this=suffix) if found["ordinal"].isupper() else suffix)
        format_ = ""
    format_ += template[end:].replace("%", "%%")
    if format_ or not parts:
        parts.append(_formatted(value, format_))
    made = parts[0]
    for part in parts[1:]:
        made = exp.DPipe(this=made, expression=part, safe=True)
    return exp.Paren(this=made)


def _offset(node: exp.Expr, value: exp.Expr, name: str, kind: str) -> exp.Expr:
    """What the session's clocks are ahead of UTC at a moment, or at the midnight of a date."""
    if kind == "TIMESTAMP" or kind.startswith("TIMESTAMP("):
        none = "00" if name.lower() == "tzm" else "+00"
        return fill(f"CASE WHEN NOT x IS NULL THEN '{none}' END", x=value)
    if kind not in {"DATE", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"}:
        raise _refused(node, f"the pattern {name}")
    return fill(_OFFSETS[name.lower()], x=exp.cast(value.copy(), "TIMESTAMPTZ", dialect="duckdb"))


def _span(node: exp.Expr, value: exp.Expr, template: str) -> exp.Expr:
    """``to_char`` of an interval; raises NOT_SUPPORTED for patterns of moments alone."""
    parts: list[exp.Expr] = []
    end = 0
    for found in _PART.finditer(template):
        parts.append(exp.Literal.string(template[end : found.start()]))
        end = found.end()
        if found["text"] is not None:
            parts.append(exp.Literal.string(_text_in_quotes(found)))
            continue
        part = _SPANS.get(found["name"].lower())
        if part is None or found["ordinal"]:
            raise _refused(node, f"the pattern {found['name']} of an interval")
        number = fill(part[0], x=exp.paren(value.copy()))
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


def _text_in_quotes(found: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", found["text"])


def _code(name: str, is_plain: bool) -> str | None:
    """What strftime calls a pattern; None where it has no such thing."""
    lower = name.lower()
    if lower in _NAMES:
        if lower in _PADDED:
            return _NAMES[lower] if is_plain and name == name.capitalize() else None
        return _CODES.get(name)
    code = _CODES.get(lower)
    if not is_plain or code is None or code in _WHOLE_CODES:
        return code
    return None if lower in _WITHOUT_ZEROS else code.replace("%", "%-")


def _spelled_name(value: exp.Expr, name: str, is_plain: bool) -> exp.Expr:
    """A name in capitals or small letters, filled up with blanks; a number of the calendar."""
    lower = name.lower()
    made: exp.Expr
    if lower in _CALLS:
        made = exp.paren(fill(_CALLS[lower], x=exp.Paren(this=value.copy())))
        if lower in _WORDS:
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


def _refused(node: exp.Expr, what: str, function: str = "to_char") -> PalimpsestError:
    moments = "YYYY, MM, DD, HH24, MI, SS, Mon, Day and their like, or "
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{function}() with {what} is not supported on this store",
        advice=f"use {moments if function == 'to_char' else ''}9 and 0 for numbers",
        position=position_of(node),
    )
