"""Primary keys that a table gets or loses after it was made. Pure.

Rows are found by the key that a table was declared with; one that comes late is a constraint.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, Unique
from journal.sql.relations_flat import is_flat
from rewriter.definitions.definition import TableDraft
from rewriter.name_resolution import position_of


def add_late_key(draft: TableDraft, node: exp.Expr) -> Unique:
    """Make the key of a draft a UNIQUE constraint; rows keep the hidden key they have."""
    columns, name = draft.key, draft.key_name
    draft.key, draft.key_name = (), None
    if any(u.primary for u in draft.uniques):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"{draft.name} has a primary key already",
            advice="drop that constraint first",
            position=position_of(node),
        )
    draft.uniques.append(Unique(name or f"{draft.name.name}_pkey", columns, primary=True))
    _require(draft, columns)
    return draft.uniques[-1]


def drop_key(table: Table, draft: TableDraft, node: exp.Expr) -> None:
    """Let rows be found by a hidden key; the columns stay NOT NULL.

    Raises NOT_SUPPORTED for an adopted journal.
    """
    if is_flat(table):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the primary key of {table.name}, an adopted journal, cannot be dropped or retyped",
            advice="other tools find rows by it, too; CREATE TABLE .. AS makes a table without it",
            position=position_of(node),
        )
    _require(draft, draft.key)
    draft.key, draft.key_name = (), None


def loosen_key(table: Table, draft: TableDraft, node: exp.Expr) -> Unique:
    """The same, but that the key stays a constraint, which is returned."""
    columns, name = draft.key, draft.key_name
    drop_key(table, draft, node)
    draft.key, draft.key_name = columns, name
    return add_late_key(draft, node)


def _require(draft: TableDraft, columns: tuple[str, ...]) -> None:
    draft.columns = [
        replace(c, not_null=True) if c.physical in columns else c for c in draft.columns
    ]
