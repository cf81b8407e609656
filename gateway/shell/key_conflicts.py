"""What an import does with rows whose key is in the table: ON CONFLICT of its INSERT. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold
from journal.sql.relations import ident

APPEND, MERGE, IGNORE = "append", "merge", "ignore"
LOADS = (APPEND, MERGE, IGNORE)
"""Rows whose key is there are an error, replace what is there, or are left out."""


def on_conflict(table: Table, names: Sequence[str], load: str, shown: str) -> exp.OnConflict | None:
    """The clause for one of ``LOADS``; None for append. ``names`` are the columns that are filled.

    Columns that are not among them keep their values. Raises SETTING_VALUE for a table without a
    key, UNKNOWN_COLUMN if ``shown``, where the rows come from, lacks a column of it.

    >>> on_conflict(depts, ["deptno", "name"], "merge", "depts.csv").sql("duckdb")
    'ON CONFLICT ("deptno") DO UPDATE SET "name" = "excluded"."name"'
    """
    if load == APPEND:
        return None
    check_key(table)
    key = [table.by_physical(k).name for k in table.key]
    given = {fold(name) for name in names}
    missing = next((name for name in key if fold(name) not in given), None)
    if missing is not None:
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'{shown} has no column "{missing}", by which rows of {table.name} are told apart',
            advice=f"give the columns of its key: {', '.join(key)}",
        )
    others = [name for name in names if fold(name) not in {fold(k) for k in key}]
    set_to = [
        exp.EQ(this=exp.column(ident(n)), expression=exp.column(ident(n), table="excluded"))
        for n in others
        if load == MERGE
    ]
    return exp.OnConflict(
        conflict_keys=[ident(name) for name in key],
        action=exp.Var(this="DO UPDATE" if set_to else "DO NOTHING"),
        expressions=set_to,
    )


def repeated_key(rows: exp.Select, conflict: exp.OnConflict) -> exp.Select:
    """The query for a key that stands in more than one of some rows."""
    key = [exp.column(ident(name.name)) for name in conflict.args["conflict_keys"]]
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    found = exp.select(*key).from_(rows.subquery("r")).group_by(*[k.copy() for k in key])
    return found.having(many).limit(1)


def check_once(conflict: exp.OnConflict, found: Sequence[tuple[object, ...]], shown: str) -> None:
    """Raise ROW_TWICE for a key that ``repeated_key`` found: chance would say which row stays."""
    if found:
        names = ", ".join(name.name for name in conflict.args["conflict_keys"])
        values = ", ".join(map(str, found[0]))
        raise PalimpsestError(
            Code.ROW_TWICE,
            f"{shown} has several rows with ({names}) = ({values})",
            advice="leave one row for each key; nothing was imported",
        )


def check_key(table: Table) -> None:
    """Raise SETTING_VALUE for a table without a key."""
    if table.hidden_key:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{table.name} has no key to merge by",
            advice=f"append, or add one: ALTER TABLE {table.name} ADD PRIMARY KEY (..)",
        )
