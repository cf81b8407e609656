"""Setting a table's properties, those of its policy among them, and what a legal hold forbids.

What holds there are is known to the store alone, so a change that would remove rows carries a guard
that looks. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import STORE_SCHEMA, Guard, Query
from journal.policy import is_policy, placed, policy_of
from journal.relations import column
from journal.schema import Column, Table, fold
from rewriter.property_syntax import EVERYTHING
from rewriter.table_options import JOURNAL_OPTIONS


def changed_properties(
    properties: Mapping[str, str], name: str, value: str | None, columns: Sequence[Column]
) -> dict[str, str]:
    """Properties with one set, or taken away where there is no value."""
    if name == EVERYTHING:
        return {n: v for n, v in properties.items() if not is_policy(n)}
    if fold(name) in JOURNAL_OPTIONS:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the journal option {name} cannot be changed once there is a journal",
            advice="give it when the table is created",
        )
    kept = {n: v for n, v in properties.items() if fold(n) != fold(name)}
    if value is None:
        return kept
    shown = fold(name) if is_policy(name) else name
    changed = placed({shown: value}, columns) if is_policy(name) else {shown: value}
    return kept | changed


def held_steps(old: Table | None, new: Table) -> list[Guard]:
    """A guard against removing rows of a table that a legal hold covers as a whole."""
    now = policy_of(new)
    before = None if old is None else policy_of(old)
    same = before is not None and (before.retention, before.history, before.versions) == (
        now.retention,
        now.history,
        now.versions,
    )
    if same or not now.removes:
        return []
    found = exp.select(column("placed_by"), column("reason"))
    found = found.from_(exp.table_("holds", db=STORE_SCHEMA)).where(
        exp.EQ(this=column("table_id"), expression=exp.Literal.number(new.id)),
        exp.EQ(this=column("scope"), expression=exp.Literal.string("table")),
        exp.Is(this=column("released_at"), expression=exp.Null()),
    )
    return [
        Guard(
            Query.of(found),
            Code.HELD,
            f"{new.name} is under a legal hold by {{0}} ({{1}}), and the policy would remove rows",
            "release the hold first; SELECT * FROM system.holds shows it",
        )
    ]
