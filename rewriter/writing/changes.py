"""A change set: logical rows that change, and the journal rows they make.

Every writing rule stages one relation with a row per changed logical row: the old values and old
version for rows that end, the new values for rows that begin. From there INSERT is the same as
UPDATE, DELETE, MERGE and upserts, and it is written once, here. Pure.

Staged columns: ``o0..`` old values and ``ov`` old version, ``n0..`` new values, in stored order. No
client can use their names: a store may take an alias for a column that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import P_VERSION, Append, Query
from journal.model.refusal import RefusedRows, refusal_check
from journal.model.schema import Column, Table
from journal.model.segment import RowCounts
from journal.sql.relations import column, ident, union_all, version_type, version_value
from journal.sql.sql import (
    all_of,
    any_of,
    cast,
    named_table,
    select,
    where,
)
from rewriter.definitions.generated_values import generated_value, with_generated
from rewriter.name_resolution import INTERNAL

OLD_VERSION = f"{INTERNAL}ov"
ENDS, BEGINS = f"{INTERNAL}ends", f"{INTERNAL}begins"
"""Staged names of columns that say which rows end and begin, where not all do."""


def old_name(index: int) -> str:
    """Staged name of a stored column's old value."""
    return f"{INTERNAL}o{index}"


def new_name(index: int) -> str:
    """Staged name of a stored column's new value."""
    return f"{INTERNAL}n{index}"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A staged relation of changes.

    ``ends`` and ``begins`` say which rows end an old row version and begin a new one: True for all,
    False for none, or a staged boolean column. ``written`` holds the physical names of the columns
    whose new values may differ from the old ones; the others have no ``n`` column if rows have old
    ones. ``constants`` are new values that all rows share and the statement gives. ``anew``: rows
    are looked at as if they were new, whatever they were before. ``named`` are the columns that the
    statement's SET names, where ``written`` are more; ``inserted`` rows have met their triggers.
    """

    table: Table
    stage: str
    ends: bool | str
    begins: bool | str
    written: frozenset[str]
    small: bool = False
    constants: Mapping[str, exp.Expr] = field(default_factory=dict)
    anew: bool = False
    named: frozenset[str] | None = None
    inserted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "written", with_generated(self.table, self.written))

    def new_value(self, index: int, stored: Column) -> exp.Expr:
        """The new value of a stored column; generated columns are computed from the others."""
        kept = self.ends is True and stored.physical not in self.written
        if stored.generated is not None and not kept:
            places = {c.physical: (i, c) for i, c in enumerate(self.table.stored)}
            return generated_value(self.table, stored, lambda n: self.new_value(*places[n]))
        return column(old_name(index) if kept else new_name(index), "s")

    def staged_rows(self, outputs: Sequence[exp.Expr]) -> exp.Select:
        """A query of the staged rows, which it names ``s``."""
        return select(outputs, named_table(self.stage, "s"))

    @property
    def begins_condition(self) -> exp.Expr | None:
        """The condition of staged rows that begin a row version; None if all or no rows do."""
        return column(self.begins, "s") if isinstance(self.begins, str) else None

    @property
    def ends_condition(self) -> exp.Expr | None:
        """The condition of staged rows that end a row version; None if all or no rows do."""
        return column(self.ends, "s") if isinstance(self.ends, str) else None

    @property
    def moves_key(self) -> bool:
        """True when rows may end under one key and begin under another."""
        return self.begins is not False and bool(set(self.table.key) & self.written)


def append_step(changes: ChangeSet) -> Append:
    """The rows for the journal."""
    query = Query.of(_journal_rows(changes))
    return Append(changes.table.id, query, per_change(changes), changes.stage)


def per_change(changes: ChangeSet) -> RowCounts | None:
    """Journal rows that each changed row makes, where all make the same."""
    if changes.ends is False and changes.begins is True:
        return RowCounts(open=1)
    if changes.ends is True and changes.begins is False:
        return RowCounts(closing=1, tombstone=1)
    if changes.ends is True and changes.begins is True and not changes.moves_key:
        return RowCounts(open=1, closing=1)
    return None


def fused_query(
    changes: ChangeSet, stages: Sequence[tuple[str, exp.Query]], refused: Sequence[RefusedRows]
) -> Query:
    """The journal rows without staging: one query, which fails on rows that are ``refused``."""
    rows = _journal_rows(changes, refused)
    ctes = [
        exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)), materialized=True)
        for name, query in stages
    ]
    rows.set("with_", exp.With(expressions=ctes))
    return Query.of(rows)


def _journal_rows(changes: ChangeSet, refused: Sequence[RefusedRows] = ()) -> exp.Query:
    table = changes.table
    kind = version_type(table)

    def version() -> exp.Expr:
        return cast(version_value(table, exp.Placeholder(this=P_VERSION)), kind)

    def old() -> list[exp.Expr]:
        return [column(old_name(i), "s") for i in range(len(table.stored))]

    branches: list[exp.Query] = []
    if changes.ends is not False:
        since = column(OLD_VERSION, "s")
        branches.append(_journal_query(changes, [*old(), since, version()], changes.ends_condition))
        dead = _tombstone_condition(changes)
        if dead is not False:
            which = dead if isinstance(dead, exp.Expr) else changes.ends_condition
            branches.append(_journal_query(changes, [*old(), version(), version()], which))
    if changes.begins is not False:
        new = [changes.new_value(i, c) for i, c in enumerate(table.stored)]
        rows = _journal_query(
            changes, [*new, version(), cast(exp.Null(), kind)], changes.begins_condition
        )
        if refused:
            rows = where(rows, refusal_check(refused))
        branches.append(rows)
    return union_all(branches)


def _tombstone_condition(changes: ChangeSet) -> bool | exp.Expr:
    """Which ended rows leave their key without a row: they get a tombstone."""
    if changes.begins is False:
        return True
    conditions: list[exp.Expr] = []
    ended = changes.ends_condition
    if isinstance(changes.begins, str):
        conditions.append(exp.Not(this=column(changes.begins, "s")))
    if changes.moves_key:
        places = {c.physical: (i, c) for i, c in enumerate(changes.table.stored)}
        moved = [
            exp.NullSafeNEQ(
                this=column(old_name(places[k][0]), "s"),
                expression=changes.new_value(*places[k]),
            )
            for k in changes.table.key
        ]
        conditions.append(exp.Paren(this=any_of(*moved)))
    if not conditions:
        return False
    dies = any_of(*conditions)
    return dies if ended is None else all_of(ended, exp.Paren(this=dies))


def _journal_query(
    changes: ChangeSet, values: Sequence[exp.Expr], condition: exp.Expr | None
) -> exp.Select:
    """Journal rows with these values, the two versions last."""
    table = changes.table
    names = [c.physical for c in table.stored]
    names += [table.format.version_column, table.format.subsequent_column]
    outputs = [exp.Alias(this=v, alias=ident(n)) for v, n in zip(values, names, strict=True)]
    rows = changes.staged_rows(outputs)
    return rows if condition is None else where(rows, condition)
