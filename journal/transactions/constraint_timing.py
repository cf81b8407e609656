"""When deferrable foreign keys of a transaction are checked: by each statement, or by COMMIT. Pure.

SET CONSTRAINTS ALL DEFERRED        every deferrable one waits for COMMIT
SET CONSTRAINTS a, b IMMEDIATE      these are checked now, and by each statement from now on
"""

from __future__ import annotations

from collections.abc import Collection

from journal.model.foreign_key import Deferral
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot

ConstraintKey = tuple[int, str]
"""A foreign key: the id of the table that has it, and its name."""


@dataclass(frozen=True, slots=True)
class ConstraintTiming:
    """What SET CONSTRAINTS has said in a transaction; nothing, and definitions say it.

    ``every`` is what ALL was set to, ``named`` what was set by name since.
    """

    every: bool | None = None
    named: tuple[tuple[ConstraintKey, bool], ...] = ()

    def with_names(self, keys: Collection[ConstraintKey], deferred: bool) -> ConstraintTiming:
        """The same where these foreign keys are deferred, or not."""
        kept = [(key, value) for key, value in self.named if key not in keys]
        added = [(key, deferred) for key in sorted(keys)]
        return ConstraintTiming(self.every, (*kept, *added))

    def deferred(self, catalog: CatalogSnapshot) -> frozenset[ConstraintKey]:
        """The foreign keys of a catalog that wait for COMMIT."""
        named = dict(self.named)
        found = set()
        for key, deferral in deferrable_keys(catalog).items():
            usual = deferral is Deferral.INITIALLY if self.every is None else self.every
            if named.get(key, usual):
                found.add(key)
        return frozenset(found)


def deferrable_keys(catalog: CatalogSnapshot) -> dict[ConstraintKey, Deferral]:
    """The deferrable foreign keys of a catalog, and when each is checked unless somebody says."""
    return {
        (r.child.id, r.key.name): r.key.deferral
        for references in catalog.references.values()
        for r in references
        if r.key.is_deferrable
    }
