"""A change set: logical rows that change, and the journal rows, guards and results they make.

Every writing rule stages one relation with a row per changed logical row: the old values and old
version for rows that end, the new values for rows that begin. From there INSERT is the same as
UPDATE, DELETE, MERGE and upserts, and it is written once, here. Pure.

Staged columns: ``o0..`` old values and ``ov`` old version, ``n0..`` new values, in stored order. No
client can use their names: a store may take an alias for a column that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from journal.errors import Code
from journal.plan import P_VERSION, Append, Distinct, Guard, Query, Step
from journal.refusal import Refusal, Refused, failing
from journal.relations import column, ident, union_all, version_type, version_value
from journal.schema import ROW_ID, Check, Column, Table
from journal.segment import RowCounts
from journal.sql import (
    all_of,
    any_of,
    cast,
    expression,
    limited,
    named,
    named_table,
    relation,
    select,
    where,
)
from journal.trees import copied
from rewriter.definitions.computed import generated_value, with_generated
from rewriter.names import INTERNAL
from rewriter.users import stored_expression

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
    are looked at as if they were new, whatever they were before.
    """

    table: Table
    stage: str
    ends: bool | str
    begins: bool | str
    written: frozenset[str]
    small: bool = False
    constants: Mapping[str, exp.Expr] = field(default_factory=dict)
    anew: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "written", with_generated(self.table, self.written))

    def new_value(self, index: int, stored: Column) -> exp.Expr:
        """The new value of a stored column; what is generated is computed from the others."""
        kept = self.ends is True and stored.physical not in self.written
        if stored.generated is not None and not kept:
            places = {c.physical: (i, c) for i, c in enumerate(self.table.stored)}
            return generated_value(self.table, stored, lambda n: self.new_value(*places[n]))
        return column(old_name(index) if kept else new_name(index), "s")

    @property
    def moves_key(self) -> bool:
        """True when rows may end under one key and begin under another."""
        return self.begins is not False and bool(set(self.table.key) & self.written)


def guard_steps(
    changes: ChangeSet,
    current: Callable[[], exp.Query],
    checked: frozenset[str] = frozenset(),
) -> list[Step]:
    """Guards that every row that begins keeps the constraints of its table.

    ``current`` gives the table's current state, for keys that may be taken; ``checked`` names
    constraints the staging has seen to.
    """
    if changes.begins is False:
        return []
    steps: list[Step] = [*_not_null(changes)]
    steps += [_check(changes, check) for check in changes.table.checks if _concerns(changes, check)]
    wanted = unsettled(changes, checked)
    for name, columns in unique_constraints(changes.table):
        if name in wanted:
            steps.append(_unique(changes, name, columns, current()))
    return steps


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


def fused(
    changes: ChangeSet, stages: Sequence[tuple[str, exp.Query]], refused: Sequence[Refused]
) -> Query:
    """The journal rows without staging: one query, which fails on rows that are ``refused``."""
    rows = _journal_rows(changes, refused)
    ctes = [
        exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)), materialized=True)
        for name, query in stages
    ]
    rows.set("with_", exp.With(expressions=ctes))
    return Query.of(rows)


def violations(changes: ChangeSet) -> list[Refused]:
    """Rows that must not begin, the unique constraints apart."""
    if changes.begins is False:
        return []
    table = changes.table
    found = [Refused(empty, _is_null(table), stored.name) for stored, empty in _empties(changes)]
    for check in table.checks:
        if _concerns(changes, check):
            found.append(
                Refused(exp.Not(this=_condition(changes, check)), _fails_check(table, check))
            )
    return found


def taken_key(changes: ChangeSet, condition: exp.Expr) -> Refused:
    """Rows whose key is there already, which ``condition`` says."""
    (name, columns), *_ = unique_constraints(changes.table)
    places = {c.physical: (i, c) for i, c in enumerate(changes.table.stored)}
    values = [changes.new_value(*places[p]) for p in columns]
    texts: list[exp.Expr] = []
    for value in values:
        texts += [exp.Literal.string(", "), cast(value, "VARCHAR")]
    return Refused(condition, _is_taken(changes.table, name, columns), texts[1:])


def unsettled(changes: ChangeSet, checked: frozenset[str]) -> list[str]:
    """Names of the unique constraints that rows may violate, apart from those in ``checked``."""
    if changes.begins is False:
        return []
    return [
        name
        for name, columns in unique_constraints(changes.table)
        if name not in checked and (changes.ends is not True or set(columns) & changes.written)
    ]


def unique_constraints(table: Table) -> list[tuple[str, tuple[str, ...]]]:
    """Name and physical columns of the declared key and of each UNIQUE constraint."""
    found: list[tuple[str, tuple[str, ...]]] = []
    if not table.hidden_key:
        found.append((table.key_name or f"{table.name.name}_pkey", table.key))
    return found + [(u.name, u.columns) for u in table.uniques]


def _begun(changes: ChangeSet) -> exp.Expr | None:
    return column(changes.begins, "s") if isinstance(changes.begins, str) else None


def _ended(changes: ChangeSet) -> exp.Expr | None:
    return column(changes.ends, "s") if isinstance(changes.ends, str) else None


def _from_stage(changes: ChangeSet, outputs: Sequence[exp.Expr]) -> exp.Select:
    return select(outputs, named_table(changes.stage, "s"))


def _unique(changes: ChangeSet, name: str, columns: tuple[str, ...], current: exp.Query) -> Guard:
    table = changes.table
    places = {c.physical: i for i, c in enumerate(table.stored)}
    stored = {c.physical: c for c in table.stored}
    values = {p: changes.new_value(places[p], stored[p]) for p in columns}
    fresh = _from_stage(changes, [named(shown_values([values[p] for p in columns]), "shown")])
    begun = _begun(changes)
    if begun is not None:
        fresh = where(fresh, begun)
    filled = [exp.Not(this=exp.Is(this=v.copy(), expression=exp.Null())) for v in values.values()]
    fresh = where(fresh, *filled)
    doubled = fresh.copy().group_by(*[v.copy() for v in values.values()], copy=False)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    doubled = doubled.having(many, copy=False)
    same = [exp.EQ(this=column(p, "c"), expression=v.copy()) for p, v in values.items()]
    taken = fresh.join(relation(current, "c"), on=all_of(*same), copy=False)
    if changes.ends is not False:
        taken = where(taken, exp.Not(this=exp.Exists(this=_ends_row(changes))))
    distinct = None
    if changes.ends is False and changes.begins is True:
        names = tuple(new_name(places[p]) for p in columns)
        distinct = Distinct(changes.stage, names, _first(taken.copy()))
    why = _is_taken(table, name, columns)
    return _guard(_first(union_all([doubled, taken])), why, distinct)


def _guard(query: Query, why: Refusal, distinct: Distinct | None = None) -> Guard:
    return Guard(query, why.code, why.message, why.advice, distinct)


def _is_taken(table: Table, name: str, columns: Sequence[str]) -> Refusal:
    names = literally(", ".join(c.name for p in columns for c in table.stored if c.physical == p))
    return Refusal(
        Code.DUPLICATE_KEY,
        f'duplicate key ({names}) = ({{0}}) violates "{literally(name)}" of'
        f" {literally(table.name)}",
        "use another key, or INSERT .. ON CONFLICT to update the row that is there",
    )


def shown_values(values: Sequence[exp.Expr]) -> exp.Expr:
    """Values of a key as one text."""
    texts = [cast(copied(v), "VARCHAR") for v in values]
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string(", "), *texts])


def _first(found: exp.Query) -> Query:
    return Query.of(limited(select([exp.column("shown")], relation(found, "g"))))


def _ends_row(changes: ChangeSet) -> exp.Select:
    table = changes.table
    places = {c.physical: i for i, c in enumerate(table.stored)}
    same: list[exp.Expr] = [
        exp.EQ(this=column(old_name(places[k]), "e"), expression=column(k, "c")) for k in table.key
    ]
    if isinstance(changes.ends, str):
        same.insert(0, column(changes.ends, "e"))
    return select([exp.Literal.number(1)], named_table(changes.stage, "e"), *same)


def _empties(changes: ChangeSet) -> list[tuple[Column, exp.Expr]]:
    """Columns that must be filled, and the condition that they are not."""
    table = changes.table
    found: list[tuple[Column, exp.Expr]] = []
    for index, stored in enumerate(table.stored):
        required = stored.not_null or stored.physical in table.key
        if not required or stored.physical == ROW_ID:
            continue
        if changes.ends is True and stored.physical not in changes.written:
            continue
        value = changes.new_value(index, stored)
        found.append((stored, exp.Is(this=value, expression=exp.Null())))
    return found


def _not_null(changes: ChangeSet) -> list[Step]:
    table = changes.table
    empties = _empties(changes)
    if not empties:
        return []
    name = exp.Case()
    for stored, empty in empties:
        name = name.when(empty.copy(), exp.Literal.string(stored.name), copy=False)
    found = _from_stage(changes, [named(name, "found")])
    begun = _begun(changes)
    if begun is not None:
        found = where(found, begun)
    found = limited(where(found, any_of(*[empty for _, empty in empties])))
    return [_guard(Query.of(found), _is_null(table))]


def _is_null(table: Table) -> Refusal:
    message = f'null in column "{{0}}" of {literally(table.name)}, which is NOT NULL'
    return Refusal(Code.NOT_NULL, message, "give it a value")


def literally(name: object) -> str:
    """Text that survives ``str.format`` unchanged."""
    return str(name).replace("{", "{{").replace("}", "}}")


def _concerns(changes: ChangeSet, check: Check) -> bool:
    if changes.ends is not True:
        return True
    used = {c.name for c in expression(check.expression).find_all(exp.Column)}
    return bool(used & changes.written)


def _condition(changes: ChangeSet, check: Check) -> exp.Expr:
    places = {c.physical: (i, c) for i, c in enumerate(changes.table.stored)}
    condition = exp.Paren(this=stored_expression(check.expression))
    for used in list(condition.find_all(exp.Column)):
        used.replace(changes.new_value(*places[used.name]))
    return condition


def _check(changes: ChangeSet, check: Check) -> Guard:
    condition = _condition(changes, check)
    failed = _from_stage(changes, [named(exp.Literal.number(1), "found")])
    begun = _begun(changes)
    if begun is not None:
        failed = where(failed, begun)
    failed = limited(where(failed, exp.Not(this=condition)))
    return _guard(Query.of(failed), _fails_check(changes.table, check))


def _fails_check(table: Table, check: Check) -> Refusal:
    message = f'a row violates check "{check.name}" of {table.name}: {check.expression}'
    advice = "change the values so that the condition holds"
    return Refusal(Code.CHECK, literally(message), advice)


def _journal_rows(changes: ChangeSet, refused: Sequence[Refused] = ()) -> exp.Query:
    table = changes.table
    kind = version_type(table)

    def version() -> exp.Expr:
        return cast(version_value(table, exp.Placeholder(this=P_VERSION)), kind)

    def old() -> list[exp.Expr]:
        return [column(old_name(i), "s") for i in range(len(table.stored))]

    branches: list[exp.Query] = []
    if changes.ends is not False:
        since = column(OLD_VERSION, "s")
        branches.append(_rows(changes, [*old(), since, version()], _ended(changes)))
        dead = _dies(changes)
        if dead is not False:
            which = dead if isinstance(dead, exp.Expr) else _ended(changes)
            branches.append(_rows(changes, [*old(), version(), version()], which))
    if changes.begins is not False:
        new = [changes.new_value(i, c) for i, c in enumerate(table.stored)]
        rows = _rows(changes, [*new, version(), cast(exp.Null(), kind)], _begun(changes))
        if refused:
            rows = where(rows, failing(refused))
        branches.append(rows)
    return union_all(branches)


def _dies(changes: ChangeSet) -> bool | exp.Expr:
    """Which ended rows leave their key without a row: they get a tombstone."""
    if changes.begins is False:
        return True
    conditions: list[exp.Expr] = []
    ended = _ended(changes)
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


def _rows(changes: ChangeSet, values: Sequence[exp.Expr], condition: exp.Expr | None) -> exp.Select:
    """Journal rows with these values, the two versions last."""
    table = changes.table
    names = [c.physical for c in table.stored]
    names += [table.format.version_column, table.format.subsequent_column]
    outputs = [exp.Alias(this=v, alias=ident(n)) for v, n in zip(values, names, strict=True)]
    rows = _from_stage(changes, outputs)
    return rows if condition is None else where(rows, condition)
