"""Columns of views under other names. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import View, fold
from journal.sql import dialects
from rewriter.context import RewriteContext
from rewriter.name_resolution import position_of, unknown_column
from rewriter.reading.output_names import output_names


def renamed_column(view: View, action: exp.RenameColumn, context: RewriteContext) -> View:
    """A view whose column of one name has another.

    Raises UNKNOWN_COLUMN, DUPLICATE_COLUMN, and NOT_SUPPORTED for a view whose names are not known.
    """
    old, new = action.this.name, action.args["to"].name
    names = list(view.columns or output_names(dialects.stored(view.query), context) or ())
    if not names:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the columns of {view.name} have no names of their own",
            advice="CREATE OR REPLACE VIEW with a list of names",
            position=position_of(action),
        )
    known = [fold(name) for name in names]
    if fold(old) not in known:
        raise unknown_column(old, view, action)
    if fold(new) in known and fold(new) != fold(old):
        raise PalimpsestError(
            Code.DUPLICATE_COLUMN,
            f'{view.name} has a column "{new}" already',
            advice="use another name",
            position=position_of(action),
        )
    names[known.index(fold(old))] = new
    comments = tuple((fold(new) if n == fold(old) else n, c) for n, c in view.column_comments)
    return replace(view, columns=tuple(names), column_comments=comments)
