"""ADD CONSTRAINT .. USING INDEX: a unique index becomes a constraint. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.late_keys import add_late_key
from rewriter.name_resolution import position_of


def add_key_of_index(change: Alteration, node: exp.Expr, name: str, *, primary: bool) -> None:
    """Put a constraint in the place of an index.

    Raises UNKNOWN_INDEX, and WRONG_OBJECT for one that is not unique over whole columns.
    """
    draft = change.draft
    index = next((i for i in draft.indexes if fold(i.name) == fold(node.name)), None)
    columns = () if index is None else tuple(term.text for term in index.terms)
    is_key = index is not None and index.unique and index.predicate is None
    if index is None or not is_key or not all(term.is_column for term in index.terms):
        raise PalimpsestError(
            Code.UNKNOWN_INDEX if index is None else Code.WRONG_OBJECT,
            f'"{node.name}" is no unique index of {change.table.name} over whole columns',
            advice="CREATE UNIQUE INDEX, over columns and without WHERE",
            position=position_of(node),
        )
    draft.indexes = [i for i in draft.indexes if i is not index]
    names = [c.name for p in columns for c in draft.columns if c.physical == p]
    if not primary:
        draft.add_unique(names, name, node)
        return
    draft.set_key(names, name, node)
    add_late_key(change.draft, node)
    change.concerned |= set(columns)
