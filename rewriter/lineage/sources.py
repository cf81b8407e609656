"""The words of lineage: sources of a value, cells with their sources, relations of cells.

Kinds and subtypes are those of OpenLineage's column lineage facet: a DIRECT source gives the value
(as it is, transformed, or aggregated), an INDIRECT one decides which value or whether there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import DIRECT as DIRECT
from journal.model.lineage import WHOLE as WHOLE

INDIRECT = "INDIRECT"
IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
JOIN, FILTER, GROUP_BY, SORT = "JOIN", "FILTER", "GROUP_BY", "SORT"
WINDOW, CONDITIONAL = "WINDOW", "CONDITIONAL"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2}
OF_ROWS = frozenset({JOIN, FILTER, GROUP_BY, SORT})
"""Subtypes of what decides about rows; the other INDIRECT ones decide about a value."""


class ColumnSource(NamedTuple):
    """A column that a value depends on; ``masking``: the value does not show what it holds."""

    table: str
    column: str
    kind: str = DIRECT
    subtype: str = IDENTITY
    masking: bool = False


Sources = frozenset[ColumnSource]
NONE: Sources = frozenset()


class Cell(NamedTuple):
    """What a column of a result comes from; ``unknown`` says why that cannot be told, if so.

    ``fields`` are those of a struct whose making was seen.
    """

    sources: Sources = NONE
    unknown: str | None = None
    fields: Mapping[str, Cell] | None = None

    def field(self, names: Sequence[str]) -> Cell | None:
        """A field within a field; None where it is not known by itself."""
        found: Cell | None = self
        for name in names:
            found = None if found is None or found.fields is None else found.fields.get(name)
        return found


class Untraceable(Exception):
    """The sources of a value cannot be told; the text says why."""


def passed(sources: Iterable[ColumnSource], subtype: str, *, masking: bool = False) -> Sources:
    """Sources of a value that was made of others: the stronger of both DIRECT subtypes."""
    found = []
    for source in sources:
        if source.kind == DIRECT:
            strongest = max(source.subtype, subtype, key=_STRENGTH.__getitem__)
            source = source._replace(subtype=strongest, masking=source.masking or masking)
        found.append(source)
    return frozenset(found)


def deciding(sources: Iterable[ColumnSource], subtype: str) -> Sources:
    """Sources of a value on which others depend INDIRECTly.

    What has decided about rows before keeps its subtype; what chose a value decides with it now.
    """
    return frozenset(
        s if s.subtype in OF_ROWS else ColumnSource(s.table, s.column, INDIRECT, subtype)
        for s in sources
    )


def united(cells: Iterable[Cell]) -> Cell:
    """A cell that comes from any of several; one that is unknown makes it unknown."""
    sources: set[ColumnSource] = set()
    unknown = None
    for cell in cells:
        sources |= cell.sources
        unknown = unknown or cell.unknown
    return Cell(frozenset(sources), unknown)


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns by name, in order, as a query sees them.

    ``influences`` decide about its rows. ``repeats`` are those of them that only decide how often
    a row is there, as the ON of a LEFT JOIN does for its left side: whatever makes equal rows one
    undoes them. ``open`` names tables whose columns nobody has declared and which are all in it;
    ``other`` is what any name means that is not among the columns, where a function makes the
    columns. ``hidden`` is a table, what it has besides its columns, as the file that a row lies in,
    and what decides whether that is there.
    """

    names: Sequence[str] = ()
    cells: Sequence[Cell] = ()
    influences: Sources = NONE
    open: tuple[str, ...] = ()
    other: Cell | None = None
    hidden: tuple[str, frozenset[str], Sources] = ("", frozenset(), NONE)
    repeats: Sources = NONE
    by_name: Mapping[str, Cell] = field(init=False)

    def __post_init__(self) -> None:
        found: dict[str, Cell] = {}
        for name, cell in zip(self.names, self.cells, strict=True):
            found.setdefault(name, cell)
        object.__setattr__(self, "by_name", found)

    def find(self, name: str) -> Cell | None:
        """The cell of a name; None if there is none; raises Untraceable if several could be it."""
        found = self.by_name.get(name)
        if found is not None:
            return found
        if len(self.open) == 1:
            return Cell(frozenset([ColumnSource(self.open[0], name)]))
        if self.open:
            raise Untraceable(f"column {name} could be of {' or '.join(self.open)}")
        return self.hidden_column(name) or self.other

    def hidden_column(self, name: str) -> Cell | None:
        """The cell of a column that a star does not show."""
        table, names, decided = self.hidden
        return Cell(frozenset([ColumnSource(table, name)]) | decided) if name in names else None

    def named(self, names: Sequence[str]) -> Relation:
        """The relation with other names for its first columns."""
        if not names:
            return self
        if self.open:
            whole = frozenset(ColumnSource(table, WHOLE) for table in self.open)
            why = f"the columns of {', '.join(self.open)} are not known"
            cells = [Cell(whole, why)] * len(names)
            return Relation(names, cells, self.influences, self.open, repeats=self.repeats)
        if self.other is not None:
            made = united([self.other, *self.cells])
            return Relation(names, [made] * len(names), self.influences, repeats=self.repeats)
        kept = [*names[: len(self.cells)], *self.names[len(names) :]]
        return Relation(kept, self.cells, self.influences, repeats=self.repeats)

    def presence(self) -> Sources:
        """What decides which rows there are, however often each of them is there."""
        return self.influences - self.repeats if self.repeats else self.influences

    def outer(self, decided: Sources) -> Relation | None:
        """The relation as the side of a join that may be missing; ``decided`` says whether it is.

        None where not all of its columns are known.
        """
        if self.open or self.other is not None:
            return None
        decided |= self.presence()
        cells = [Cell(cell.sources | decided, cell.unknown) for cell in self.cells]
        table, names, before = self.hidden
        return Relation(self.names, cells, hidden=(table, names, before | decided))


def of_table(
    table: str, columns: Sequence[str] | None, hidden: frozenset[str] = frozenset()
) -> Relation:
    """The relation of a table: its columns, or open where they are not known."""
    if columns is None:
        return Relation(open=(table,))
    cells = [Cell(frozenset([ColumnSource(table, name)])) for name in columns]
    return Relation(columns, cells, hidden=(table, hidden, NONE))
