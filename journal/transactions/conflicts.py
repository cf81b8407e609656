"""The conflict check: have others written the same keys since a transaction's snapshot?

First committer wins per key. Two transactions conflict on a table when their journal rows share a
key, or when both add open rows with the same values of a UNIQUE constraint. Pure: compares few rows
itself; for many it builds the queries that the commit section runs over the two sets of rows.
Definitions are held to the same rule: who changed a table that another changed first has lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from journal.model.catalog import touched
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation, Query
from journal.model.schema import Table
from journal.model.store_session import MemoryRows, RowSet
from journal.sql.relations import column
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

MINE = "conflict_mine"
THEIRS = "conflict_theirs"
Claim = tuple[object, ...]
"""Names of columns, and the values in them that a commit lays claim to."""
_FEW_ROWS = 1000


def claims(table: Table, sets: Iterable[RowSet]) -> frozenset[Claim] | None:
    """What others must not have written too; None where only the store can tell.

    Only for few rows in memory, with columns whose values are equal in Python when they are equal
    in SQL.
    """
    found: set[Claim] = set()
    end = table.format.subsequent_column
    for rows in sets:
        if not isinstance(rows, MemoryRows) or rows.rows.num_rows > _FEW_ROWS:
            return None
        for columns, only_open in _claimed(table):
            if any(not _is_plain(rows.rows, name) for name in columns):
                return None
            values = zip(*[rows.rows.column(c).to_pylist() for c in columns], strict=True)
            if only_open:
                ends = rows.rows.column(end).is_null().to_pylist()
                found |= {
                    (columns, v) for v, o in zip(values, ends, strict=True) if o and None not in v
                }
            else:
                found |= {(columns, v) for v in values}
    return frozenset(found)


def _claimed(table: Table) -> list[tuple[tuple[str, ...], bool]]:
    """The columns of the key, and those of UNIQUE constraints, which concern open rows only."""
    return [(table.key, False), *[(u.columns, True) for u in table.uniques]]


def _is_plain(rows: pa.Table, name: str) -> bool:
    place = rows.schema.get_field_index(name)
    if place < 0:
        return False
    kind = rows.schema.field(place).type
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date32(kind))


def clash(mine: frozenset[Claim], theirs: Sequence[frozenset[Claim]]) -> bool:
    """True if others lay claim to the same."""
    return any(not mine.isdisjoint(other) for other in theirs)


def overlap_query(table: Table) -> Query:
    """A query over relations MINE and THEIRS that returns a row if they conflict."""
    branches = [_overlap(table.key, None)]
    branches += [
        _overlap(unique.columns, table.format.subsequent_column) for unique in table.uniques
    ]
    united = branches[0] if len(branches) == 1 else exp.union(*branches, distinct=False)
    return Query(exp.select("*").from_(united.subquery("found")).limit(1), ())


def _overlap(columns: tuple[str, ...], open_marker: str | None) -> exp.Select:
    same: list[exp.Expr] = [exp.EQ(this=column(c, "m"), expression=column(c, "t")) for c in columns]
    if open_marker is not None:
        same += [exp.Is(this=column(open_marker, a), expression=exp.Null()) for a in ("m", "t")]
    return (
        exp.select(exp.alias_(exp.Literal.number(1), "found"))
        .from_(exp.alias_(exp.to_table(MINE), "m", table=True))
        .join(exp.alias_(exp.to_table(THEIRS), "t", table=True), on=exp.and_(*same))
    )


def conflict(table: Table) -> PalimpsestError:
    """The error of the transaction that comes second."""
    return PalimpsestError(
        Code.SERIALIZATION,
        f"could not serialize access: rows of {table.name} that this transaction changed were"
        " changed by another one that committed first",
        advice="roll back and run the transaction again",
    )


def check_catalog(transaction: Transaction, committed: JournalState) -> None:
    """Raise if a table the transaction wrote or changed was changed by somebody else."""
    began = transaction.snapshot.catalog
    now = committed.catalog
    check_validated(transaction, committed)
    if now is began:
        return
    for _, change in transaction.changes():
        for name in touched(change):
            if name.name and began.get(name) != now.get(name):
                raise _changed(str(name))
            if not name.name and (name.key[0] in began.schemas) != (name.key[0] in now.schemas):
                raise _changed(name.schema)
    for table_id in transaction.buffered_tables():
        before, after = began.by_id(table_id), now.by_id(table_id)
        if before is not None and before != after:
            raise _changed(str(before.name))


def check_validated(transaction: Transaction, committed: JournalState) -> None:
    """Raise if rows were written that a changed definition was not checked against."""
    for _, change in transaction.changes():
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            if transaction.is_pinned(change.relation.id, committed):
                raise PalimpsestError(
                    Code.SERIALIZATION,
                    f"could not serialize access: rows of {change.relation.name}, whose definition"
                    " this transaction changed, were changed by another one that committed first",
                    advice="roll back and run the transaction again",
                )


def _changed(name: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SERIALIZATION,
        f"could not serialize access: the definition of {name} was changed by another transaction",
        advice="roll back and run the transaction again",
    )
