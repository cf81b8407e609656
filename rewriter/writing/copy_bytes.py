"""Bytes in the text of a COPY as PostgreSQL writes them: ``\\xdead``. Pure.

DuckDB's own text of bytes has a mark before each byte that is no letter, and would read the same
text as other bytes. The option BYTES hex, which streams of the postgres dialect have, tells them
apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Column
from rewriter.writing.copy_options import Options


def take_hex_columns(options: Options, columns: Sequence[Column]) -> list[int]:
    """Remove the option BYTES; the places of the columns whose texts are PostgreSQL's bytes."""
    value = options.pop("bytes", None)
    if value is None or value.name.lower() != "hex":
        return []
    return [place for place, column in enumerate(columns) if column.type == "BLOB"]


def rows_with_bytes(
    source: exp.Expr, columns: Sequence[Column], hex_columns: Sequence[int]
) -> exp.Select:
    """All that a source has, with the texts at those places as bytes."""
    if not hex_columns:
        return exp.select("*").from_(exp.Table(this=source))
    names = [exp.to_identifier(f"c{place}") for place in range(len(columns))]
    alias = exp.TableAlias(this=exp.to_identifier("f"), columns=names)
    star = exp.Star(
        replace=[exp.alias_(_bytes_of(exp.column(f"c{n}")), f"c{n}") for n in hex_columns]
    )
    return exp.select(star).from_(exp.Table(this=source, alias=alias))


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
