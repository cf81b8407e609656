"""Numbers with a floating point as exact numbers, as DuckDB makes them, on PostgreSQL. Pure.

    d::DECIMAL(10, 2)     the digits of the DOUBLE times 100, rounded
    d::HUGEINT            its nearest whole number, halves to the even one
    d::BIGNUM             what is before its point
    UPDATE t SET n = d    as ``d::DECIMAL(10, 2)``, if that is the type of the column; so does
                          INSERT of a query
    sum(f)                of FLOATs a DOUBLE

PostgreSQL's own casts keep 15 digits of a DOUBLE and 6 of a FLOAT, and its sum of FLOATs is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Column, Table
from journal.sql.builders import call
from journal.sql.sql import data_type
from rewriter.name_resolution import table_name
from rewriter.reading.duckdb_types import FLOATS, DuckDBTypes
from rewriter.reading.value_types import KIND

_SCALE = re.compile(r"DECIMAL\(\d+, ?(\d+)\)")
_SCALE_DEFAULT = 3
"""Of a DECIMAL without digits, which is DECIMAL(18, 3)."""
_NAMES = {exp.DType.INT128: "nearest", exp.DType.BIGNUM: "before_point"}


def exact_of(value: exp.Expr, to: exp.DataType, types: DuckDBTypes) -> exp.Expr | None:
    """The exact number that a DOUBLE or FLOAT is as a type, before it is cast to that type."""
    if to.this not in {*_NAMES, exp.DType.DECIMAL} or types.kind_of(value) not in FLOATS:
        return None
    if to.this is not exp.DType.DECIMAL:
        made = call(_NAMES[to.this], value)
    else:
        digits = [part.this for part in to.expressions if isinstance(part, exp.DataTypeParam)]
        places = int(digits[1].name) if len(digits) > 1 else 0 if digits else _SCALE_DEFAULT
        made = call("scaled", value, exp.Literal.number(places))
    made.meta[KIND] = "DECIMAL"
    return made


def sum_of(node: exp.Sum, types: DuckDBTypes) -> exp.Expr | None:
    """The sum of FLOATs."""
    inner = node.this
    distinct = isinstance(inner, exp.Distinct) and len(inner.expressions) == 1
    value = inner.expressions[0] if distinct else inner
    if types.kind_of(value) not in FLOATS - {"DOUBLE"}:
        return None
    wide: exp.Expr = exp.cast(value.copy(), "DOUBLE")
    return exp.Sum(this=exp.Distinct(expressions=[wide]) if distinct else wide)


def assigned(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An UPDATE or INSERT whose values for columns of exact numbers are such numbers."""
    values = _values_of(node, types)
    found = {n: exact_of(value, to, types) for n, (value, to) in enumerate(values)}
    if not any(found.values()):
        return None
    made = node.copy()
    for place, (value, _) in enumerate(_values_of(made, types)):
        number = found[place]
        if number is not None:
            value.replace(number)
    return made


def _values_of(node: exp.Expr, types: DuckDBTypes) -> list[tuple[exp.Expr, exp.DataType]]:
    """The values that a statement assigns, and the types of their columns."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if not isinstance(target, exp.Table) or not isinstance(target.this, exp.Identifier):
        return []
    table = types.context.catalog.get(table_name(target, types.context))
    if not isinstance(table, Table):
        return []
    if isinstance(node, exp.Update):
        pairs = [e for e in node.expressions if isinstance(e, exp.EQ)]
        given = [(table.find(pair.this.name), pair.expression) for pair in pairs]
    else:
        given = list(zip(*_columns_and_outputs(node, table), strict=False))
    return [(value, data_type(stored.type)) for stored, value in given if stored is not None]


def _columns_and_outputs(
    node: exp.Expr, table: Table
) -> tuple[list[Column | None], list[exp.Expr]]:
    """The columns of an INSERT and the outputs of its query, if these stand for its rows alone."""
    query = node.expression
    if not isinstance(query, exp.Select):
        return [], []
    if query.args.get("distinct") or query.args.get("group") or any(query.find_all(exp.Star)):
        return [], []
    outputs = query.expressions
    columns: Sequence[Column | None] = table.columns
    if node.args.get("by_name"):
        columns = [table.find(output.alias_or_name) for output in outputs]
    elif isinstance(node.this, exp.Schema):
        columns = [table.find(name.name) for name in node.this.expressions]
    return [*columns], [output.unalias() for output in outputs]
