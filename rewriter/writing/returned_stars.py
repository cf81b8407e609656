"""``UPDATE .. FROM s .. RETURNING *``: the columns of the target, and behind them those of s. Pure.

In dialects that mean only the target by it nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold
from journal.sql.relations import column
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.output_names import source_names
from rewriter.reading.visible_columns import ctes_in_reach, relations_of


def spell_out_stars(ast: exp.Expr, table: Table, alias: str, context: RewriteContext) -> None:
    """Put columns in the place of the stars of RETURNING, where other relations are named.

    Raises NOT_SUPPORTED where a relation's columns cannot be told without the store.
    """
    returning = ast.args.get("returning")
    if returning is None or not semantics_of(context.dialect).returns_sources:
        return
    sources = [source for source in relations_of(ast) if source is not ast.this]
    if sources and any(_is_star(output) for output in returning.expressions):
        spelled: list[exp.Expr] = []
        for output in returning.expressions:
            of = fold(output.table) if isinstance(output, exp.Column) and output.table else ""
            if not _is_star(output) or of == fold(alias):
                spelled.append(output)
                continue
            if not of:
                spelled += [column(stored.name, alias) for stored in table.columns]
            for source in sources:
                if of in {"", fold(source.alias_or_name)}:
                    names = _names(source, ast, context)
                    spelled += [column(name, source.alias_or_name) for name in names]
        returning.set("expressions", spelled)


def _names(source: exp.Expr, ast: exp.Expr, context: RewriteContext) -> Sequence[str]:
    names = source_names(source, context, ctes_in_reach(ast, context))
    joins = [*(ast.args.get("joins") or []), *(source.args.get("joins") or [])]
    if names is None or not all(names) or any(join.args.get("using") for join in joins):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'RETURNING * of "{source.alias_or_name}" is not supported, whose columns are not told',
            advice="name the columns that are to be returned",
            position=position_of(source),
        )
    return names


def _is_star(output: exp.Expr) -> bool:
    star = output.this if isinstance(output, exp.Column) else output
    return isinstance(star, exp.Star) and not any(star.args.values())
