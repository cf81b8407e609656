"""Types of columns that PostgreSQL tells from others which stores keep as the same. Pure.

CREATE TABLE t (a varchar, b json)      kept as text and jsonb, shown by pg_catalog as written
CREATE TABLE t (a char(5))              kept as text without blanks at its end
CREATE TABLE t (a timestamptz(2))       kept as timestamptz, and its values with two digits
"""

from __future__ import annotations

from sqlglot import exp

SPELLED = "spelled"
"""What holds the name of such a type, among the meta data of its node."""
_MOMENTS = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIME, exp.DType.TIMETZ})
BLANK_PADDED = "bpchar"
"""What PostgreSQL calls CHAR(n), as ``SPELLED`` has it."""
_NAMES = {
    exp.DType.VARCHAR: "varchar",
    exp.DType.JSON: "json",
    **dict.fromkeys((exp.DType.CHAR, exp.DType.NCHAR, exp.DType.BPCHAR), BLANK_PADDED),
}


def mark_spelled_types(ast: exp.Expr) -> None:
    """Note for the columns of a definition what PostgreSQL calls their types, in place."""
    for node in ast.find_all(exp.ColumnDef, exp.AlterColumn):
        kind = node.args.get("kind" if isinstance(node, exp.ColumnDef) else "dtype")
        name = spelled_name(kind) if isinstance(kind, exp.DataType) else None
        if isinstance(kind, exp.DataType) and name is not None:
            kind.meta[SPELLED] = name


def spelled_name(kind: exp.DataType) -> str | None:
    """What PostgreSQL calls a type that stores do not tell from another; None for others."""
    lists = ""
    while kind.is_type(exp.DType.ARRAY) and kind.expressions:
        kind, lists = kind.expressions[0], "[]"
    if kind.this in _MOMENTS and kind.expressions and not lists:
        digits = kind.expressions[0].name
        return f"{kind.this.value.lower()}({digits})" if digits.isdigit() else None
    found = _NAMES.get(kind.this) if isinstance(kind.this, exp.DType) else None
    return None if found is None else found + lists
