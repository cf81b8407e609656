"""Values of one type where DuckDB's dialect has numbers of several, on a PostgreSQL store. Pure.

SELECT 1 UNION SELECT 'a'              texts, and of truths and numbers numbers
SELECT 1.5 UNION SELECT 2             1.5 and 2.0, as of (VALUES (1.5), (2)) and [1.5, 2]
coalesce(1.5, 2)                      a number with the digits of both

PostgreSQL's NUMERIC has the digits of each value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.relations import ident
from rewriter.reading.duckdb.casts import text_of
from rewriter.reading.duckdb.decimals import common_decimal
from rewriter.reading.duckdb.outputs import selects_of
from rewriter.reading.duckdb.truths import NUMBERS
from rewriter.reading.duckdb.types import TEXTS, DuckDBTypes
from rewriter.reading.spelling import result_spelling

CHOICES = (exp.Coalesce, exp.Case, exp.If, exp.Greatest, exp.Least)


def spell_choice(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """One of several numbers, of which some have other digits."""
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return None
    kind = types.of(node).kind or ""
    if not kind.startswith("DECIMAL(") or isinstance(node.parent, exp.Cast):
        return None
    return exp.cast(node.copy(), kind, dialect="duckdb")


def spell_list(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The numbers of a list."""
    kinds = [types.of(value).kind for value in node.expressions]
    common = common_decimal(kinds)
    if common is None or {*kinds} == {common}:
        return None
    made = node.copy()
    made.set(
        "expressions",
        [_as(common, value, kind) for value, kind in zip(made.expressions, kinds, strict=True)],
    )
    return made


def spell_rows_of_values(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The columns of VALUES in FROM."""
    rows = [row.unalias() for row in node.expressions]
    if isinstance(node.parent, exp.Insert) or not all(isinstance(r, exp.Tuple) for r in rows):
        return None
    if len({len(row.expressions) for row in rows}) != 1:
        return None
    made = node.copy()
    copies = [row.unalias() for row in made.expressions]
    for place in range(len(rows[0].expressions)):
        _align(
            [row.expressions[place] for row in rows], [r.expressions[place] for r in copies], types
        )
    return None if made == node else made


def spell_set(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The outputs of a set operation."""
    above = node.parent
    while isinstance(above, exp.Subquery | exp.Paren):
        above = above.parent
    if isinstance(above, exp.SetOperation) or node.args.get("by_name"):
        return None
    if (
        isinstance(above, exp.CTE)
        and above.parent is not None
        and above.parent.args.get("recursive")
    ):
        return None
    made = node.copy()
    sides, copies = selects_of(node), selects_of(made)
    if len({len(side.expressions) for side in sides}) != 1:
        return None
    if any(output.is_star for side in sides for output in side.expressions):
        return None
    for place, output in enumerate(sides[0].expressions):
        values = [side.expressions[place].unalias() for side in sides]
        given = [side.expressions[place].unalias() for side in copies]
        if not _align_texts(values, given, types):
            _align(values, given, types)
        named = copies[0].expressions[place]
        if isinstance(named, exp.Cast) and not isinstance(output, exp.Cast):
            named.replace(exp.alias_(named.copy(), ident(_name(output)), copy=False))
    return None if made == node else made


def _name(output: exp.Expr) -> str:
    return output.name if isinstance(output, exp.Column) else result_spelling(output)


def _align_texts(
    values: Sequence[exp.Expr], copies: Sequence[exp.Expr], types: DuckDBTypes
) -> bool:
    """Cast what stands beside texts to texts, and truths beside numbers to numbers, in the copies.

    False for values that are not told, and where there is nothing to cast.
    """
    told = [value for value in values if not isinstance(value, exp.Null)]
    kinds = {types.kind_of(value) for value in told}
    if len(kinds) < 2 or not kinds <= _SIMPLE:
        return False
    numbers = kinds - {"BOOLEAN"}
    is_text = bool(kinds & TEXTS)
    if not is_text and not ("BOOLEAN" in kinds and numbers <= NUMBERS):
        return False
    for value, copied in zip(values, copies, strict=True):
        kind = types.kind_of(value)
        if is_text and kind not in TEXTS and not isinstance(value, exp.Null):
            copied.replace(exp.cast(text_of(value, types).copy(), "VARCHAR"))
        elif not is_text and kind == "BOOLEAN":
            copied.replace(exp.cast(value.copy(), "INT"))
    return True


_SIMPLE = NUMBERS | TEXTS | {"BOOLEAN", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"}


def _align(values: Sequence[exp.Expr], copies: Sequence[exp.Expr], types: DuckDBTypes) -> None:
    """Cast the numbers of a column to the one type that holds them all, in the copies."""
    kinds = [None if isinstance(v, exp.Null) else types.of(v).kind for v in values]
    common = common_decimal(
        [k for v, k in zip(values, kinds, strict=True) if not isinstance(v, exp.Null)]
    )
    if common is None:
        return
    for copied, kind in zip(copies, kinds, strict=True):
        copied.replace(_as(common, copied, kind))


def _as(common: str, value: exp.Expr, kind: str | None) -> exp.Expr:
    if kind == common and isinstance(value, exp.Column | exp.Cast):
        return value.copy()
    return exp.cast(value.copy(), common, dialect="duckdb")
