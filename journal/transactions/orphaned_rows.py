"""Counts rows that refer to rows which a job removes; changes none.

Erasures and retention by date take rows without asking who refers to them. Whoever plans one, or
reads what it did, is told how many rows are left pointing at nothing. Reads only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from journal.model.dependents import Dependents, dependents_error
from journal.model.plan import Query
from journal.model.schema import Reference, Table
from journal.model.store_session import StoreSession
from journal.sql.relations import Reader, column
from journal.sql.sql import all_of, relation, select
from journal.transactions.expiry import Expiry
from journal.transactions.state import JournalState


def dangling(
    session: StoreSession, state: JournalState, going: Mapping[int, exp.Query]
) -> dict[int, dict[str, int]]:
    """By table: the foreign keys that point at it, and current rows that would point at nothing.

    ``going`` gives the keys of the rows that go, by table; rows that go as well are not counted,
    nor are those that point at nothing already.
    """
    found: dict[int, dict[str, int]] = {}
    for table_id in sorted(going):
        for reference in state.catalog.references.get(table_id, ()):
            if reference.parent.id != table_id:
                continue
            query = _left_behind(reference, state, going)
            count = int(session.row(Query.of(query), {})[0])
            if count:
                name = f"{reference.child.name} ({reference.key.name})"
                found.setdefault(table_id, {})[name] = count
    return found


def left_by_date(session: StoreSession, state: JournalState, found: Expiry) -> dict[str, int]:
    """The foreign keys that point at a table, and current rows that rows past their date leave.

    What conditions look up must be there for the session. Raises FOREIGN_KEY if the table's policy
    lets no such row be left.
    """
    table, policy = found.table, found.policy
    condition = found.archived("r")
    if condition is None or policy.column is None or table.id not in state.catalog.references:
        return {}
    names = dict.fromkeys([*table.key, policy.column])
    rows = Reader(table, state.tables[table.id].tiers).current([(column(n), n) for n in names])
    keys = exp.select(*[column(k, "r") for k in table.key])
    going = keys.from_(rows.subquery("r")).where(condition)
    left = dangling(session, state, {table.id: going}).get(table.id, {})
    if left and policy.dependents is Dependents.REFUSE:
        raise dependents_error(table, left, "retention")
    return left


def orphans(session: StoreSession, state: JournalState, child: Table) -> dict[str, int]:
    """The foreign keys of a table, and its current rows that point at nothing."""
    found: dict[str, int] = {}
    for reference in state.catalog.references.get(child.id, ()):
        if reference.child.id != child.id:
            continue
        key, parent = reference.key, reference.parent
        rows = _referring_rows(child, key.columns, state)
        there = _referring_rows(parent, key.parent_columns, state)
        query = _count_query(rows, there, len(key.columns), "ANTI")
        count = int(session.row(Query.of(query), {})[0])
        if count:
            found[f"{child.name} ({key.name})"] = count
    return found


def describe_counts(found: Mapping[str, int], what: str = "what goes") -> str:
    """The counts in words; empty if there are none."""
    parts = [f"{count} of {name}" for name, count in found.items()]
    return f"rows that refer to {what}: {', '.join(parts)}" if parts else ""


def _left_behind(
    reference: Reference, state: JournalState, going: Mapping[int, exp.Query]
) -> exp.Select:
    child, parent, key = reference.child, reference.parent, reference.key
    gone = _referring_rows(parent, key.parent_columns, state)
    gone = _joined_rows(gone, going[parent.id], parent.key, "SEMI")
    left = _referring_rows(child, key.columns, state)
    if child.id in going:
        left = _joined_rows(left, going[child.id], child.key, "ANTI")
    return _count_query(left, gone, len(key.columns), "SEMI")


def _count_query(rows: exp.Query, others: exp.Query, width: int, kind: str) -> exp.Select:
    names = [f"_ref{place}" for place in range(width)]
    same = [exp.EQ(this=column(n, "p"), expression=column(n, "s")) for n in names]
    counted = select([exp.Count(this=exp.Star())], relation(rows, "s"))
    counted.append("joins", exp.Join(this=relation(others, "p"), kind=kind, on=all_of(*same)))
    return counted


def _referring_rows(table: Table, columns: Sequence[str], state: JournalState) -> exp.Select:
    """Key and referring, or referred, values of current rows; NULL refers to nothing."""
    values = [(column(c), f"_ref{place}") for place, c in enumerate(columns)]
    keys = [(column(k), k) for k in table.key]
    rows = Reader(table, state.tables[table.id].tiers).current([*values, *keys])
    named = [column(n, "r") for n in [name for _, name in values] + list(table.key)]
    filled = [
        exp.Not(this=exp.Is(this=column(name, "r"), expression=exp.Null())) for _, name in values
    ]
    return select(named, relation(rows, "r"), *filled)


def _joined_rows(rows: exp.Select, keys: exp.Query, key: Sequence[str], kind: str) -> exp.Select:
    names = [e.alias_or_name for e in rows.expressions]
    same = [exp.EQ(this=column(k, "g"), expression=column(k, "r")) for k in key]
    found = select([column(n, "r") for n in names], relation(rows, "r"))
    found.append("joins", exp.Join(this=relation(keys.copy(), "g"), kind=kind, on=all_of(*same)))
    return found
