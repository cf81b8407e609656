"""Numbers with a floating point as exact numbers, as DuckDB makes them, on PostgreSQL. Pure.

    d::DECIMAL(10, 2)     the digits of the DOUBLE times 100, rounded
    d::HUGEINT            its nearest whole number, halves to the even one
    d::BIGNUM             what is before its point
    UPDATE t SET n = d    as ``d::DECIMAL(10, 2)``, if that is the type of the column; so do
                          INSERT and MERGE
    sum(f)                of FLOATs a DOUBLE
    f = 0.1               compared as FLOATs

PostgreSQL's own casts keep 15 digits of a DOUBLE and 6 of a FLOAT, its sum of FLOATs is one, and it
compares a FLOAT as a DOUBLE, which 0.1 is not.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Column, Table
from journal.sql.builders import call
from journal.sql.sql import data_type
from rewriter.name_resolution import table_name
from rewriter.reading.duckdb_checks import MOMENTS, check_bytes, day_of_text
from rewriter.reading.duckdb_types import FLOATS, DuckDBTypes
from rewriter.reading.value_types import KIND

_SCALE_DEFAULT = 3
"""Of a DECIMAL without digits, which is DECIMAL(18, 3)."""
COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Nullif, exp.Case),
)
_EXACT = frozenset({"DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_NARROW = FLOATS - {"DOUBLE"}
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
    if types.kind_of(value) not in _NARROW:
        return None
    wide: exp.Expr = exp.cast(value.copy(), "DOUBLE")
    return exp.Sum(this=exp.Distinct(expressions=[wide]) if distinct else wide)


def narrow_sides(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A sum or product of a FLOAT and an exact number, which PostgreSQL makes a DOUBLE of."""
    if types.kind_of(node) != "FLOAT":
        return None
    made = node.copy()
    for name in ("this", "expression"):
        if types.kind_of(node.args[name]) not in _NARROW:
            made.set(name, exp.cast(made.args[name], "FLOAT"))
    return None if made == node else made


def compared(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A comparison of a FLOAT with an exact number."""
    sets = isinstance(node.parent, exp.Update | exp.OnConflict) and node.arg_key == "expressions"
    if sets or (isinstance(node, exp.Case) and not node.this):
        return None
    kinds = [types.kind_of(value) for value in _compared_values(node)]
    if not _NARROW & {*kinds} or not {*kinds} <= _NARROW | _EXACT:
        return None
    made = node.copy()
    changed = False
    for value, kind in zip(_compared_values(made), kinds, strict=True):
        if kind not in _NARROW or isinstance(value.unnest(), exp.Binary):
            value.replace(exp.cast(value.copy(), "FLOAT"))
            changed = True
    return made if changed else None


def _compared_values(node: exp.Expr) -> list[exp.Expr]:
    """The values that are compared with each other."""
    if isinstance(node, exp.Case):
        others = [part.this for part in node.args["ifs"]]
    elif isinstance(node, exp.Between):
        others = [node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In):
        query = node.args.get("query")
        inner = query.unnest() if isinstance(query, exp.Expr) else None
        is_one = isinstance(inner, exp.Select) and len(inner.expressions) == 1
        others = [inner.expressions[0].unalias()] if inner and is_one else node.expressions
    else:
        others = [node.expression]
    return [value for value in (node.this, *others) if not isinstance(value, exp.Null)]


def assigned(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An UPDATE, INSERT or MERGE whose values for columns of exact numbers are such numbers.

    Texts for columns of moments are days as DuckDB reads them; raises MOMENT_TEXT for others.
    """
    found = {
        place: _day_of(value, to) or exact_of(value, to, types)
        for place, (value, to) in enumerate(_values_of(node, types))
    }
    if not any(found.values()):
        return None
    made = node.copy()
    for place, (value, _) in enumerate(_values_of(made, types)):
        number = found[place]
        if number is not None:
            value.replace(number)
    return made


def _day_of(value: exp.Expr, to: exp.DataType) -> exp.Expr | None:
    """A text as the day or moment that it is for DuckDB; None for all that may stay."""
    if value.is_string and to.this is exp.DType.VARBINARY:
        check_bytes(value.name, value)
    if not value.is_string or to.this not in MOMENTS:
        return None
    said = day_of_text(value.name, value)
    return None if said is None else exp.Literal.string(said)


def _values_of(node: exp.Expr, types: DuckDBTypes) -> list[tuple[exp.Expr, exp.DataType]]:
    """The values that a statement assigns, and the types of their columns."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if not isinstance(target, exp.Table) or not isinstance(target.this, exp.Identifier):
        return []
    table = types.context.catalog.get(table_name(target, types.context))
    if not isinstance(table, Table):
        return []
    given = [value for part in _parts_of(node) for value in _given(part, table)]
    return [(value, data_type(stored.type)) for stored, value in given if stored is not None]


def _parts_of(node: exp.Expr) -> list[exp.Expr]:
    """What assigns values within a statement: it itself, ON CONFLICT, the actions of a MERGE."""
    if isinstance(node, exp.Merge):
        return [when.args["then"] for when in node.args["whens"].expressions]
    conflict = node.args.get("conflict")
    return [node] if conflict is None else [node, conflict]


def _given(part: exp.Expr, table: Table) -> list[tuple[Column | None, exp.Expr]]:
    """The columns that a part assigns to, and their values."""
    if isinstance(part, exp.Update | exp.OnConflict):
        pairs = [e for e in part.expressions if isinstance(e, exp.EQ)]
        return [(table.find(pair.this.name), pair.expression) for pair in pairs]
    if isinstance(part, exp.Insert) and isinstance(part.expression, exp.Tuple):
        names = part.this.expressions if isinstance(part.this, exp.Tuple) else table.columns
        columns = [table.find(name.name) for name in names]
        return list(zip(columns, part.expression.expressions, strict=False))
    if isinstance(part, exp.Insert):
        return list(zip(*_columns_and_outputs(part, table), strict=False))
    return []


def _columns_and_outputs(
    node: exp.Expr, table: Table
) -> tuple[list[Column | None], list[exp.Expr]]:
    """The columns of an INSERT and the outputs of its query, if these stand for its rows alone."""
    query = node.expression
    if isinstance(query, exp.Values):
        listed = _listed_columns(node, table)
        rows = [row.expressions for row in query.expressions if isinstance(row, exp.Tuple)]
        values = [value for row in rows for value in row]
        fits = all(len(row) == len(listed) for row in rows)
        return (listed * len(rows), values) if fits else ([], [])
    if not isinstance(query, exp.Select):
        return [], []
    if query.args.get("distinct") or query.args.get("group") or any(query.find_all(exp.Star)):
        return [], []
    outputs = query.expressions
    if node.args.get("by_name"):
        named = [table.find(output.alias_or_name) for output in outputs]
        return named, [output.unalias() for output in outputs]
    return _listed_columns(node, table), [output.unalias() for output in outputs]


def _listed_columns(node: exp.Expr, table: Table) -> list[Column | None]:
    """The columns that an INSERT lists, else those of the table."""
    if isinstance(node.this, exp.Schema):
        return [table.find(name.name) for name in node.this.expressions]
    return [*table.columns]
