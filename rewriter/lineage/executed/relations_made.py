"""Tables and views that a plan defines, and what is written to them under their own names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from journal.model.plan import Change, PutRelation, StatementPlan
from journal.model.schema import Relation, Table, fold
from rewriter.lineage.session_tables import full_name
from rewriter.lineage.sources import Cell, united
from rewriter.lineage.targets import ColumnTarget, target_of


def relations_made(plan: StatementPlan) -> dict[str, Relation]:
    """The relations that a plan defines, by whole name."""
    changes = [step.change for step in plan.steps if isinstance(step, Change)]
    made = [change.relation for change in changes if isinstance(change, PutRelation)]
    return {full_name(relation.name): relation for relation in made}


def named_as_made(
    traced: Sequence[ColumnTarget], made: Mapping[str, Relation]
) -> Iterator[ColumnTarget]:
    """What is written, under the names that a new relation has given its columns, by place.

    Where there are more or fewer columns than could be told, each may come from all sources.
    """
    relation = next(iter(made.values())) if len(made) == 1 else None
    if relation is None or not traced:
        yield from traced
        return
    name, columns = full_name(relation.name), [fold(shown) for shown in shown_names(relation)]
    if len(columns) == len(traced):
        for column, target in zip(columns, traced, strict=True):
            yield replace(target, table=name, column=column)
    elif all(target.table == name for target in traced):
        whole = united(Cell(frozenset(target.sources), target.unknown) for target in traced)
        why = whole.unknown or "its query gives another number of columns"
        yield from (target_of(name, column, Cell(whole.sources, why)) for column in columns)
    else:
        yield from traced


def shown_names(relation: Relation) -> list[str]:
    """The names of a relation's columns, as clients see them."""
    if isinstance(relation, Table):
        return [column.name for column in relation.columns]
    return list(relation.columns)
