"""Values and conditions over staged changes, as foreign keys compare them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import column
from journal.sql.sql import all_of, named_table, relation, select
from rewriter.writing.changes import ChangeSet, old_name


def anti_join(stage: str, alias: str, conditions: Sequence[exp.Expr]) -> exp.Join:
    """A join that keeps rows to which no staged row fits."""
    return exp.Join(this=named_table(stage, alias), kind="ANTI", on=all_of(*conditions))


def equal_conditions(left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> list[exp.Expr]:
    """That values are equal, pair by pair."""
    return [exp.EQ(this=a, expression=b) for a, b in zip(left, right, strict=True)]


def flag_conditions(which: bool | str, alias: str) -> list[exp.Expr]:
    """The condition that a change set gives by a staged flag; none where all rows are meant."""
    return [column(which, alias)] if isinstance(which, str) else []


def not_null_conditions(values: Sequence[exp.Expr]) -> list[exp.Expr]:
    """That none of the values is NULL."""
    return [exp.Not(this=exp.Is(this=v.copy(), expression=exp.Null())) for v in values]


def staged_new_values(changes: ChangeSet, columns: Sequence[str], alias: str) -> list[exp.Expr]:
    """The new values of columns, of the staged rows under an alias."""
    places = column_places(changes.table)
    stored = changes.table.stored
    found = [exp.Paren(this=changes.new_value(places[c], stored[places[c]])) for c in columns]
    for used in [node for value in found for node in value.find_all(exp.Column)]:
        used.set("table", exp.to_identifier(alias))
    return [value.this for value in found]


def staged_old_value(changes: ChangeSet, physical: str, alias: str) -> exp.Column:
    """The old value of a column, of the staged rows under an alias."""
    return column(old_name(column_places(changes.table)[physical]), alias)


def column_places(table: Table) -> dict[str, int]:
    """The place of each stored column by its physical name."""
    return {c.physical: i for i, c in enumerate(table.stored)}


def without_ended(present: exp.Query, changes: Sequence[ChangeSet]) -> exp.Query:
    """The current rows less those that end."""
    for number, changed in enumerate(changes):
        if changed.ends is False:
            continue
        alias = f"e{number}"
        key = changed.table.key
        same = equal_conditions(
            [column(k, "c") for k in key], [staged_old_value(changed, k, alias) for k in key]
        )
        kept = select([exp.Star()], relation(present, "c"))
        kept.append(
            "joins", anti_join(changed.stage, alias, same + flag_conditions(changed.ends, alias))
        )
        present = kept
    return present
