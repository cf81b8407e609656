"""Which columns of a table an erasure can change while the rows stay. Pure.

A column that decides which rows may stand beside each other, that another is computed from, or that
a reference goes by, cannot: the rows would contradict the definition of their table. Every column
that identifies people must be among the changed ones, or they would be found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import sqlglot
from sqlglot import exp

from journal.erasure.column_changes import ColumnChange, ValueChange, is_text
from journal.identity.descriptor import ever_described
from journal.model.errors import Code, PalimpsestError
from journal.model.partitioning import partitioning_of
from journal.model.schema import Table
from journal.sql.relations_flat import is_flat
from journal.transactions.state import JournalState


def with_dropped(
    state: JournalState, table: Table, changes: Iterable[ColumnChange]
) -> tuple[ColumnChange, ...]:
    """Changes, and NULL for columns that were dropped: nobody can say what becomes of them."""
    found = list(changes)
    present = {c.physical for c in table.stored} | {*table.key}
    layouts = state.tables[table.id].layouts
    ever = dict.fromkeys(c.physical for shown in layouts for c in shown.stored)
    gone = [name for name in ever if name not in present | {c.column for c in found}]
    return (*found, *(ColumnChange(name, ValueChange.NULL) for name in gone))


def check_changes(state: JournalState, table: Table, changes: Sequence[ColumnChange]) -> None:
    """Raise PRIVACY_ACTION unless a table can have its columns changed so, and its rows stay."""
    for why, advice in _refusals(state, table, changes):
        raise PalimpsestError(Code.PRIVACY_ACTION, f"{table.name}: {why}", advice=advice)


def _refusals(
    state: JournalState, table: Table, changes: Sequence[ColumnChange]
) -> Iterator[tuple[str, str]]:
    if is_flat(table):
        yield (
            "others write to its journal, so its columns cannot be changed in the past",
            "erase its rows, or keep the table with a reason",
        )
    if table.materialized is not None:
        yield "it is a materialized view, which follows its tables", "declare it for its tables"
    named = {c.column for c in changes}
    # Of what is changed up to a version, people are found in what is there since.
    is_lasting = any(c.before is None for c in changes)
    roles = _roles(state, table, is_lasting=is_lasting)
    for one in changes:
        held = next((c for c in table.stored if c.physical == one.column), None)
        if held is None:
            continue
        for role, columns in roles:
            if one.column in columns:
                yield (
                    f"{held.name} {role}, so its values cannot be changed",
                    "erase the rows, keep the table with a reason, or change another column",
                )
        if one.change is ValueChange.NULL and held.not_null:
            yield f"{held.name} is NOT NULL", "take another change, or drop the constraint"
        yield from _wrong_types(state, table, one)
    identifies = ever_described(state.tables[table.id].layouts)
    for entry in identifies:
        is_present = any(c.physical == entry.path.root for c in table.stored)
        if is_lasting and is_present and entry.path.root not in named:
            shown = table.by_physical(entry.path.root).name
            yield (
                f"its column {shown} would still identify people",
                f"declare a change of {shown}, too, or keep the table with a reason",
            )
    if is_lasting and not identifies:
        yield (
            "it has no erasure descriptor, so no request finds people in it",
            "onboard it: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
        )


def _wrong_types(state: JournalState, table: Table, one: ColumnChange) -> Iterator[tuple[str, str]]:
    kinds = {
        c.type
        for shown in (*state.tables[table.id].layouts, table)
        for c in shown.stored
        if c.physical == one.column
    }
    name = table.by_physical(one.column).name
    if one.change.is_for_text and not all(map(is_text, kinds)):
        yield f"{name} is not text, or was not once, and {one.change} makes text", "take null"
    if one.change is ValueChange.CONSTANT:
        for kind in sorted(kinds):
            if not _can_hold(one.value, kind):
                yield f"{one.value!r} is no {kind}, as {name} is or was once", "take null"


def _can_hold(value: str, kind: str) -> bool:
    """True if a constant is surely a value of a type: of text, and of numbers that it is."""
    target = exp.DataType.build(kind, dialect="duckdb")
    if is_text(kind):
        return True
    try:
        if target.is_type(*exp.DataType.INTEGER_TYPES):
            return -(2**31) <= int(value) < 2**31
        if target.is_type(exp.DType.FLOAT, exp.DType.DOUBLE):
            return float(value) == float(value)
    except ValueError:
        return False
    return target.is_type(exp.DType.BOOLEAN) and value.lower() in {"true", "false"}


def _roles(state: JournalState, table: Table, *, is_lasting: bool) -> list[tuple[str, set[str]]]:
    """What columns are for, besides what they hold; of rows of the past alone, or all."""
    references = state.catalog.references.get(table.id, ())
    refers = {c for r in references if r.child.id == table.id for c in r.key.columns}
    referred = {c for r in references if r.parent.id == table.id for c in r.key.parent_columns}
    generated = [c for c in table.columns if c.generated is not None]
    parts = partitioning_of(table)
    always = [
        ("is part of the key", set(table.key)),
        ("is computed", {c.physical for c in generated}),
        ("is what others are computed from", {n for c in generated for n in _names(c.generated)}),
        ("decides how rows are partitioned", set() if parts is None else {parts.column}),
    ]
    if not is_lasting:
        return always
    return [
        *always,
        ("is in a UNIQUE constraint or index", set(table.unique_columns)),
        ("refers to another table", refers),
        ("is referred to by another table", referred),
        ("is in a CHECK constraint", {n for c in table.checks for n in _names(c.expression)}),
    ]


def _names(text: str | None) -> set[str]:
    if text is None:
        return set()
    return {c.name for c in sqlglot.parse_one(text, dialect="duckdb").find_all(exp.Column)}
