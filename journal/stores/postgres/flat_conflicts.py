"""The conflict check of adopted journals: queries over both sets of rows.

Nothing is assumed of versions, for other writers may make their own. Knows rows and relations by
name; shows and appends nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial

from sqlglot import exp

from journal.model.plan import Query, physical
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.version import Version
from journal.sql.relations import column
from journal.sql.unique_keys import UniqueKey
from journal.stores.postgres.flat import versions_above
from journal.stores.postgres.store import PostgresSession

_QUERIES_MAX = 256


def conflict_and_above(
    session: PostgresSession, table: Table, mine: str
) -> tuple[bool, Version | None]:
    """Whether somebody else has written a key of rows ``mine`` since they were read.

    And the highest version, at or above its own, that the key of any of them has.
    """
    session.execute(_conflict_and_above(table, mine), {}, often=True)
    ((is_late, above),) = session.fetch_many(1)
    return is_late, None if above is None else int(above)


@lru_cache(maxsize=_QUERIES_MAX)
def _conflict_and_above(table: Table, mine: str) -> Query:
    return Query(late_and_above(table, mine), ())


def late_and_above(table: Table, mine: str) -> exp.Select:
    """Columns ``late`` and ``highest``: whether rows ``mine`` conflict, and what lies above."""
    is_late = exp.Exists(this=_conflicting(table, mine))
    above = versions_above(table, mine).subquery(copy=False)
    return exp.select(exp.alias_(is_late, "late"), exp.alias_(above, "highest"))


def _conflicting(table: Table, mine: str) -> exp.Select:
    """Rows of ``mine`` whose keys somebody else has written since they were read.

    A row that ends another must end the latest one of its key; a row that begins a key must find
    none.
    """
    start, end = table.ends
    base = physical(table.id, Tier.BASE, table.layout)
    history = physical(table.id, Tier.HISTORY, table.layout)
    same = [exp.EQ(this=column(k, "t"), expression=column(k, "m")) for k in table.key]
    row = [*same, exp.EQ(this=column(start, "t"), expression=column(start, "m"))]
    one = exp.Literal.number(1)
    still = exp.select(one).from_(exp.alias_(base, "t", table=True)).where(*row)
    known = exp.select(one).from_(exp.alias_(history, "t", table=True)).where(*row)
    here = exp.select(one).from_(exp.alias_(base, "t", table=True)).where(*same)
    own = exp.select(one).from_(exp.alias_(exp.to_table(mine), "e", table=True))
    ended = [exp.EQ(this=column(k, "e"), expression=column(k, "m")) for k in table.key]
    own = own.where(*ended, exp.Not(this=exp.Is(this=column(end, "e"), expression=exp.Null())))
    closing = exp.GT(this=column(end, "m"), expression=column(start, "m"))
    # A row that this transaction has made itself is in neither view.
    lost = exp.and_(
        closing,
        exp.Not(this=exp.Exists(this=still)),
        exp.or_(exp.Exists(this=known), exp.Not(this=exp.Exists(this=_own_row(table, mine)))),
    )
    taken = exp.and_(
        exp.Is(this=column(end, "m"), expression=exp.Null()),
        exp.Not(this=exp.Exists(this=own)),
        exp.Exists(this=here),
    )
    rows = exp.select(one.copy()).from_(exp.alias_(exp.to_table(mine), "m", table=True))
    return rows.where(exp.or_(lost, taken)).limit(1)


def sharing_values(table: Table, key: UniqueKey, mine: str) -> exp.Query:
    """Rows of ``mine`` that begin with values of a key that a current row of others has."""
    start, end = table.ends
    one = exp.Literal.number(1)
    values = zip(*[key.values(partial(column, of=alias)) for alias in "mt"], strict=True)
    same = [exp.EQ(this=left, expression=right) for left, right in values]

    def ends(*of: exp.Expr) -> exp.Expr:
        rows = exp.select(one.copy()).from_(exp.alias_(exp.to_table(mine), "e", table=True))
        has_ended = exp.Not(this=exp.Is(this=column(end, "e"), expression=exp.Null()))
        return exp.Exists(this=rows.where(*of, has_ended))

    def alike(names: Iterable[str], alias: str) -> list[exp.Expr]:
        return [exp.EQ(this=column(n, "e"), expression=column(n, alias)) for n in names]

    base = physical(table.id, Tier.BASE, table.layout)
    rows = exp.select(one).from_(exp.alias_(exp.to_table(mine), "m", table=True))
    rows = rows.join(exp.alias_(base, "t", table=True), on=exp.and_(*same))
    begins = exp.Is(this=column(end, "m"), expression=exp.Null())
    gone = (ends(*alike((*table.key, start), "m")), ends(*alike(table.key, "t")))
    return rows.where(begins, *[exp.Not(this=found) for found in gone]).limit(1)


def _own_row(table: Table, mine: str) -> exp.Select:
    start, end = table.ends
    same = [exp.EQ(this=column(c, "w"), expression=column(c, "m")) for c in (*table.key, start)]
    rows = exp.select(exp.Literal.number(1)).from_(exp.alias_(exp.to_table(mine), "w", table=True))
    return rows.where(*same, exp.Is(this=column(end, "w"), expression=exp.Null()))
