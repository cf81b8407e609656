"""ALTER COLUMN .. SET EXPRESSION and DROP EXPRESSION, of generated columns. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.sql import cast
from rewriter.definitions.added_values import value_of_added
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.generated_checks import check_free, settle_changed
from rewriter.name_resolution import position_of


def set_expression(change: Alteration, name: str, value: exp.Expr, node: exp.Expr) -> None:
    """Let every row get the new value of a generated column.

    Raises INVALID_DEFINITION for a column that is not generated, and for such a value.
    """
    index, draft = _generated_place(change, name, node), change.draft
    old = draft.columns[index]
    check_free(draft.columns, old.physical, f'"{name}" cannot be computed otherwise')
    change.replace_column(index, generated=canonical_text(value))
    settle_changed(draft, index)
    physical = draft.new_physical(old.name)
    change.replace_column(index, physical=physical, initial=None, earlier_types=())
    change.forget_physical(old.physical)
    change.rename_physical(old.physical, physical)
    made = draft.columns[index]
    computed = value_of_added(made, draft.table(change.table.id), change.values)
    change.values[physical] = cast(computed, made.type)
    change.rewritten.add(physical)
    change.concerned.add(physical)


def drop_expression(change: Alteration, name: str, node: exp.Expr, *, exists: bool) -> None:
    """Make a plain column of a generated one, with the values that it has.

    Raises INVALID_DEFINITION for another column, which ``exists`` passes over.
    """
    if exists and change.draft.columns[change.column_index(name, node)].generated is None:
        return
    change.replace_column(_generated_place(change, name, node), generated=None)


def _generated_place(change: Alteration, name: str, node: exp.Expr) -> int:
    index = change.column_index(name, node)
    if change.draft.columns[index].generated is None:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'column "{name}" of {change.table.name} is not generated',
            advice="DROP EXPRESSION IF EXISTS passes over it",
            position=position_of(node),
        )
    return index
