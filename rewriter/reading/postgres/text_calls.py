"""Functions of texts that only PostgreSQL has, in DuckDB's SQL. Pure.

normalize(s), normalize(s, NFC)     of the forms of Unicode only this one
unistr('d\\0061ta')                 of a constant
split_part(s, '', 1)                the whole text
pg_size_pretty(n)                   10 kB, of a whole number
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.quoting import not_here
from rewriter.syntax.unicode_escapes import unescaped

_SIZE = (
    "WHEN abs(n // {divisor}) < 20479"
    " THEN CAST((n // {divisor} + CAST(sign(n) AS INTEGER)) // 2 AS VARCHAR) || ' {unit}'"
)
PRETTY_SIZE = (
    "CASE WHEN abs(n) < 10240 THEN CAST(n AS VARCHAR) || ' bytes' "
    + " ".join(
        _SIZE.format(divisor=512 << (10 * step), unit=unit)
        for step, unit in enumerate(("kB", "MB", "GB", "TB"))
    )
    + f" ELSE CAST((n // {512 << 40} + CAST(sign(n) AS INTEGER)) // 2 AS VARCHAR) || ' PB' END"
)
"""In units of 1024, rounded: each goes up to 20479 halves."""


def spell_normalized(node: exp.Expr) -> exp.Expr:
    """``normalize(s)``; raises NOT_SUPPORTED for other forms than NFC."""
    form = node.args.get("form")
    if isinstance(form, exp.Expr) and form.name.upper() != "NFC":
        what = f"normalize() to {form.name.upper()}"
        raise not_here(node, what, "normalize to NFC, or in the program")
    return call("nfc_normalize", node.this)


_WHOLE = "CASE WHEN n IN (1, -1) OR s IS NULL THEN s ELSE '' END"


def spell_split(node: exp.Expr) -> exp.Expr | None:
    """``split_part(s, '', n)``, which splits nothing; None for another separator."""
    separator = node.args.get("delimiter")
    if separator is None or not separator.is_string or separator.name:
        return None
    return fill(_WHOLE, s=exp.paren(node.this.copy()), n=node.args["part_index"])


def spell_unicode(text: exp.Expr) -> exp.Expr | None:
    """``unistr(s)``; None for a computed text."""
    if not text.is_string:
        return None
    return exp.Literal.string(unescaped(text.name, position_of(text)))
