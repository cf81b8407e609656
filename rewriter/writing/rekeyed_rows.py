"""Moves a table that loses its primary key into a new journal, whose rows have a hidden key.

A journal finds the versions of a row by its key, so the rows there are begin anew in another one,
and the past stays in the old one, as after CREATE OR REPLACE TABLE. Name, privileges, tags,
policies, foreign keys and sequences stay with the table. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from journal.model.access import ObjectKey, ObjectKind, PutAccess
from journal.model.copied_rows import PROPERTY, with_moved, with_sources
from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.plan import AllocateIdentity, Change, DropRelation, PutRelation, Step
from journal.model.schema import ROW_ID, CatalogSnapshot, Table
from journal.model.sequence_changes import PutSequence
from rewriter.context import RewriteContext
from rewriter.definitions.policies import unheld_guard
from rewriter.definitions.sequences import identity_moved, owned_by

_FIRST = f"p_first_{ROW_ID}"
_ROW_IDS = 1 << 32
"""Row ids set aside, because the number of rows is not known beforehand."""


def in_new_journal(old: Table, new: Table, context: RewriteContext) -> Table:
    """The definition under an id of its own; raises NOT_SUPPORTED where others know the old one."""
    for other in context.catalog.tables():
        if other.materialized is not None and old.id in other.materialized.sources:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{old.name} cannot lose its primary key while {other.name} is made of it",
                advice=f"drop the materialized view {other.name}, and make it again afterwards",
            )
    moved_id = context.new_table_id
    columns = (replace(c, initial=None, earlier_types=()) for c in new.columns)
    properties = tuple(p for p in new.properties if p[0] != PROPERTY)
    moved = replace(
        new,
        id=moved_id,
        columns=tuple(columns),
        foreign_keys=_moved_keys(new, old.id, moved_id),
        properties=properties,
        layout=0,
    )
    return with_moved(with_sources(moved, {old.id}, context.catalog), old)


def _moved_keys(table: Table, parent: int, moved_id: int) -> tuple[ForeignKey, ...]:
    """The foreign keys of a table, those to a parent under its new id."""
    return tuple(
        replace(key, parent=moved_id) if key.parent == parent else key for key in table.foreign_keys
    )


def new_row_ids(new: Table) -> tuple[AllocateIdentity, exp.Expr]:
    """The step that sets hidden keys aside, and the one of each row."""
    place = exp.Sub(this=exp.Window(this=exp.RowNumber()), expression=exp.Literal.number(1))
    number = exp.Add(this=exp.Placeholder(this=_FIRST), expression=exp.paren(place))
    return AllocateIdentity(new.id, ROW_ID, _FIRST, count=_ROW_IDS), number


def moving_steps(old: Table, new: Table, context: RewriteContext) -> list[Step]:
    """Steps that put the new definition in the old one's place, for all that knew it by its id."""
    message = f"{old.name} is under a legal hold by {{0}} ({{1}}), and its rows would move"
    steps: list[Step] = [unheld_guard(old, message)]
    # Put once more, so that COMMIT finds whether others have written rows that did not move.
    steps += [Change(PutRelation(old)), Change(DropRelation(old.name))]
    known = context.catalog.access.objects.get(ObjectKey(ObjectKind.TABLE, old.id))
    if known is not None:
        steps.append(Change(PutAccess(replace(known, key=ObjectKey(ObjectKind.TABLE, new.id)))))
    steps.append(Change(PutRelation(new)))
    for child in _children(old, context.catalog):
        keys = _moved_keys(child, old.id, new.id)
        steps.append(Change(PutRelation(replace(child, foreign_keys=keys))))
    for sequence in owned_by(context, old.id):
        assert sequence.owner is not None
        owner = (new.id, sequence.owner[1])
        steps.append(Change(PutSequence(replace(sequence, owner=owner))))
    before = {c.physical: c for c in old.columns}
    for stored in new.columns:
        known_as = before.get(stored.physical)
        if stored.identity is not None and known_as is not None and known_as.identity is not None:
            goes_on = identity_moved((old, known_as), (new, stored), context)
            steps += [] if goes_on is None else [goes_on]
    return steps


def _children(table: Table, catalog: CatalogSnapshot) -> Iterable[Table]:
    """The other tables that refer to one."""
    references = catalog.references.get(table.id, ())
    found = {r.child.id: r.child for r in references if r.parent.id == table.id}
    return (child for child in found.values() if child.id != table.id)
