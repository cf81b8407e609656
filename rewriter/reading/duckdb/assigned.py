"""Values that statements of DuckDB's dialect assign to columns of a PostgreSQL store. Pure.

UPDATE t SET n = d          as ``d::DECIMAL(10, 2)``, if that is the type of the column
INSERT INTO t (s) VALUES ([1, 2]), (1.0::DOUBLE)      the texts [1, 2] and 1.0
UPDATE t SET k = '7.6'      8
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Column, Table
from journal.sql.sql import data_type
from rewriter.name_resolution import table_name
from rewriter.reading.duckdb.casts import cast_value
from rewriter.reading.duckdb.checks import MOMENTS, check_bytes, day_of_text
from rewriter.reading.duckdb.types import DuckDBTypes


def assigned(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An UPDATE, INSERT or MERGE whose values are what DuckDB's casts to their columns give.

    Raises MOMENT_TEXT for texts that are no days, DATA for texts that are no BLOBs.
    """
    found = {
        place: _assigned_value(value, to, types)
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


def _assigned_value(value: exp.Expr, to: exp.DataType, types: DuckDBTypes) -> exp.Expr | None:
    """A value as a cast to the type of its column makes it; None for all that may stay."""
    if value.is_string and to.this is exp.DType.VARBINARY:
        check_bytes(value.name, value)
    if value.is_string and to.this in MOMENTS:
        said = day_of_text(value.name, value)
        return None if said is None else exp.Literal.string(said)
    return cast_value(value, to, types)


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
