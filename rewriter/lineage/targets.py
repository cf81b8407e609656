"""The columns that a statement writes, each with what it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.sources import (
    OF_ROWS,
    WHOLE,
    Cell,
    ColumnSource,
    Relation,
    united,
)


@dataclass(frozen=True, slots=True)
class ColumnTarget:
    """A column that a statement writes, or ``*`` for whole rows, and what that comes from.

    ``unknown`` says why the sources cannot be told, or not all of them.
    """

    table: str
    column: str
    sources: tuple[ColumnSource, ...] = ()
    unknown: str | None = None


def rows_into(
    table: str, columns: Sequence[str] | None, found: Relation, *, by_name: bool = False
) -> Iterator[ColumnTarget]:
    """Targets of rows that fill columns by place, or by name."""
    if found.open or found.other is not None:
        yield from _unknown_rows(table, columns, found)
        return
    if columns is not None and not by_name and len(columns) < len(found.cells):
        why = f"{len(found.cells)} values are given for {len(columns)} columns"
        yield from (target_of(table, name, Cell(found.influences, why)) for name in columns)
        return
    names = found.names if columns is None or by_name else columns
    for name, cell in zip(names, found.cells, strict=False):
        yield target_of(table, name, Cell(cell.sources | found.influences, cell.unknown))


def _unknown_rows(
    table: str, columns: Sequence[str] | None, found: Relation
) -> Iterator[ColumnTarget]:
    """A star over a table whose columns nobody has declared: the whole row from the whole row."""
    why = found.other.unknown if found.other is not None else None
    if why is None and (found.open or found.cells):
        why = f"the columns of {', '.join(found.open) or 'a function'} are not known"
    whole = frozenset(ColumnSource(name, WHOLE) for name in found.open)
    if found.other is not None:
        whole |= found.other.sources
    sources = whole | found.influences | frozenset(s for c in found.cells for s in c.sources)
    for name in columns or [WHOLE]:
        yield target_of(table, name, Cell(sources, why))


def merged(made: Sequence[ColumnTarget]) -> Iterator[ColumnTarget]:
    """One target for each column that several parts of a statement write."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for one in made:
        cell = Cell(frozenset(one.sources), one.unknown)
        found.setdefault((one.table, one.column), []).append(cell)
    for (table, column), cells in found.items():
        yield target_of(table, column, united(cells))


def target_of(table: str, column: str, cell: Cell) -> ColumnTarget:
    """A column and the sources of a cell, in order."""
    return ColumnTarget(table, column, tuple(sorted(cell.sources)), cell.unknown)


def targets_by_table(targets: Sequence[ColumnTarget]) -> dict[str, list[ColumnTarget]]:
    """What a statement writes, table by table."""
    found: dict[str, list[ColumnTarget]] = {}
    for target in targets:
        found.setdefault(target.table, []).append(target)
    return found


def row_sources(targets: Sequence[ColumnTarget]) -> frozenset[ColumnSource]:
    """What decides which rows a table gets, and so stands at each of the targets."""
    deciding = [{s for s in t.sources if s.subtype in OF_ROWS} for t in targets]
    return frozenset(set.intersection(*deciding)) if deciding else frozenset()
