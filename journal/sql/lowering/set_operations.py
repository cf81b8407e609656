"""Set operations of the canonical dialect that PostgreSQL lacks. Pure; changes the tree given.

a UNION BY NAME b            each side with the columns of both
a UNION VALUES (NULL, 1)     a NULL is of the type of the other side
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.relations import column, ident

NamesOf = Callable[[exp.Query], list[str] | None]
_SIDE = "_palimpsest_side"


def prepare_set_operations(holder: exp.Expr, names_of: NamesOf) -> None:
    """Write out what PostgreSQL lacks, inner ones first; ``names_of`` finds a query's columns."""
    for operation in reversed(list(holder.find_all(exp.SetOperation))):
        for side in (operation.this, operation.expression):
            _free_nulls(side)
        if operation.args.get("by_name"):
            _by_place(operation, names_of)


def _by_place(operation: exp.SetOperation, names_of: NamesOf) -> None:
    """Both sides with the same columns at the same places."""
    sides = [operation.this, operation.expression]
    names = [names_of(side) for side in sides]
    if not all(found is not None and all(found) for found in names):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this store has no UNION BY NAME of columns that are not named",
            advice="list the columns of both sides, with names",
        )
    left, right = ([*found] for found in names if found is not None)
    known = {fold(name) for name in left}
    every = [*left, *(name for name in right if fold(name) not in known)]
    for arg, own in (("this", left), ("expression", right)):
        there = {fold(name): name for name in own}
        outputs = [
            exp.alias_(column(there[fold(name)], _SIDE) if fold(name) in there else exp.Null(), n)
            for name in every
            for n in [ident(name)]
        ]
        side = operation.args[arg]
        rows = side if isinstance(side, exp.Subquery) else exp.Subquery(this=side)
        rows = exp.Subquery(this=rows.this, alias=exp.TableAlias(this=ident(_SIDE)))
        operation.set(arg, exp.select(*outputs, copy=False).from_(rows, copy=False))
    operation.set("by_name", None)


def _free_nulls(side: exp.Expr) -> None:
    """Rows of VALUES with a column of nothing but NULL, which PostgreSQL would call a text."""
    select = side.unnest() if isinstance(side, exp.Subquery) else side
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return
    (star,), from_ = select.expressions, select.args.get("from_")
    values = None if from_ is None else from_.this
    has_others = type(star) is not exp.Star or star.args.get("except_") or select.args.get("joins")
    if has_others or not isinstance(values, exp.Values):
        return
    names = values.args["alias"].columns
    rows = [row.expressions for row in values.expressions if isinstance(row, exp.Tuple)]
    if len(rows) != len(values.expressions) or any(len(row) != len(names) for row in rows):
        return
    empty = [all(isinstance(row[n], exp.Null) for row in rows) for n in range(len(names))]
    if any(empty):
        outputs = [
            exp.alias_(exp.Null() if is_empty else column(name.name, values.alias), name.copy())
            for name, is_empty in zip(names, empty, strict=True)
        ]
        select.set("expressions", outputs)
