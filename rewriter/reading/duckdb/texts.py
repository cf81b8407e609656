"""Functions of texts of DuckDB's dialect on a PostgreSQL store. Pure.

upper('ß')                 ẞ
overlay(s PLACING p ..)    also from before the beginning
split_part(s, '', n)       the n-th character
sha256(s)                  also of a text
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.reading.duckdb.numbers import spell_counts
from rewriter.reading.duckdb.types import TEXTS, DuckDBTypes


def spell_upper(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """``upper`` of a text, whose ß becomes ẞ; PostgreSQL keeps it.

    One that is compared stays, for the sake of its index, where that makes no difference.
    """
    outer = node.parent
    if isinstance(outer, exp.EQ | exp.In):
        others = [part for part in outer.iter_expressions() if part is not node]
        if not any(other.is_string and set("ßẞ") & set(other.name) for other in others):
            return None
    is_plain = node.this.is_string and "ß" not in node.this.name
    return None if is_plain else fill("replace(up, 'ß', 'ẞ')", up=node)


def spell_overlay(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """Places before the text's beginning, and lengths below zero, are no errors."""
    size, put = node.args.get("for_"), node.expression
    length: exp.Expr = call("length", put)
    if size is not None:
        length = fill("CASE WHEN n < 0 THEN w ELSE n END", n=exp.cast(size.copy(), "INT"), w=length)
    start = exp.cast(node.args["from_"].copy(), "INT")
    return fill(_OVERLAID, s=node.this, put=put, start=start, size=length)


_OVERLAID = (
    "(LEFT(s, GREATEST(start - 1, 0)) || put || SUBSTRING(s,"
    " CASE WHEN start + (size) < 1 THEN 1 ELSE start + (size) END))"
)


def spell_split(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``split_part``, for which the empty text separates all characters."""
    made = spell_counts(node, types) or node
    separator, place = made.args["delimiter"], made.args["part_index"]
    if separator.is_string and separator.name:
        return None if made is node else made
    return fill(_SPLIT, whole=made, s=made.this, d=separator, n=place)


_SPLIT = "CASE WHEN d = '' THEN text_at(s, n) ELSE whole END"


def spell_digest(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``sha256`` of a text, of which PostgreSQL takes the bytes alone."""
    length = node.args.get("length")
    if types.kind_of(node.this) not in TEXTS or length is None or length.name != "256":
        return None
    return call("sha256", node.this)
