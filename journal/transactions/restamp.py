"""New versions for buffered rows, when others committed after the statements ran.

Versions must rise in commit order. If somebody committed above a transaction's first version, its
versions are replaced before its rows reach the journal, in the rows and in the closing rows that
name rows of the same transaction. Pure, over Arrow tables and SQL AST.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from journal.model.schema import Table
from journal.model.version import Version
from journal.sql.relations import column, ident, version_value


def restamp_rows(rows: pa.Table, table: Table, mapping: Mapping[Version, Version]) -> pa.Table:
    """``rows`` with every version that ``mapping`` knows replaced."""
    import pyarrow.compute as pc

    old = pa.array(list(mapping), pa.int64())
    new = pa.array(list(mapping.values()), pa.int64())
    for name in table.ends:
        index = rows.schema.get_field_index(name)
        stored = rows.column(index)
        numbers = stored.cast(pa.int64())
        replaced = pc.coalesce(pc.take(new, pc.index_in(numbers, value_set=old)), numbers)
        rows = rows.set_column(index, rows.schema.field(index), replaced.cast(stored.type))
    return rows


def restamped(source: str, table: Table, mapping: Mapping[Version, Version]) -> exp.Query:
    """The rows of relation ``source``, in the columns of the table, with versions replaced."""
    return restamped_to(source, table, _literals(mapping))


def restamped_to(
    source: str, table: Table, pairs: Sequence[tuple[exp.Expr, exp.Expr]]
) -> exp.Query:
    """The same, of pairs of numbers of versions: those in the rows, and those in their place."""
    rows = exp.select(*[column(n) for n in table.journal_columns]).from_(source)
    return _replaced(rows, table, pairs) if pairs else rows


def restamp_query(source: exp.Query, table: Table, mapping: Mapping[Version, Version]) -> exp.Query:
    """The rows of ``source`` with versions replaced, as SQL, for rows already in files."""
    return _replaced(source, table, _literals(mapping))


def _replaced(
    source: exp.Query, table: Table, pairs: Sequence[tuple[exp.Expr, exp.Expr]]
) -> exp.Query:
    outputs: list[exp.Expr] = [column(c.physical) for c in table.stored]
    for name in table.ends:
        case = exp.Case(this=column(name))
        for old, new in pairs:
            when, then = (version_value(table, number.copy()) for number in (old, new))
            case = case.when(when, then, copy=False)
        outputs.append(exp.alias_(case.else_(column(name)), ident(name)))
    return exp.select(*outputs).from_(source.subquery("r"))


def _literals(mapping: Mapping[Version, Version]) -> list[tuple[exp.Expr, exp.Expr]]:
    return [(exp.Literal.number(old), exp.Literal.number(new)) for old, new in mapping.items()]
