"""Rows of a table from before it moved to another journal, which ERASE FROM removes as well.

A table that loses its primary key moves, and keeps its past where it was. What ERASE FROM is asked
of the table holds for that past, too; a condition that cannot be asked there is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.procedures.conditions import condition_to_keep
from journal.erasure.holds import physical_predicate
from journal.model.copied_rows import moved_from
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query, StatementKind, StatementPlan
from journal.model.schema import Table
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.relations import Reader, column
from journal.transactions.reading import reading

if TYPE_CHECKING:
    from gateway.session.session import Session


def earlier_tables(session: Session, table: Table) -> list[Table]:
    """What a table was in the journals that still hold rows of it, the oldest first."""
    state = session.journal.state
    there = [state.tables[i] for i in sorted(moved_from(table)) if i in state.tables]
    return [held.layouts[-1] for held in there if held.layouts]


def earlier_keys(
    session: Session, table: Table, where: exp.Expr, parameters: Mapping[str, Any]
) -> pa.Table:
    """The keys of an earlier journal's rows that meet a condition in any version.

    Raises ERASURE for a condition that cannot be asked of them.
    """
    asked = exp.Paren(this=copy_tree(where))
    for given in list(asked.find_all(exp.Placeholder)):
        given.replace(exp.convert(parameters[str(given.this)]))
    try:
        kept = condition_to_keep(session, asked.this, table)
        condition = dialects.stored(physical_predicate(kept, table))
    except PalimpsestError as error:
        raise PalimpsestError(
            Code.ERASURE,
            f"rows of {table.name} from before its primary key was dropped cannot be asked for"
            f" this: {error.message}",
            advice="name columns that it had then, constants and functions of them; or erase people"
            " by their identifiers: palimpsest erase submit --subject",
        ) from error
    with reading(session.journal) as statement:
        rows = Reader(table, statement.committed.tables[table.id].tiers).journal()
        keys = [column(name, "t") for name in table.key]
        looked = exp.select(*keys).distinct().from_(rows.subquery("t")).where(condition)
        plan = StatementPlan(StatementKind.READ, (), tables=frozenset({table.id}))
        statement.prepare(plan, {})
        return statement.session.arrow(Query.of(looked), {})
