"""The parts of a batch: groups of small tables, and files or segments of each large one.

A part is a request of the erasure machinery. The parts of a large table search some pieces of it
each, and the last of them all that no other has: heads, what is kept besides, and what came since.
They are planned once and stand in the batch until all are accepted, so a run that goes on after it
was killed has the same.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from gateway.privacy_desk.batches import split_tables
from gateway.privacy_desk.desk import Desk
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import ErasureRequest
from journal.erasure.scope import load_scope
from journal.erasure.table_share import TableShare, searched_by
from journal.identity.descriptor import ever_described
from journal.model.lazy_dataclass import dataclass
from journal.transactions.reading import reading
from journal.transactions.state import JournalState
from spark_compaction.erasure.legal_holds import definition
from spark_compaction.erasure.units import units_of

Sizes = Mapping[int, Mapping[str, int]]
"""By table the bytes of its pieces; see ``ErasureBackend.piece_sizes``."""


@dataclass(frozen=True, slots=True)
class Part:
    """The tables of a part, by id; or some ``pieces`` of the first, or the rest if it ``is_last``.

    ``described`` is what identified people in that table when the parts were planned.
    """

    tables: tuple[int, ...]
    pieces: tuple[str, ...] = ()
    is_last: bool = False
    described: str = ""

    @property
    def is_shared(self) -> bool:
        """True if it is about a part of a table."""
        return self.is_last or bool(self.pieces)

    def to_json(self) -> dict[str, Any]:
        """As a batch keeps it."""
        return {
            "tables": list(self.tables),
            "pieces": list(self.pieces),
            "is_last": self.is_last,
            "described": self.described,
        }

    @staticmethod
    def of_json(raw: Mapping[str, Any]) -> Part:
        """As a batch has kept it."""
        return Part(tuple(raw["tables"]), tuple(raw["pieces"]), raw["is_last"], raw["described"])

    def spec(
        self,
        state: JournalState,
        subjects: Mapping[str, Sequence[str]],
        accepted: Sequence[ErasureRequest],
    ) -> ErasureSpec | None:
        """What is asked for it; ``accepted`` are the parts before it. None: its tables are gone.

        People are looked for by the types that its tables have. Where a table identifies them in
        another way since it was planned, the last part searches all of it once more.
        """
        there = [i for i in self.tables if i in state.tables and state.tables[i].layouts]
        if not there or (self.is_shared and there[0] != self.tables[0]):
            return None
        names = frozenset(definition(state, i).name.key for i in there)
        types = {i.type for t in there for i in ever_described(state.tables[t].layouts)}
        some = {kind: values for kind, values in subjects.items() if kind in types}
        share = None
        if self.is_shared:
            table_id = self.tables[0]
            earlier = [r for r in accepted if any(t.pieces for t in _of(r, table_id))]
            is_same = self.described == _described(state, table_id)
            searched = searched_by(earlier, table_id) if is_same else frozenset()
            wanted = None if self.is_last else frozenset(self.pieces)
            share = TableShare(table_id, wanted, searched, tuple(r.id for r in earlier))
        return ErasureSpec(subjects=some or subjects, tables=names, share=share)

    def description(self, state: JournalState) -> list[str]:
        """Its tables by name, and how much of one it is."""
        names = [str(definition(state, i).name) for i in self.tables]
        if self.pieces:
            return [f"{names[0]}, {len(self.pieces)} pieces"]
        return [f"{names[0]}, the rest"] if self.is_last else sorted(names)


def _of(request: ErasureRequest, table_id: int) -> list[Any]:
    return [t for t in request.targets if t.table_id == table_id]


def _described(state: JournalState, table_id: int) -> str:
    return repr(sorted(map(repr, ever_described(state.tables[table_id].layouts))))


def split(sizes: Sizes, most: int) -> list[Part]:
    """Parts of at most so many bytes; tables that are smaller stand together.

    >>> [part.pieces for part in split({1: {"a": 5, "b": 4, "c": 1}, 2: {"d": 1}}, 5)]
    [(), ('a',), ()]
    """
    totals = {table_id: sum(pieces.values()) for table_id, pieces in sizes.items()}
    small = {i: size for i, size in totals.items() if size <= most or len(sizes[i]) < 2}
    parts = [Part(tuple(group)) for group in split_tables(small, most)]
    for table_id in sorted(totals.keys() - small.keys()):
        *units, _rest = units_of(sizes[table_id], most)
        parts += [Part((table_id,), tuple(unit)) for unit in units]
        parts.append(Part((table_id,), is_last=bool(units)))
    return parts


def planned(
    desk: Desk,
    types: AbstractSet[str],
    only: AbstractSet[tuple[str, str]] | None,
    kept: Container[int],
    most: int,
) -> list[Part]:
    """The parts of the tables that describe people by some types; empty: all are one part.

    Tables that are kept, or that no request reaches, stand in the first part, whose receipts say
    so. Tables that refer to each other are one part: their rows go together.
    """
    if not most:
        return []
    backend = erasure_of(desk.session).backend
    sizes: dict[int, dict[str, int]] = {}
    groups: dict[int, list[int]] = {}
    passed: list[int] = []
    known: set[str] = set()
    with reading(desk.journal) as statement:
        state, scope = statement.committed, load_scope(statement.session)
        first_of = _related(state)
        for table_id in _describing(state, types, only):
            table = definition(state, table_id)
            known |= {i.type for i in ever_described(state.tables[table_id].layouts)}
            if table_id in kept or scope.why_not(table.name) is not None:
                passed.append(table_id)
                continue
            found = dict(backend.piece_sizes(statement.session, state, table))
            if table_id in first_of or table.materialized is not None:
                found = {"": sum(found.values())}
            first = first_of.get(table_id, table_id)
            groups.setdefault(first, []).append(table_id)
            before = sizes.get(first, {})
            sizes[first] = {**found, "": found.get("", 0) + before.get("", 0)}
    parts = split(sizes, most)
    if len(parts) < 2 or not types <= known:
        return []
    found_parts = []
    for part in parts:
        tables = [i for first in part.tables for i in groups[first]]
        described = _described(state, tables[0]) if part.is_shared else ""
        found_parts.append(replace(part, tables=(*tables, *passed), described=described))
        passed = []
    return found_parts


def _describing(
    state: JournalState, types: AbstractSet[str], only: AbstractSet[tuple[str, str]] | None
) -> list[int]:
    """The tables, dropped ones too, that have ever described people by some types."""
    return [
        table_id
        for table_id, held in sorted(state.tables.items())
        if held.layouts
        and (only is None or definition(state, table_id).name.key in only)
        and {i.type for i in ever_described(held.layouts)} & types
    ]


def _related(state: JournalState) -> dict[int, int]:
    """Of tables with foreign keys, and those that they are to, the first that each hangs on."""
    found: dict[int, int] = {}
    for references in state.catalog.references.values():
        for one in references:
            ends = [found.get(i, i) for i in (one.child.id, one.parent.id)]
            found |= dict.fromkeys((one.child.id, one.parent.id), min(ends))
            found = {i: min(ends) if first in ends else first for i, first in found.items()}
    return found
