"""``SELECT *`` over JOIN .. USING with the columns that are joined first, as PostgreSQL has them.

SELECT * FROM a JOIN b USING (x)    SELECT x, * EXCLUDE (x) FROM a JOIN b USING (x)

DuckDB leaves them where the first table has them; PostgreSQL and Spark do not. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import fold
from journal.model.trees import copy_tree
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.reading.output_names import source_names
from rewriter.reading.visible_columns import ctes_in_reach

_NATURAL = "NATURAL"


def moves_columns(select: exp.Select, context: RewriteContext) -> bool:
    """True for a query whose ``*`` has columns that are to come before the others."""
    if not context.capabilities.joins_in_place:
        return False
    return bool(_stars(select) and _first_columns(select, context))


def put_joined_first(select: exp.Select, context: RewriteContext) -> None:
    """Name these columns before each ``*``, and leave them out of it."""
    names = _first_columns(select, context)
    for star in _stars(select):
        star.set("except_", [ident(name) for name in names])
        outputs = select.expressions
        place = next(i for i, output in enumerate(outputs) if output is star)
        select.set("expressions", [*outputs[:place], *map(column, names), *outputs[place:]])


def put_joined_in_place(select: exp.Select, context: RewriteContext) -> exp.Select | None:
    """A query whose ``*`` is written out as DuckDB orders it, for stores that order otherwise.

    None where the store orders them likewise, and where they are not known.
    """
    if context.capabilities.joins_in_place or not _stars(select):
        return None
    if not _first_columns(select, context):
        return None
    known = ctes_in_reach(select, context)
    found: list[tuple[str, str]] = []
    joins: Sequence[exp.Join] = select.args.get("joins") or []
    for source, join in ((select.args["from_"].this, None), *((j.this, j) for j in joins)):
        names = source_names(source, context, known)
        if names is None or not all(names) or not source.alias_or_name:
            return None
        if join is not None and join.kind.upper() in {"SEMI", "ANTI"}:
            continue
        there = [name for _, name in found]
        joined = (_joined(join, there, names) if join is not None else None) or []
        found = [("" if _has_any([name], joined) else of, name) for of, name in found]
        found += [(source.alias_or_name, name) for name in names if not _has_any([name], joined)]
    made = copy_tree(select)
    outputs: list[exp.Expr] = []
    for output in made.expressions:
        if isinstance(output, exp.Star):
            outputs += [column(name, of) if of else column(name) for of, name in found]
        else:
            outputs.append(output)
    made.set("expressions", outputs)
    return made


def _stars(select: exp.Select) -> list[exp.Star]:
    return [e for e in select.expressions if isinstance(e, exp.Star) and not any(e.args.values())]


def _first_columns(select: exp.Select, context: RewriteContext) -> list[str]:
    """The columns that USING and NATURAL join, those of the last join first.

    Empty where the store has them first anyway, and where it takes names that are not known.
    """
    joins: Sequence[exp.Join] = select.args.get("joins") or []
    if not any(_joins_by_name(join) for join in joins):
        return []
    from_ = select.args["from_"].this
    if any(source.args.get("joins") for source in (from_, *(join.this for join in joins))):
        return []
    known = ctes_in_reach(select, context)
    there = source_names(from_, context, known)
    first: list[str] = []
    for join in joins:
        names = source_names(join.this, context, known)
        joined = _joined(join, there, names)
        if joined is None:
            return []
        if not joined and first and (names is None or _has_any(names, first)):
            return []
        first = [*joined, *(name for name in first if not _has_any([name], joined))]
        if there is not None and names is not None:
            there = [*there, *(name for name in names if not _has_any([name], joined))]
        else:
            there = None
    is_first = there is not None and list(map(fold, there[: len(first)])) == list(map(fold, first))
    return [] if is_first else first


def _joins_by_name(join: exp.Join) -> bool:
    return bool(join.args.get("using")) or join.method == _NATURAL


def _joined(
    join: exp.Join, left: Sequence[str] | None, right: Sequence[str] | None
) -> list[str] | None:
    """The columns that a join joins by name; None for a comma between sources, and if unknown."""
    if join.args.get("using"):
        return [name.name for name in join.args["using"]]
    if join.method == _NATURAL:
        known = left is not None and right is not None
        return [name for name in left or () if _has_any([name], right or ())] if known else None
    return [] if join.args.get("on") or join.kind else None


def _has_any(names: Sequence[str], wanted: Sequence[str]) -> bool:
    return not {fold(name) for name in names}.isdisjoint(map(fold, wanted))
