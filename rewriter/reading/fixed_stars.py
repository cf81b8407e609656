"""The stars of a query that is kept: the columns that they stand for when it is made. Pure.

CREATE VIEW v AS SELECT *, 2 AS n FROM t    has the columns that t has now, whatever it has later

Stars whose columns cannot be told without the store stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import semantics_of
from rewriter.reading.output_names import source_names
from rewriter.reading.visible_columns import ctes_in_reach

_PLAIN_JOINS = frozenset({"", "CROSS", "INNER", "OUTER"})


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a star stands for: ``all`` with the relation of each, "" for one that is joined by
    name; and what each relation has. None: columns that are not known.
    """

    all: Sequence[tuple[str, str | None]]
    of: dict[str, Sequence[str] | None]


def fix_stars(query: exp.Expr, context: RewriteContext) -> None:
    """Put columns in the place of the stars of a query, and of those within it."""
    if not semantics_of(context.dialect).stars_are_fixed:
        return
    for select in list(query.find_all(exp.Select)):
        if any(_star(output) is not None for output in select.expressions):
            found = _columns(select, context)
            if found is not None:
                outputs = [part for output in select.expressions for part in _parts(output, found)]
                select.set("expressions", outputs)


def _parts(output: exp.Expr, columns: _Columns) -> Sequence[exp.Expr]:
    star = _star(output)
    alias = output.table if isinstance(output, exp.Column) else ""
    if star is None or (alias and columns.of.get(fold(alias)) is None):
        return [output]
    left_out = {fold(node.name) for node in star.args.get("except_") or []}
    named = [(alias, name) for name in columns.of[fold(alias)] or ()] if alias else columns.all
    if left_out and any(name is None for _, name in named):
        return [output]
    return [
        exp.column(exp.Star(), table=ident(of)) if name is None else column(name, of or None)
        for of, name in named
        if name is None or fold(name) not in left_out
    ]


def _star(output: exp.Expr) -> exp.Star | None:
    """The star that an output is, if nothing but names are said of it."""
    star = output.this if isinstance(output, exp.Column) else output
    if not isinstance(star, exp.Star):
        return None
    said = {name: value for name, value in star.args.items() if value}
    names = said.pop("except_", [])
    return star if not said and all(isinstance(n, exp.Identifier) for n in names) else None


def _columns(select: exp.Select, context: RewriteContext) -> _Columns | None:
    """The columns of the relations of a query; None where a star cannot be told from them."""
    from_ = select.args.get("from_")
    joins: Sequence[exp.Join] = select.args.get("joins") or []
    if from_ is None or select.args.get("laterals"):
        return None
    reach = ctes_in_reach(select, context)
    shown: list[tuple[str, str | None]] = []
    of: dict[str, Sequence[str] | None] = {}
    for source, join in ((from_.this, None), *((join.this, join) for join in joins)):
        names = source_names(source, context, reach)
        names = names if names and all(names) else None
        alias = source.alias_or_name
        nested = source.args.get("joins") or source.args.get("pivots")
        if not alias or nested or fold(alias) in of:
            return None
        of[fold(alias)] = names
        joined: set[str] = set()
        if join is not None:
            by_name = join.args.get("using") or join.method == "NATURAL"
            is_known = names is not None and all(name is not None for _, name in shown)
            if join.kind.upper() not in _PLAIN_JOINS or (by_name and not is_known):
                return None
            joined = {fold(node.name) for node in join.args.get("using") or []}
            if join.method == "NATURAL":
                joined = {fold(n) for _, n in shown if n} & {fold(n) for n in names or ()}
        first = [("", name) for _, name in shown if name and fold(name) in joined]
        left = [pair for pair in shown if pair[1] is None or fold(pair[1]) not in joined]
        right = [(alias, n) for n in names or (None,) if n is None or fold(n) not in joined]
        shown = [*first, *left, *right]
    known = [fold(name) for _, name in shown if name]
    is_ambiguous = any(not alias and name and known.count(fold(name)) > 1 for alias, name in shown)
    return None if is_ambiguous else _Columns(shown, of)
