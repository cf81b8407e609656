"""A sequence under another name or definition, and the defaults that take numbers of it. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, Step
from journal.model.schema import Sequence
from journal.model.sequence_changes import PutSequence
from rewriter.context import RewriteContext
from rewriter.definitions.sequences import renamed_default, users_of
from rewriter.name_resolution import position_of


def replaced_sequence(
    old: Sequence, new: Sequence, node: exp.Expr, context: RewriteContext
) -> list[Step]:
    """Steps that put one in the place of the other; raises DUPLICATE_TABLE for a name taken."""
    name = new.name
    taken = context.catalog.sequences.get(name.key) or context.catalog.get(name)
    if name.key != old.name.key and taken is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{name} exists already",
            advice="use another name",
            position=position_of(node),
        )
    steps: list[Step] = [Change(PutSequence(new, old.name))]
    for table, _, _ in users_of([old.name], context) if name != old.name else []:
        columns = tuple(renamed_default(c, old.name, name) for c in table.columns)
        steps.append(Change(PutRelation(replace(table, columns=columns), table.name)))
    return steps
