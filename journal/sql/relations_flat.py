"""A flat journal: one plain table, the classic convention.

Every change is a full row with its version; the row of a key with the highest version is the
current one, unless its subsequent version is set: then it is a tombstone. Older rows may have
theirs filled in by archival. Builders return fresh AST and do no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import Output, column, ident, union_all
from journal.sql.sql import named, named_table, relation, select

FLAT = "adopted"
"""Property of a table whose journal is flat: what its version columns are in the database."""

STALE_WRITES = "stale_writes"
"""Property of such a table: whether rows of others are refused that could never be seen."""
REFUSE, ALLOW = "refuse", "allow"


_LOOKED_UP_MAX = 1000
"""So many keys are looked up one by one; for more, the journal is read once."""


def is_flat(table: Table) -> bool:
    """True for a table over a flat journal."""
    return any(name == FLAT for name, _ in table.properties)


def journal_table(table: Table) -> exp.Table:
    """The journal itself."""
    name = table.journal_name
    return exp.table_(ident(name.name), db=ident(name.schema))


def current_rows(table: Table, outputs: Sequence[Output]) -> exp.Select:
    """The latest row of each key, unless that is a tombstone; of two versions alike the open row.

    DISTINCT ON is the fastest of four shapes with and without an index; see ``bench.flat_shapes``.
    """
    start, end = table.ends
    keys = [column(k) for k in table.key]
    newest_first = [
        exp.Ordered(this=column(start), desc=True, nulls_first=False),
        exp.Ordered(this=column(end), desc=False, nulls_first=True),
    ]
    rows = exp.select(*[column(n) for n in (*(c.physical for c in table.stored), start, end)])
    rows = rows.from_(journal_table(table)).order_by(*[k.copy() for k in keys], *newest_first)
    rows.set("distinct", exp.Distinct(on=exp.Tuple(expressions=keys)))
    found = exp.select(*_projected(outputs, "o")).from_(rows.subquery("o"))
    return found.where(exp.Is(this=column(end, "o"), expression=exp.Null()))


def current_among(
    rows: exp.Query, keys: Sequence[str], stage: str, values: Sequence[exp.Expr]
) -> exp.Query:
    """Those of the current ``rows`` whose ``keys`` are ``values`` of a staged relation.

    ``values`` are expressions over the relation, as ``s``. A planner reads all of a journal to
    join its latest rows with others: below DISTINCT ON it moves conditions, but not joins. So few
    keys are looked up one after another, and the server chooses by how many there are.
    """
    names = [f"_palimpsest_k{place}" for place in range(len(keys))]
    wanted = select([named(v, n) for v, n in zip(values, names, strict=True)], _staged(stage))
    wanted.set("distinct", exp.Distinct())
    outputs = rows.named_selects
    same = [
        exp.EQ(this=column(k, "o"), expression=column(n, "k"))
        for k, n in zip(keys, names, strict=True)
    ]
    found = select([column(o, "o") for o in outputs], relation(rows.copy(), "o"), *same)
    # Without it the server would make a join of the look-ups again.
    found.set("offset", exp.Offset(expression=exp.Literal.number(0)))
    lateral = exp.Lateral(this=relation(found), alias=exp.TableAlias(this=ident("p")))
    few = select([column(o, "p") for o in outputs], relation(wanted, "k"), _is_few(stage))
    few.append("joins", exp.Join(this=lateral, kind="CROSS"))
    many = exp.Not(this=exp.Paren(this=_is_few(stage)))
    read = select([column(o, "o") for o in outputs], relation(rows.copy(), "o"), many)
    return union_all([few, read])


def _staged(stage: str) -> exp.Table:
    return named_table(stage, "s")


def _is_few(stage: str) -> exp.Expr:
    """Whether a staged relation has few rows; the server asks this once."""
    counted = relation(select([exp.Count(this=exp.Star())], _staged(stage)))
    return exp.LTE(this=counted, expression=exp.Literal.number(_LOOKED_UP_MAX))


def _qualified(expression: exp.Expr, alias: str) -> exp.Expr:
    copy = expression.copy()
    for found in list(copy.find_all(exp.Column)):
        if not found.table:
            found.set("table", exp.to_identifier(alias))
    return copy


def _projected(outputs: Sequence[Output], alias: str) -> list[exp.Expr]:
    projections: list[exp.Expr] = []
    for expression, name in outputs:
        value = _qualified(expression, alias)
        same = isinstance(value, exp.Column) and value.name == name
        projections.append(value if same else exp.alias_(value, ident(name)))
    return projections
