"""Bytes and arrays in the text of a COPY as PostgreSQL writes them: ``\\xdead``, ``{a,b}``. Pure.

DuckDB's own text of bytes has a mark before each byte that is no letter, and would read the same
text as other bytes; its lists stand in brackets, and of a second it cuts what follows six digits.
The option TEXTS postgres, which streams of the postgres dialect have, tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Column
from rewriter.reading.postgres.long_fractions import MOMENTS, with_short_fraction
from rewriter.writing.copy_options import Options

_MOMENTS = {exp.DataType(this=kind).sql(dialect="duckdb"): kind for kind in MOMENTS}
_PARTS = r'"(?:[^"\\]|\\.)*"|[{},]|[^{},"]+'
"""The parts of an array's text: a quoted item, a mark, or an item without quotes."""


@dataclass(frozen=True, slots=True)
class PostgresTexts:
    """The places of columns whose texts a COPY reads as PostgreSQL does.

    ``foreign`` are those of which the store would read something else or nothing; of ``moments``
    it reads all but a long fraction.
    """

    foreign: tuple[int, ...] = ()
    moments: tuple[int, ...] = ()


def take_postgres_texts(options: Options, columns: Sequence[Column]) -> PostgresTexts:
    """Remove the option TEXTS; the places of columns that it concerns, none without it."""
    value = options.pop("texts", None)
    if value is None or value.name.lower() != "postgres":
        return PostgresTexts()
    types = [column.type for column in columns]
    return PostgresTexts(
        tuple(n for n, of in enumerate(types) if of == "BLOB" or of.endswith("]")),
        tuple(n for n, of in enumerate(types) if of in _MOMENTS),
    )


def rows_with_texts(
    source: exp.Expr, columns: Sequence[Column], texts: PostgresTexts
) -> exp.Select:
    """All that a source has, with the texts at those places as the store reads them."""
    places = sorted((*texts.foreign, *texts.moments))
    if not places:
        return exp.select("*").from_(exp.Table(this=source))
    names = [exp.to_identifier(f"c{place}") for place in range(len(columns))]
    alias = exp.TableAlias(this=exp.to_identifier("f"), columns=names)
    star = exp.Star(
        replace=[
            exp.alias_(_read(exp.column(f"c{place}"), columns[place]), f"c{place}")
            for place in places
        ]
    )
    return exp.select(star).from_(exp.Table(this=source, alias=alias))


def _read(text: exp.Expr, column: Column) -> exp.Expr:
    if column.type in _MOMENTS:
        return with_short_fraction(text, _MOMENTS[column.type])
    return _bytes_of(text) if column.type == "BLOB" else _list_text(text)


def _bytes_of(text: exp.Expr) -> exp.Case:
    """The bytes of PostgreSQL's hex format, or those of a text without a mark.

    Its older format, with octal numbers behind marks, fails instead of being read as other bytes.
    """
    mark = exp.Literal.string("\\")
    digits = exp.Substring(this=text.copy(), start=exp.Literal.number(3))
    pattern = exp.Literal.string(r"\\x([0-9a-fA-F]{2})*")
    is_hex = exp.RegexpFullMatch(this=text.copy(), expression=pattern)
    has_mark = exp.Contains(this=text.copy(), expression=mark)
    refusal = exp.Literal.string(r"bytes are written as \x and two hexadecimal digits for each")
    return (
        exp.Case()
        .when(is_hex, exp.Unhex(this=digits))
        .when(has_mark, exp.Anonymous(this="ERROR", expressions=[refusal]))
        .else_(exp.Encode(this=text.copy(), charset=exp.Literal.string("utf-8")))
    )


def _list_text(text: exp.Expr) -> exp.Case:
    """The text of a list in DuckDB's words, made of PostgreSQL's; what is in no braces as it is."""
    parts = _call("regexp_extract_all", text, exp.Literal.string(_PARTS))
    item = exp.to_identifier("item")
    words = _call("list_transform", parts, exp.Lambda(this=_word(), expressions=[item]))
    joined = _call("array_to_string", words, exp.Literal.string(""))
    begins = _call("starts_with", _call("ltrim", text), exp.Literal.string("{"))
    return exp.Case().when(begins, joined).else_(text.copy())


def _word() -> exp.Case:
    """One part of an array's text as it stands in a list's."""
    item = exp.column("item")
    bare = _call("trim", item)
    found = exp.Case()
    for mark, meant in (("{", "["), ("}", "]"), (",", ","), ("", "")):
        found = found.when(bare.eq(exp.Literal.string(mark)), exp.Literal.string(meant))
    quoted = _call("starts_with", item, exp.Literal.string('"'))
    null = exp.Literal.string("NULL")
    marked: exp.Expr = bare
    for odd in ("\\", '"'):
        given, kept = exp.Literal.string(odd), exp.Literal.string("\\" + odd)
        marked = _call("replace", marked, given, kept)
    quote = exp.Literal.string('"')
    return (
        found.when(quoted, item.copy())
        .when(_call("upper", bare).eq(null), null.copy())
        .else_(_call("concat", quote, marked, quote))
    )


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])
