"""New versions for buffered rows, when others committed after the statements ran.

Versions must rise in commit order. If somebody committed above a transaction's first version, its
versions are replaced before its rows reach the journal, in the rows and in the closing rows that
name rows of the same transaction. Pure, over Arrow tables and SQL AST.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    rows = exp.select(*[column(n) for n in table.journal_columns]).from_(source)
    return restamp_query(rows, table, mapping) if mapping else rows


def restamp_query(source: exp.Query, table: Table, mapping: Mapping[Version, Version]) -> exp.Query:
    """The rows of ``source`` with versions replaced, as SQL, for rows already in files."""
    ends = table.ends
    outputs: list[exp.Expr] = [column(c.physical) for c in table.stored]
    for name in ends:
        case = exp.Case(this=column(name))
        for old, new in mapping.items():
            case = case.when(_number(table, old), _number(table, new), copy=False)
        outputs.append(exp.alias_(case.else_(column(name)), ident(name)))
    return exp.select(*outputs).from_(source.subquery("r"))


def _number(table: Table, version: Version) -> exp.Expr:
    return version_value(table, exp.Literal.number(version))
