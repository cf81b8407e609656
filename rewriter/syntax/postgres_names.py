"""What PostgreSQL calls an output without an alias. Pure.

Source: ``FigureColname`` of its parser.
"""

from __future__ import annotations

from sqlglot import exp

_TYPES = {
    "INT": "int4", "BIGINT": "int8", "SMALLINT": "int2", "DOUBLE": "float8", "FLOAT": "float4",
    "BOOLEAN": "bool", "DECIMAL": "numeric", "TEXT": "text", "VARCHAR": "varchar", "CHAR": "bpchar",
    "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz", "TIMETZ": "timetz",
    "VARBINARY": "bytea",
}  # fmt: skip
_CALLS: dict[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentVersion: "version",
    exp.DateTrunc: "date_trunc",
    exp.Exists: "exists",
    exp.Explode: "unnest",
    exp.ExplodingGenerateSeries: "generate_series",
    exp.ArrayConcat: "array_cat",
    exp.ArraySize: "array_length",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
    exp.DateFromParts: "make_date",
    **dict.fromkeys((exp.FromBase64, exp.Unhex), "decode"),
    exp.GroupConcat: "string_agg",
    exp.Hex: "to_hex",
    exp.JSONArrayAgg: "json_agg",
    exp.JSONBObjectAgg: "jsonb_object_agg",
    exp.JSONObjectAgg: "json_object_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    **dict.fromkeys((exp.LowerHex, exp.ToBase64), "encode"),
    exp.Rand: "random",
    exp.StrToDate: "to_date",
    exp.TimeToStr: "to_char",
    exp.TimestampFromParts: "make_timestamp",
    **dict.fromkeys((exp.StrToTime, exp.UnixToTime), "to_timestamp"),
    exp.Unicode: "ascii",
    exp.Uuid: "gen_random_uuid",
    exp.StrPosition: "position",
    exp.TimestampTrunc: "date_trunc",
}
"""What PostgreSQL calls the column of a call whose node is called otherwise."""


FROM_TEXT = "from text"
"""Marks an array that was written as a text, by which no column is called."""


def postgres_name(node: exp.Expr) -> str | None:
    """What PostgreSQL calls an output without an alias; None for ``?column?``."""
    match node:
        case exp.Column() | exp.Dot():
            return node.name
        case exp.Paren() | exp.Window() | exp.Filter() | exp.Bracket() | exp.Collate():
            return postgres_name(node.this)
        case exp.WithinGroup() | exp.IgnoreNulls():
            return postgres_name(node.this)
        case exp.Cast():
            return _strong_name(node.this) or _type_name(node)
        case exp.Interval():
            return "interval"
        case exp.AtTimeZone():
            return "timezone"
        case exp.Case():
            default = node.args.get("default")
            return (default is not None and _strong_name(default)) or "case"
        case exp.Array():
            return None if FROM_TEXT in node.meta else "array"
        case exp.Tuple():
            return "row"
        case exp.Subquery():
            inner = node.this
            first = inner.expressions[0] if isinstance(inner, exp.Select) else None
            return None if first is None else first.alias or postgres_name(first)
        case exp.Anonymous():
            return node.name.lower()
        case exp.Trim():
            side = str(node.args.get("position") or "BOTH").upper()
            return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "btrim")
        case exp.Extract():
            return "extract"
        case exp.Overlaps():
            return "overlaps"
        case exp.Func() if type(node) in _CALLS:
            return _CALLS[type(node)]
        case exp.Binary() | exp.Unary() | exp.Predicate():
            return None
        case exp.Func():
            return node.sql_name().lower()
        case _:
            return None


def _strong_name(node: exp.Expr) -> str | None:
    """A name that is better than that of a cast's type, or than ``case``."""
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Case | exp.Interval):
        found = postgres_name(inner)
        return None if found in ("case", "interval") else found
    return _strong_name(inner.this) if isinstance(inner, exp.Cast) else postgres_name(inner)


def _type_name(node: exp.Cast) -> str:
    kind = node.to
    while kind.is_type(exp.DType.ARRAY) and kind.expressions:
        kind = kind.expressions[0]
    if kind.this is exp.DType.USERDEFINED:
        named = kind.args.get("kind")
        return named.name if isinstance(named, exp.Expr) else str(named).rpartition(".")[2]
    return (
        _TYPES.get(kind.this.name, kind.this.name.lower())
        if isinstance(kind.this, exp.DType)
        else kind.sql().lower()
    )
