"""The forms in which a store records hashes of an identifier.

What is on record is hashes, and whom they are of is destroyed: a form that is missing then cannot
be added. See ``normaliser_changes`` for who looks after that. Pure.
"""

from __future__ import annotations

from journal.identity.descriptor import ever_described, forms_by_type
from journal.identity.normalisers import PLAIN, Normaliser
from journal.transactions.state import JournalState


def recorded_forms(state: JournalState) -> dict[str, tuple[Normaliser, ...]]:
    """The normalisers, by the type of identifier, in whose forms identifiers go on record."""
    entries = (e for held in state.tables.values() for e in ever_described(held.layouts))
    declared = forms_by_type(entries)
    return {name: tuple(dict.fromkeys([*PLAIN, *found])) for name, found in declared.items()}
