"""ALTER TABLE .. RENAME CONSTRAINT: a key, a check or a foreign key under another name. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.schema import Check, Unique, fold
from rewriter.definitions.alteration import Alteration
from rewriter.name_resolution import position_of

_Named = TypeVar("_Named", Unique, Check, ForeignKey)


def rename_constraint(change: Alteration, old: str, new: str, node: exp.Expr) -> None:
    """Give a constraint another name; raises INVALID_DEFINITION for none, or a name taken."""
    draft, table = change.draft, change.table
    key_name = draft.key_name or f"{table.name.name}_pkey"
    names = {fold(k.name) for k in draft.constraints} | ({fold(key_name)} if draft.key else set())
    if fold(old) not in names:
        raise change.no_constraint(old, node)
    if fold(new) in names:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'{table.name} has a constraint "{new}" already',
            advice="give it another name",
            position=position_of(node),
        )

    def named(known: _Named) -> _Named:
        return replace(known, name=new) if fold(known.name) == fold(old) else known

    if draft.key and fold(old) == fold(key_name):
        draft.key_name = new
    if fold(old) in draft.comments:
        draft.comments[fold(new)] = draft.comments.pop(fold(old))
    change.uniques = [named(u) for u in change.uniques]
    draft.uniques = [named(u) for u in draft.uniques]
    draft.checks = [named(c) for c in draft.checks]
    draft.foreign_keys = [named(k) for k in draft.foreign_keys]
    change.renamed.add(new)
