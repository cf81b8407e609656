"""A FOREIGN KEY constraint as a value: columns, the parent, and what happens when that changes.

Pure; knows neither tables nor statements.
"""

from __future__ import annotations

from enum import StrEnum

from journal.model.lazy_dataclass import dataclass


class ReferenceAction(StrEnum):
    """What becomes of rows whose parent is deleted, or is given another key.

    RESTRICT differs from NO ACTION where a statement takes a key away and brings it back.
    """

    NO_ACTION = "NO ACTION"
    RESTRICT = "RESTRICT"
    CASCADE = "CASCADE"
    SET_NULL = "SET NULL"
    SET_DEFAULT = "SET DEFAULT"

    @property
    def acts(self) -> bool:
        """True if rows of the child change."""
        return self not in {ReferenceAction.NO_ACTION, ReferenceAction.RESTRICT}


class Deferral(StrEnum):
    """When a foreign key is checked in a transaction, and whether SET CONSTRAINTS may say so."""

    NEVER = "NOT DEFERRABLE"
    ON_REQUEST = "DEFERRABLE INITIALLY IMMEDIATE"
    INITIALLY = "DEFERRABLE INITIALLY DEFERRED"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A FOREIGN KEY constraint: physical columns of the table, and those of its parent.

    ``parent`` is the parent's table id, so that renaming it changes nothing. ``match_full``: of
    several columns all are NULL or none is.
    """

    name: str
    columns: tuple[str, ...]
    parent: int
    parent_columns: tuple[str, ...]
    on_delete: ReferenceAction = ReferenceAction.NO_ACTION
    on_update: ReferenceAction = ReferenceAction.NO_ACTION
    match_full: bool = False
    deferral: Deferral = Deferral.NEVER

    @property
    def options(self) -> list[str]:
        """Its options as SQL says them, without those that hold anyway."""
        found = ["MATCH FULL"] if self.match_full else []
        for event, action in (("DELETE", self.on_delete), ("UPDATE", self.on_update)):
            if action is not ReferenceAction.NO_ACTION:
                found.append(f"ON {event} {action}")
        return found + ([str(self.deferral)] if self.is_deferrable else [])

    @property
    def is_deferrable(self) -> bool:
        """True if a transaction may have it checked when it commits."""
        return self.deferral is not Deferral.NEVER
