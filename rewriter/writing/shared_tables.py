"""Checks and plans several parts of one statement that change the same table.

Where all of them see the rows before the statement, as in PostgreSQL, a row that two of them
change, or two that begin rows with the same key, are refused: PostgreSQL would leave one change
undone, and not say which. Parts that run in turn leave one set of changes. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import Deferral
from journal.model.plan import Guard, Query
from journal.model.schema import Table
from journal.sql.relations import column, union_all
from journal.sql.sql import limited, named, relation, select, where
from journal.sql.unique_keys import UniqueKey, unique_keys
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import ChangeSet, old_name
from rewriter.writing.guards import escape_format, no_doubles, shown_values
from rewriter.writing.parts_in_turn import combined_part
from rewriter.writing.statement_part import StatementPart


def with_shared_tables(reads: Reads, parts: Sequence[StatementPart]) -> list[StatementPart]:
    """The parts; the last one of each table guards what all of them do to it, or does it.

    Raises NOT_SUPPORTED for tables with foreign keys that act, or that may be checked later.
    """
    found = list(parts)
    for place, part in enumerate(parts):
        group = [p for p in found[: place + 1] if p.table.id == part.table.id]
        if len(group) == 1 or any(p.table.id == part.table.id for p in found[place + 1 :]):
            continue
        changes = [p.changes for p in group if p.changes is not None]
        if len(changes) < len(group) or not _may_be_shared(part.table, reads):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"one statement changes {part.table.name} twice",
                advice="use two statements in one transaction; one statement may do it only if no"
                " foreign key from or to the table is DEFERRABLE, CASCADE or SET NULL",
            )
        if reads.changed:
            earlier = (p for p in found[:place] if p.table.id == part.table.id)
            without_changes = {id(p): replace(p, append=None, changes=None) for p in earlier}
            found = [without_changes.get(id(p), p) for p in found]
            found[place] = combined_part(group, f"{changes[-1].stage}_all")
            continue
        found[place] = replace(part, steps=(*part.steps, *_shared_guards(part.table, changes)))
    return found


def _may_be_shared(table: Table, reads: Reads) -> bool:
    """False if foreign keys would change rows of the table, which then are those of no part."""
    keys = [r.key for r in reads.context.catalog.references.get(table.id, ())]
    acts = any(k.on_delete.acts or k.on_update.acts for k in keys)
    return not acts and all(k.deferral is Deferral.NEVER for k in keys)


def _shared_guards(table: Table, changes: Sequence[ChangeSet]) -> list[Guard]:
    found = []
    ended = [c for c in changes if c.ends is not False]
    if len(ended) > 1:
        found.append(_one_change(table, ended))
    begun = [c for c in changes if c.begins is not False]
    if len(begun) > 1:
        found += [_one_new_row(table, begun, key) for key in unique_keys(table)]
    return found


def _one_change(table: Table, changes: Sequence[ChangeSet]) -> Guard:
    """No row is ended by two parts."""
    places = {c.physical: i for i, c in enumerate(table.stored)}
    rows = []
    for changed in changes:
        outputs = [named(column(old_name(places[k]), "s"), k) for k in table.key]
        query = changed.staged_rows(outputs)
        rows.append(
            query if changed.ends_condition is None else where(query, changed.ends_condition)
        )
    values: list[exp.Expr] = [column(k, "e") for k in table.key]
    query = select([named(shown_values(values), "shown")], relation(union_all(rows), "e"))
    query = query.group_by(*[v.copy() for v in values], copy=False)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    names = escape_format(", ".join(table.by_physical(k).name for k in table.key))
    which = f"one row of {escape_format(str(table.name))}"
    if not table.hidden_key:
        which = f"the row with ({names}) = ({{0}})"
    return Guard(
        Query.of(limited(query.having(many, copy=False))),
        Code.ROW_TWICE,
        f"two parts of the statement change {which}",
        "change each row in one of them",
    )


def _one_new_row(table: Table, changes: Sequence[ChangeSet], key: UniqueKey) -> Guard:
    """No two parts begin rows with the same values of a key."""
    rows = []
    for changed in changes:
        outputs = [
            named(changed.new_value(place, stored), stored.physical)
            for place, stored in enumerate(table.stored)
        ]
        query = changed.staged_rows(outputs)
        begins = changed.begins_condition
        rows.append(query if begins is None else where(query, begins))
    values = key.values(lambda name: column(name, "b"))
    return no_doubles(table, key, relation(union_all(rows), "b"), values)
