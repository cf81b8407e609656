"""Which foreign keys act on a change, and in which order: parents before what refers to them.

An event is that rows of a parent are deleted, or that keys of them change. Deleting goes first, so
that a row whose parents are deleted and changed at once is deleted. Pure; knows no SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from journal.model.foreign_key import ReferenceAction
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Reference, References, Table

Written = Mapping[int, frozenset[str]]
"""Physical columns that change, by the id of their table."""
Derive = Callable[[Table, frozenset[str]], frozenset[str]]
"""Columns that change with others, because they are computed from them."""


@dataclass(frozen=True, slots=True)
class CascadeAction:
    """What a foreign key does to its child when rows of the parent go, or their keys change."""

    reference: Reference
    on_delete: bool

    @property
    def action(self) -> ReferenceAction:
        """The action that the foreign key declares for the event."""
        key = self.reference.key
        return key.on_delete if self.on_delete else key.on_update

    @property
    def deletes(self) -> bool:
        """True if rows of the child are deleted; else they change."""
        return self.on_delete and self.action is ReferenceAction.CASCADE

    @property
    def is_own(self) -> bool:
        """True if the table refers to itself."""
        return self.reference.child.id == self.reference.parent.id


@dataclass(frozen=True, slots=True)
class CascadeTurn:
    """Actions on one child that happen at once."""

    child: Table
    actions: tuple[CascadeAction, ...]


class CascadeCircle(Exception):
    """Foreign keys whose actions bring each other about, so that none can be first."""

    def __init__(self, actions: Sequence[CascadeAction]) -> None:
        super().__init__("a circle of actions")
        self.actions = tuple(actions)


def cascade_turns(
    references: References, deleted: Collection[int], written: Written, derive: Derive
) -> list[CascadeTurn]:
    """The turns that follow when rows of some tables are deleted, and columns of some change.

    Raises CascadeCircle. A table whose rows delete others of the same table is no circle.
    """
    actions = _actions(references, deleted, written, derive)
    deleting = [a for a in actions if a.deletes]
    setting = [a for a in actions if not a.deletes]

    def needs_deleted(action: CascadeAction, other: CascadeAction) -> bool:
        if action.is_own:
            # What others delete of the table is where its own tree begins.
            return other.reference.child.id == action.reference.child.id and not other.is_own
        return other.reference.child.id == action.reference.parent.id

    def needs_written(action: CascadeAction, other: CascadeAction) -> bool:
        reference = action.reference
        if action.on_delete or other.reference.child.id != reference.parent.id:
            return False
        columns = derive(other.reference.child, frozenset(other.reference.key.columns))
        return bool(columns & set(reference.key.parent_columns))

    return [*_ordered(deleting, needs_deleted), *_ordered(setting, needs_written)]


def _actions(
    references: References, deleted: Collection[int], written: Written, derive: Derive
) -> list[CascadeAction]:
    """All that may act, in a settled order."""
    gone, changed = set(deleted), dict(written)
    found: dict[tuple[int, str, bool], CascadeAction] = {}
    grew = True
    while grew:
        grew = False
        for table_id in sorted({*gone, *changed}):
            for reference in references.get(table_id, ()):
                if reference.parent.id != table_id:
                    continue
                for action in _of_reference(reference, gone, changed):
                    child = reference.child
                    name = (child.id, reference.key.name, action.on_delete)
                    if name in found:
                        continue
                    grew, found[name] = True, action
                    if action.deletes:
                        gone.add(child.id)
                    else:
                        columns = changed.get(child.id, frozenset()) | set(reference.key.columns)
                        changed[child.id] = derive(child, columns)
    return list(found.values())


def _of_reference(reference: Reference, gone: set[int], changed: Written) -> list[CascadeAction]:
    key, parent = reference.key, reference.parent.id
    found = []
    if parent in gone and key.on_delete.acts:
        found.append(CascadeAction(reference, True))
    if key.on_update.acts and changed.get(parent, frozenset()) & set(key.parent_columns):
        found.append(CascadeAction(reference, False))
    return found


def _ordered(
    actions: Sequence[CascadeAction], needs: Callable[[CascadeAction, CascadeAction], bool]
) -> list[CascadeTurn]:
    """The actions in turns, each after those it needs; of a table as many at once as can be."""
    left, turns = list(actions), []
    while left:
        ready = [a for a in left if not any(needs(a, other) for other in left)]
        whole = [a for a in ready if all(o in ready for o in left if _child(o).id == _child(a).id)]
        if not ready:
            raise CascadeCircle(left)
        child = _child((whole or ready)[0])
        now = tuple(a for a in ready if _child(a).id == child.id)
        turns.append(CascadeTurn(child, now))
        left = [a for a in left if a not in now]
    return turns


def _child(action: CascadeAction) -> Table:
    return action.reference.child
