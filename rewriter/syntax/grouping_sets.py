"""GROUP BY DISTINCT and GROUP BY ALL of the postgres dialect, in words of every store. Pure.

GROUP BY DISTINCT ROLLUP (a), CUBE (a)    becomes  GROUP BY GROUPING SETS ((a), ())
GROUP BY ALL ROLLUP (a), b                becomes  GROUP BY ROLLUP (a), b
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SETS_MAX = 4096
Columns = tuple[exp.Expr, ...]


def spell_group_quantifier(group: exp.Group) -> None:
    """Leave out ALL before what is grouped by, and grouping sets that DISTINCT leaves out."""
    asked = group.args.get("all")
    if asked is None or not group.expressions:
        return
    group.set("all", None)
    if asked or not any(isinstance(node, _SETS) for node in group.expressions):
        return
    found: dict[frozenset[exp.Expr], Columns] = {}
    for parts in product(*(list(_sets_of(node)) for node in group.expressions)):
        columns = tuple(dict.fromkeys(column for part in parts for column in part))
        found.setdefault(frozenset(columns), columns)
        if len(found) > _SETS_MAX:
            raise PalimpsestError(
                Code.TOO_MANY_ITEMS,
                f"GROUP BY DISTINCT makes more than {_SETS_MAX} grouping sets",
                advice="write the GROUPING SETS that are wanted",
            )
    sets = [exp.Tuple(expressions=[c.copy() for c in columns]) for columns in found.values()]
    group.set("expressions", [exp.GroupingSets(expressions=sets)])


def _sets_of(node: exp.Expr) -> Iterator[Columns]:
    """The grouping sets that one element of GROUP BY stands for."""
    if isinstance(node, exp.GroupingSets):
        for part in node.expressions:
            yield from _sets_of(part)
        return
    if not isinstance(node, exp.Rollup | exp.Cube):
        yield _columns_of(node)
        return
    parts = [_columns_of(part) for part in node.expressions]
    for size in range(len(parts), -1, -1):
        chosen = [parts[:size]] if isinstance(node, exp.Rollup) else combinations(parts, size)
        for some in chosen:
            yield tuple(column for part in some for column in part)


def _columns_of(node: exp.Expr) -> Columns:
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)
