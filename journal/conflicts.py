"""The conflict check: have others written the same keys since a transaction's snapshot?

First committer wins per key. Two transactions conflict on a table when their journal rows share a
key, or when both add open rows with the same values of a UNIQUE constraint. Pure: builds the
queries; the commit section runs them over the two sets of rows.
"""

from __future__ import annotations

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import Query
from journal.relations import column
from journal.schema import Table

MINE = "conflict_mine"
THEIRS = "conflict_theirs"


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
