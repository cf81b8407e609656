"""The parent rows that changed, as a relation to join children with. Pure.

Columns ``v0..`` are the values that rows may refer to, ``w0..`` those that replace them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.foreign_key import ForeignKey, ReferenceAction
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.sql.relations import column
from journal.sql.sql import all_of, any_of, named, named_table, relation, select
from rewriter.definitions.cascade_order import CascadeAction
from rewriter.writing.changes import ChangeSet, new_name, old_name
from rewriter.writing.reference_values import (
    anti_join,
    column_places,
    equal_conditions,
    flag_conditions,
    not_null_conditions,
    staged_new_values,
    staged_old_value,
)

TREE = "p_tree"
"""Begins the names of staged keys of rows that refer to each other."""
_HIT = "hit"


@dataclass(frozen=True, slots=True)
class CascadeEvent:
    """Rows of ``columns`` with values that ``query`` lists as ``v0..`` are hit, once each.

    ``by_key``: the columns are the key that the rows have had.
    """

    query: exp.Query
    alias: str
    columns: tuple[str, ...]
    action: ReferenceAction
    deletes: bool
    by_key: bool = False

    @staticmethod
    def of_tree(table: Table, stage: str) -> CascadeEvent:
        """The rows whose keys have been staged are deleted."""
        keys = [named(column(f"v{i}"), f"v{i}") for i in range(len(table.key))]
        query = select([*keys, named(exp.true(), _HIT)], named_table(stage))
        query.set("distinct", exp.Distinct())
        return CascadeEvent(query, "e0", table.key, ReferenceAction.CASCADE, True, by_key=True)

    @property
    def hit(self) -> exp.Expr:
        """The condition that a row is hit."""
        there = exp.Is(this=column(_HIT, self.alias), expression=exp.Null())
        return exp.Not(this=there)

    def new_value(self, physical: str) -> exp.Expr:
        """The value that replaces the one a column has."""
        return column(f"w{self.columns.index(physical)}", self.alias)

    def join(
        self,
        table: Table,
        name: Callable[[int], str],
        kind: str,
        conditions: Sequence[exp.Expr],
    ) -> exp.Join:
        """A join of the child's rows ``s``, whose values have the names that ``name`` gives."""
        places = column_places(table)
        called = old_name if self.by_key else name
        mine: list[exp.Expr] = [column(called(places[c]), "s") for c in self.columns]
        theirs: list[exp.Expr] = [column(f"v{i}", self.alias) for i in range(len(mine))]
        on = all_of(*equal_conditions(mine, theirs), *conditions)
        sides = {"kind": "INNER"} if kind == "INNER" else {"side": "LEFT"}
        return exp.Join(this=relation(self.query, self.alias), on=on, **sides)


def event_of(changes: ChangeSet, action: CascadeAction, alias: str) -> CascadeEvent:
    """What the changes of a parent mean to those that refer to it by a foreign key."""
    key = action.reference.key
    old: list[exp.Expr] = [staged_old_value(changes, c, "s") for c in key.parent_columns]
    outputs = [named(v.copy(), f"v{i}") for i, v in enumerate(old)]
    query = named_table(changes.stage, "s")
    conditions = [*flag_conditions(changes.ends, "s"), *not_null_conditions(old)]
    if action.on_delete:
        if isinstance(changes.begins, str):
            conditions.append(exp.Not(this=column(changes.begins, "s")))
        found = select([*outputs, named(exp.true(), _HIT)], query, *conditions)
        if changes.begins is not False:
            # A key that another row brings back has not gone.
            new = staged_new_values(changes, key.parent_columns, "b")
            same = equal_conditions(new, [v.copy() for v in old])
            begun = flag_conditions(changes.begins, "b")
            found.append("joins", anti_join(changes.stage, "b", same + begun))
    else:
        new = staged_new_values(changes, key.parent_columns, "s")
        outputs += [named(v.copy(), f"w{i}") for i, v in enumerate(new)]
        differs = [
            exp.NullSafeNEQ(this=a.copy(), expression=b.copy())
            for a, b in zip(old, new, strict=True)
        ]
        conditions += [*flag_conditions(changes.begins, "s"), exp.Paren(this=any_of(*differs))]
        found = select([*outputs, named(exp.true(), _HIT)], query, *conditions)
    return CascadeEvent(found, alias, key.columns, action.action, action.deletes)


def tree_query(before: ChangeSet, keys: Sequence[ForeignKey], rows: exp.Query) -> exp.Query:
    """Keys of the rows that end, and of those that refer to them, however many rows between.

    ``rows`` are those of the table that may follow, under staged names.
    """
    table = before.table
    places = column_places(table)
    columns = list(dict.fromkeys((*table.key, *(c for k in keys for c in k.parent_columns))))
    names = {c: f"v{i}" for i, c in enumerate(columns)}
    gone = flag_conditions(before.ends, "s")
    if isinstance(before.begins, str):
        gone.append(exp.Not(this=column(before.begins, "s")))
    ended = [named(column(old_name(places[c]), "s"), n) for c, n in names.items()]
    first = select(ended, named_table(before.stage, "s"), *gone)
    follows = [
        all_of(
            *equal_conditions(
                [column(new_name(places[m]), "r") for m in key.columns],
                [column(names[p], "g") for p in key.parent_columns],
            )
        )
        for key in keys
    ]
    more = select([column(old_name(places[c]), "r") for c in columns], relation(rows, "r"))
    more.append("joins", exp.Join(this=exp.to_table("g"), kind="INNER", on=any_of(*follows)))
    both = exp.Union(this=first, expression=more, distinct=True)
    listed = [exp.to_identifier(n) for n in names.values()]
    cte = exp.CTE(this=both, alias=exp.TableAlias(this=exp.to_identifier("g"), columns=listed))
    query = select([column(names[k], "g") for k in table.key], exp.to_table("g"))
    query.set("with_", exp.With(expressions=[cte], recursive=True))
    return query
