"""Guards of a change set: queries that must find no row, for NOT NULL, CHECK and unique keys.

The same conditions stand in a plan of one query, which fails on the rows they name. Foreign keys
have guards of their own (``references``). Writes nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.errors import Code
from journal.model.plan import Distinct, Guard, Query, Step
from journal.model.refusal import Refusal, RefusedRows
from journal.model.schema import ROW_ID, Check, Column, Table
from journal.model.trees import copy_tree
from journal.sql.native_words import shown_text
from journal.sql.relations import column, union_all
from journal.sql.relations_flat import current_among, is_flat
from journal.sql.sql import (
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
from journal.sql.text_lengths import text_length
from journal.sql.unique_keys import UniqueKey, unique_keys
from rewriter.users import stored_expression
from rewriter.writing.changes import ChangeSet, new_name, old_name


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
    steps = row_guards(changes)
    wanted = unchecked_constraints(changes, checked)
    for key in unique_keys(changes.table):
        if key.name in wanted:
            steps.append(_unique(changes, key, current()))
    return steps


def row_guards(changes: ChangeSet) -> list[Step]:
    """Guards that every row that begins keeps NOT NULL and the CHECKs of its table."""
    checks = [c for c in changes.table.checks if _may_violate(changes, c)]
    return [*_not_null(changes), *(_check(changes, check) for check in checks)]


def refused_rows(changes: ChangeSet) -> list[RefusedRows]:
    """Rows that must not begin, without those that break unique constraints."""
    if changes.begins is False:
        return []
    table = changes.table
    found = [
        RefusedRows(empty, _is_null(table), stored.name)
        for stored, empty in _missing_values(changes)
    ]
    for check in table.checks:
        if _may_violate(changes, check):
            found.append(
                RefusedRows(exp.Not(this=_condition(changes, check)), _fails_check(table, check))
            )
    return found


def taken_key(changes: ChangeSet, condition: exp.Expr) -> RefusedRows:
    """Rows whose key is there already, which ``condition`` says."""
    key, *_ = unique_keys(changes.table)
    values = _new_values(changes, key)
    texts: list[exp.Expr] = []
    for value in values:
        texts += [exp.Literal.string(", "), cast(value, "VARCHAR")]
    return RefusedRows(condition, duplicate_key(changes.table, key), texts[1:])


def unchecked_constraints(changes: ChangeSet, checked: frozenset[str]) -> list[str]:
    """Names of the unique constraints that rows may violate, apart from those in ``checked``."""
    if changes.begins is False:
        return []
    return [
        key.name
        for key in unique_keys(changes.table)
        if key.name not in checked
        and (changes.ends is not True or set(key.columns) & changes.written)
    ]


def _new_values(changes: ChangeSet, key: UniqueKey) -> list[exp.Expr]:
    """The values of a key in rows that begin."""
    places = {c.physical: (i, c) for i, c in enumerate(changes.table.stored)}
    return key.values(lambda name: changes.new_value(*places[name]))


def _unique(changes: ChangeSet, key: UniqueKey, current: exp.Query) -> Guard:
    values = _new_values(changes, key)
    fresh = changes.staged_rows([named(shown_values(values), "shown")])
    begun = changes.begins_condition
    if begun is not None:
        fresh = where(fresh, begun)
    filled = [exp.Not(this=exp.Is(this=v.copy(), expression=exp.Null())) for v in values]
    fresh = where(fresh, *filled)
    doubled = fresh.copy().group_by(*[v.copy() for v in values], copy=False)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    doubled = doubled.having(many, copy=False)
    present = key.values(lambda name: column(name, "c"))
    same = [exp.EQ(this=p, expression=v.copy()) for p, v in zip(present, values, strict=True)]
    if is_flat(changes.table) and key.columns == changes.table.key and key.is_plain:
        current = current_among(current, key.columns, changes.stage, values)
    taken = fresh.join(relation(current, "c"), on=all_of(*same), copy=False)
    if changes.ends is not False:
        taken = where(taken, exp.Not(this=exp.Exists(this=_ends_row(changes))))
    distinct = None
    if changes.ends is False and changes.begins is True and key.is_plain:
        places = {c.physical: i for i, c in enumerate(changes.table.stored)}
        names = tuple(new_name(places[p]) for p in key.columns)
        distinct = Distinct(changes.stage, names, _first_row(taken.copy()))
    why = duplicate_key(changes.table, key)
    return _guard(_first_row(union_all([doubled, taken])), why, distinct)


def _guard(query: Query, why: Refusal, distinct: Distinct | None = None) -> Guard:
    return Guard(query, why.code, why.message, why.advice, distinct)


def duplicate_key(table: Table, key: UniqueKey) -> Refusal:
    """What is said of a row whose values another one has; ``{0}`` stands for the values."""
    names = escape_format(key.value_names(table))
    return Refusal(
        Code.DUPLICATE_KEY,
        f'duplicate key ({names}) = ({{0}}) violates "{escape_format(key.name)}" of'
        f" {escape_format(table.name)}",
        "use another key, or INSERT .. ON CONFLICT to update the row that is there",
    )


def shown_values(values: Sequence[exp.Expr]) -> exp.Expr:
    """Values of a key as one text."""
    texts = [cast(copy_tree(v), "VARCHAR") for v in values]
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string(", "), *texts])


def no_doubles(table: Table, key: UniqueKey, rows: exp.Expr, values: Sequence[exp.Expr]) -> Guard:
    """A guard that no two of some rows have the same values, as a key asks for that comes late."""
    filled = [exp.Not(this=exp.Is(this=v.copy(), expression=exp.Null())) for v in values]
    found = select([named(shown_values(values), "shown")], rows, *filled)
    found = found.group_by(*[v.copy() for v in values], copy=False)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    why = duplicate_key(table, key)
    query = Query.of(limited(found.having(many, copy=False)))
    return Guard(query, why.code, why.message, "remove the duplicates first")


def _first_row(found: exp.Query) -> Query:
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


def _missing_values(changes: ChangeSet) -> list[tuple[Column, exp.Expr]]:
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
    empties = _missing_values(changes)
    if not empties:
        return []
    name = exp.Case()
    for stored, empty in empties:
        name = name.when(empty.copy(), exp.Literal.string(stored.name), copy=False)
    found = changes.staged_rows([named(name, "found")])
    begun = changes.begins_condition
    if begun is not None:
        found = where(found, begun)
    found = limited(where(found, any_of(*[empty for _, empty in empties])))
    return [_guard(Query.of(found), _is_null(table))]


def _is_null(table: Table) -> Refusal:
    message = f'null in column "{{0}}" of {escape_format(table.name)}, which is NOT NULL'
    return Refusal(Code.NOT_NULL, message, "give it a value")


def escape_format(name: object) -> str:
    """Text that survives ``str.format`` unchanged."""
    return str(name).replace("{", "{{").replace("}", "}}")


def _may_violate(changes: ChangeSet, check: Check) -> bool:
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
    failed = changes.staged_rows([named(exp.Literal.number(1), "found")])
    begun = changes.begins_condition
    if begun is not None:
        failed = where(failed, begun)
    failed = limited(where(failed, exp.Not(this=condition)))
    return _guard(Query.of(failed), _fails_check(changes.table, check))


def _fails_check(table: Table, check: Check) -> Refusal:
    length = text_length(check)
    if length is not None:
        name = table.by_physical(length.column).name
        message = f"value too long for type {length} of {name} in {table.name}"
        return Refusal(Code.TEXT_LENGTH, escape_format(message), "shorten it, or widen the column")
    message = f'a row violates check "{check.name}" of {table.name}: {shown_text(check.expression)}'
    advice = "change the values so that the condition holds"
    return Refusal(Code.CHECK, escape_format(message), advice)
