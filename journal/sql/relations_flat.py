"""A flat journal: one plain table, the classic convention.

Every change is a full row with its version; the row of a key with the highest version is the
current one, unless its subsequent version is set: then it is a tombstone. Older rows may have
theirs filled in by archival. Builders return fresh AST and do no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import Output, column, ident

FLAT = "adopted"
"""Property of a table whose journal is flat: what its version columns are in the database."""

STALE_WRITES = "stale_writes"
"""Property of such a table: whether rows of others are refused that could never be seen."""
REFUSE, ALLOW = "refuse", "allow"


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
