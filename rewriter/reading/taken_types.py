"""What PostgreSQL's functions and operators take at a place, and what some functions give. Pure.

now() + ?, i * ?               an interval, and a number
jsonb_set(j, ?, ?)             a path, and JSON
array_position(l, ?)           what the list holds
lag(a, 1, ?)                   what ``a`` is

Types are the gateway's names; None stands for a text, and for what is not known.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.syntax.postgres_names import postgres_name

AS_WRITTEN = "json"
"""The type of a parameter for a column that was declared ``json``, which keeps its text."""
TypeOf = Callable[[exp.Expr], str | None]
_TEXT, _WHOLE, _TRUTH, _JSON, _PATH = "VARCHAR", "INTEGER", "BOOLEAN", "JSON", "VARCHAR[]"
_ROUGH = "DOUBLE"
_FIRST, _ELEMENT = "of the first", "of its elements"
_MOMENTS = ("TIMESTAMP", "TIME")
_CHANGED = (_JSON, _PATH, _JSON, _TRUTH, _TEXT)
_OF_ONE = (
    *("array_elements", "array_elements_text", "each", "each_text", "array_length", "typeof"),
    *("to_record", "to_recordset", "strip_nulls", "object_keys", "pretty"),
)
_TAKEN: dict[str, tuple[str | None, ...]] = {
    **dict.fromkeys(("left", "right", "repeat"), (_TEXT, _WHOLE)),
    "pad": (_TEXT, _WHOLE, _TEXT),
    "split_part": (_TEXT, _TEXT, _WHOLE),
    **dict.fromkeys(("sqrt", "exp", "ln", "cbrt", "degrees", "radians", "pg_sleep"), (_ROUGH,)),
    **dict.fromkeys(("percentile_cont", "percentile_disc"), (_ROUGH,)),
    "width_bucket": (_FIRST, _FIRST, _FIRST, _WHOLE),
    "make_date": (_WHOLE, _WHOLE, _WHOLE),
    "make_timestamp": (*(_WHOLE,) * 5, _ROUGH),
    "array_length": (None, _WHOLE),
    **dict.fromkeys(("array_position", "array_positions", "array_remove"), (None, _ELEMENT)),
    "array_replace": (None, _ELEMENT, _ELEMENT),
    **dict.fromkeys(("jsonb_set", "jsonb_insert", "jsonb_set_lax"), _CHANGED),
    **{f"jsonb_{name}": (_JSON,) for name in _OF_ONE},
    **{f"json_{name}": (AS_WRITTEN,) for name in _OF_ONE},
    **dict.fromkeys(("jsonb_populate_record", "jsonb_populate_recordset"), (None, _JSON)),
    **dict.fromkeys(("json_populate_record", "json_populate_recordset"), (None, AS_WRITTEN)),
    "date_bin": ("INTERVAL", "TIMESTAMPTZ", "TIMESTAMPTZ"),
    "age": (_FIRST, _FIRST),
    **dict.fromkeys(("lag", "lead"), (None, _WHOLE, _FIRST)),
    "ntile": (_WHOLE,),
    "nth_value": (None, _WHOLE),
    "encode": ("BLOB", _TEXT),
    **dict.fromkeys(("sha224", "sha256", "sha384", "sha512"), ("BLOB",)),
}
_GIVEN: dict[str, str] = {
    **dict.fromkeys(("jsonb_array_length", "json_array_length", "cardinality"), _WHOLE),
    **dict.fromkeys(("array_length", "array_upper", "array_lower", "array_position"), _WHOLE),
    **dict.fromkeys(("octet_length", "char_length", "bit_length", "ascii"), _WHOLE),
    **dict.fromkeys(("row_number", "rank", "dense_rank"), "BIGINT"),
    **dict.fromkeys(("sqrt", "exp", "ln", "random", "cbrt", "percent_rank", "cume_dist"), _ROUGH),
    **dict.fromkeys(("clock_timestamp", "statement_timestamp"), "TIMESTAMPTZ"),
    "transaction_timestamp": "TIMESTAMPTZ",
    **dict.fromkeys(("bool_and", "bool_or", "every", "starts_with"), _TRUTH),
    "date": "DATE",
}
_ROUNDED = (exp.Round, exp.Ceil, exp.Floor, exp.Trunc, exp.Avg, exp.Pow)
"""What gives NUMERICs of such, and else a number that is rough."""
_SECONDS = "secs"


def taken_by(call: exp.Expr, node: exp.Expr, type_of: TypeOf) -> str | None:
    """The type of what a function takes in the place of ``node``."""
    if isinstance(call, exp.Kwarg):
        # A function of a user's takes what it says.
        whole = None if not isinstance(call.parent, exp.MakeInterval) else _WHOLE
        return _ROUGH if whole and call.this.name.lower() == _SECONDS else whole
    if isinstance(call, exp.Round | exp.Trunc) and call.args.get("decimals") is not None:
        return _WHOLE if node.arg_key == "decimals" else "DECIMAL"
    if isinstance(call, exp.UnixToTime):
        return _ROUGH
    if isinstance(call, exp.SHA2Digest):
        return "BLOB"
    if isinstance(call, exp.Pow):
        other = call.expression if node is call.this else call.this
        return "DECIMAL" if (type_of(other) or "").startswith("DECIMAL") else _ROUGH
    if isinstance(call, exp.ExplodingGenerateSeries | exp.GenerateSeries):
        return _of_series(call, node, type_of)
    if isinstance(call, exp.TimestampTrunc):
        return "TIMESTAMPTZ"
    if isinstance(call, exp.Bracket):
        is_list = (type_of(call.this) or "").endswith("]")
        return _WHOLE if is_list and node is not call.this else None
    if not isinstance(call, exp.Func):
        return None
    name = "array_position" if isinstance(call, exp.ArrayPosition) else postgres_name(call) or ""
    taken = _TAKEN.get(name)
    if taken is None:
        return None
    arguments = list(call.iter_expressions())
    place = next((p for p, one in enumerate(arguments) if one is node), len(taken))
    kind = taken[place] if place < len(taken) else None
    if kind == _FIRST:
        kinds = (type_of(one) for one in arguments if one is not node)
        return next((kind for kind in kinds if kind is not None), None)
    return (type_of(arguments[0]) or "").removesuffix("[]") or None if kind == _ELEMENT else kind


def _of_series(call: exp.Expr, node: exp.Expr, type_of: TypeOf) -> str | None:
    ends = [call.args.get(name) for name in ("start", "end")]
    kinds = (type_of(end) for end in ends if end is not None and end is not node)
    kind = next((kind for kind in kinds if kind is not None), None)
    is_step = node.arg_key == "step"
    return "INTERVAL" if is_step and (kind or "").startswith(_MOMENTS) else kind


def operand_of(operation: exp.Expr, node: exp.Expr, other: str | None) -> str | None:
    """The type of one side of an operator, from the type of the other: mostly the same."""
    if other is None:
        return None
    if isinstance(operation, exp.Mul | exp.Div) and other == "INTERVAL":
        return _ROUGH
    if isinstance(operation, exp.Add) and other.startswith(_MOMENTS):
        return "INTERVAL"
    if isinstance(operation, exp.Sub) and other == _JSON and node is operation.expression:
        return _TEXT
    return other


def given_by(node: exp.Expr, type_of: TypeOf) -> str | None:
    """The type of what a function or a condition gives."""
    if isinstance(node, exp.JSONExtractScalar | exp.JSONBExtractScalar):
        return _TEXT
    if isinstance(node, exp.Bracket | exp.Any | exp.All):
        kind = type_of(node.this.unnest()) or ""
        return kind.removesuffix("[]") if kind.endswith("[]") else None
    if isinstance(node, exp.Predicate | exp.Not | exp.Connector):
        return _TRUTH
    if isinstance(node, _ROUNDED):
        kind = type_of(node.this) or ""
        if isinstance(node, exp.Avg) and kind in {"SMALLINT", "INTEGER", "INT", "BIGINT"}:
            return "DECIMAL"
        return "DECIMAL" if kind.startswith("DECIMAL") else _ROUGH
    if isinstance(node, exp.AtTimeZone):
        zoned = (type_of(node.this) or "").startswith(("TIMESTAMPTZ", "TIMESTAMP WITH"))
        return "TIMESTAMP" if zoned else "TIMESTAMPTZ"
    if isinstance(node, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        return type_of(node.this)
    if isinstance(node, exp.ArrayPosition):
        return _WHOLE
    if not isinstance(node, exp.Func):
        return None
    name = postgres_name(node) or ""
    if name == "date_trunc" and node.expressions:
        return type_of(node.expressions[-1])
    return _GIVEN.get(name)
