"""PostgreSQL's ``format`` and quoting of names and values, in DuckDB's SQL. Pure.

format('%I of %10L', a, b)    a as a name, b as a value with spaces before it, up to ten characters
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import fill
from rewriter.name_resolution import position_of

_PLACES = re.compile(
    r"%(?:(?P<place>\d+)\$)?(?P<left>-)?(?:(?P<width>\d+)|(?P<star>\*)(?:(?P<of>\d+)\$)?)?"
    r"(?P<kind>[sIL])|%(?P<rest>.?)",
    re.S,
)
_PADDED = "repeat(' ', n - length(x)) || x || repeat(' ', -n - length(x))"
_TEXT = "CAST(x AS VARCHAR)"
QUOTED = (
    f"CASE WHEN contains({_TEXT}, '\\') THEN 'E''' || replace(replace({_TEXT}, '\\', '\\\\'),"
    f" '''', '''''') || '''' ELSE '''' || replace({_TEXT}, '''', '''''') || '''' END"
)
QUOTED_OR_NULL = f"COALESCE({QUOTED}, 'NULL')"
RESERVED = (
    "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit"
    " boolean both case cast char character check coalesce collate collation column concurrently"
    " constraint create cross current_catalog current_date current_role current_schema"
    " current_time current_timestamp current_user dec decimal default deferrable desc distinct do"
    " else end except exists extract false fetch float for foreign freeze from full grant greatest"
    " group grouping having ilike in initially inner inout int integer intersect interval into is"
    " isnull join lateral leading least left like limit localtime localtimestamp national natural"
    " nchar none normalize not notnull null nullif numeric offset on only or order out outer"
    " overlaps overlay placing position precision primary real references returning right row"
    " select session_user setof similar smallint some substring symmetric system_user table"
    " tablesample then time timestamp to trailing treat trim true union unique user using values"
    " varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists"
    " xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable"
).split()
"""The words that PostgreSQL quotes as names."""
QUOTED_NAME = (
    f"CASE WHEN regexp_full_match({_TEXT}, '[a-z_][a-z0-9_]*') AND NOT {_TEXT} IN"
    f" ({', '.join(repr(word) for word in RESERVED)}) THEN {_TEXT}"
    f" ELSE '\"' || replace({_TEXT}, '\"', '\"\"') || '\"' END"
)
_FORMATS = {
    "s": f"COALESCE({_TEXT}, '')",
    "L": QUOTED_OR_NULL,
    "I": f"COALESCE({QUOTED_NAME}, error('null values cannot be formatted as an SQL identifier'))",
}


def spell_format(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``format('%s of %10L', a, b)`` as parts that are joined."""
    pattern, given = arguments[0], list(arguments[1:])
    if not pattern.is_string:
        raise not_here(node, "format() of a pattern that is no constant", "join the parts with ||")
    parts: list[exp.Expr] = []
    end = last = 0
    for found in _PLACES.finditer(pattern.name):
        parts.append(exp.Literal.string(pattern.name[end : found.start()]))
        end = found.end()
        if found["rest"] is not None:
            if found["rest"] != "%":
                raise not_here(node, f"format() with {found[0]}", "take %s, %L or %I")
            parts.append(exp.Literal.string("%"))
            continue
        width = found["width"]
        if found["star"]:
            last = int(found["of"] or last + 1)
            width = _argument(node, given, last, found[0])
        last = int(found["place"] or last + 1)
        value = _argument(node, given, last, found[0])
        made = fill(_FORMATS[found["kind"]], x=exp.Paren(this=value.copy()))
        parts.append(_padded(made, width, to_left=bool(found["left"])))
    parts.append(exp.Literal.string(pattern.name[end:]))
    parts = [p for p in parts if not (p.is_string and not p.name)] or [exp.Literal.string("")]
    return exp.Paren(this=exp.Concat(expressions=parts, safe=True, coalesce=True))


def _argument(node: exp.Expr, given: Sequence[exp.Expr], place: int, where: str) -> exp.Expr:
    if not 0 < place <= len(given):
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"format() has too few arguments for {where}",
            advice="give one for each place of the pattern",
            position=position_of(node),
        )
    return given[place - 1]


def _padded(text: exp.Expr, width: exp.Expr | str | None, *, to_left: bool) -> exp.Expr:
    """A text with spaces before it, or behind it, up to a width; of a negative width behind it."""
    if not width:
        return text
    if isinstance(width, str):
        wide: exp.Expr = exp.Literal.number(int(width))
    else:
        wide = fill("COALESCE(CAST(n AS INTEGER), 0)", n=exp.Paren(this=width.copy()))
    if to_left:
        wide = fill("-abs(n)", n=wide)
    return exp.Paren(this=fill(_PADDED, x=text, n=wide))


def not_here(node: exp.Expr, what: str, advice: str) -> PalimpsestError:
    """The refusal of a form for which there are no words."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported",
        advice=advice,
        position=position_of(node),
    )
