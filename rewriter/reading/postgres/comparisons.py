"""Which values PostgreSQL compares and brings together, for stores that are laxer. Pure.

n = 'abc', n IN ('1', 'x')      beside an INTEGER a constant is one, and this is none: 22P02
n = t, n BETWEEN t AND u        of a number and a text there is no such operator: 42883
SELECT 1 UNION SELECT '2'       the constant is a number
SELECT 1 UNION SELECT t         such columns do not go together: 42804

Other stores cast one side to the type of the other, and may do so row by row. What is not known
to be of a type is left to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.typed_constants import truth_of
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.postgres.type_names import type_name
from rewriter.reading.value_types import UNTOLD, ValueTypes

_WHOLE = frozenset("TINYINT SMALLINT INTEGER INT BIGINT HUGEINT".split())
_NUMBERS = frozenset({*_WHOLE, "DECIMAL", "FLOAT", "REAL", "DOUBLE"})
_TIMES = frozenset({"TIME", "TIMETZ", "TIME WITH TIME ZONE", "INTERVAL"})
_DAYS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"})
_FAMILIES = {
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys(_TIMES, "time"),
    **dict.fromkeys((*_DAYS, "TIMESTAMP_S", "TIMESTAMP_MS"), "day"),
    **dict.fromkeys(("VARCHAR", "TEXT", "CHAR", "BPCHAR", "NVARCHAR"), "text"),
    **{kind: kind for kind in ("BOOLEAN", "UUID", "BLOB", "JSON", "INET")},
}
"""Values of one family are compared; a type without a family is compared with any."""
_WHOLE_TEXT = re.compile(r"\s*[+-]?(\d[\d_]*|0[xob][\da-f_]+)\s*", re.I)
_NUMBER_TEXT = re.compile(
    r"\s*[+-]?((\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?|0[xob][\da-f_]+|nan|inf|infinity)\s*",
    re.I,
)
_UUID_TEXT = re.compile(r"\{?([\da-f]{4}-?){7}[\da-f]{4}\}?", re.I)
_WORDS_OF_DAYS = frozenset(
    "now today tomorrow yesterday epoch infinity -infinity +infinity allballs".split()
)
_PLAIN_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*")


def check_comparisons(tree: exp.Expr, types: ValueTypes) -> None:
    """Raise for a comparison, IN or BETWEEN of values that PostgreSQL does not compare.

    UNKNOWN_FUNCTION for types without an operator, CONVERSION and MOMENT_TEXT for a constant that
    is no value of the type beside it.
    """
    for node in tree.find_all(*_SIGNS, exp.In, exp.Between):
        if not is_assignment(node):
            _check_compared(node, types)


def _check_compared(node: exp.Expr, types: ValueTypes) -> None:
    if isinstance(node, exp.Between):
        others, sign = [node.args["low"], node.args["high"]], ">="
    elif isinstance(node, exp.In):
        query = node.args.get("query")
        others, sign = [*node.expressions, *([] if query is None else [query])], "="
    else:
        others, sign = [node.expression], _SIGNS.get(type(node), "=")
    sure = ValueTypes(types.context, guesses=False)
    first = sure.of(node.this)
    for other in others:
        second = sure.of(other)
        if first.enum is not None or second.enum is not None:
            continue
        _check_constant(other, first.kind)
        _check_constant(node.this, second.kind)
        if _differ(first.kind, second.kind):
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f"operator does not exist: {type_name(first.kind or '')} {sign}"
                f" {type_name(second.kind or '')}",
                advice="cast one of the two to the type of the other",
                position=position_of(node),
            )


def mixes_constants(node: exp.SetOperation, types: ValueTypes) -> bool:
    """True for a set operation of which a constant takes its type from the other side.

    Raises COLUMN_COUNT for other numbers of columns, TYPE_MISMATCH for columns that do not go
    together, CONVERSION for such a constant.
    """
    return next(_typed_outputs(node, types), None) is not None


def type_constants(node: exp.SetOperation, types: ValueTypes) -> None:
    """Give these constants the type that they have, in place."""
    for output, kind in list(_typed_outputs(node, types)):
        constant = output.unalias()
        is_number = _FAMILIES.get(_bare(kind)) == "number"
        if is_number and _PLAIN_NUMBER.fullmatch(constant.name):
            constant.replace(exp.paren(exp.Literal.number(constant.name.strip())))
        else:
            constant.replace(exp.cast(constant.copy(), kind, dialect="duckdb"))


def _typed_outputs(node: exp.SetOperation, types: ValueTypes) -> Iterator[tuple[exp.Expr, str]]:
    sure = ValueTypes(types.context, guesses=False)
    sides = [_outputs(side, sure) for side in (node.this, node.expression)]
    if not sides[0] or not sides[1] or node.args.get("by_name"):
        return
    if len(sides[0]) != len(sides[1]):
        raise PalimpsestError(
            Code.COLUMN_COUNT,
            f"each {node.key.upper()} query must have the same number of columns",
            advice="select NULL where one lacks a column",
            position=position_of(node.expression),
        )
    for (left, first), (right, second) in zip(*sides, strict=True):
        if _differ(first, second):
            names = f"{type_name(first or '')} and {type_name(second or '')}"
            raise PalimpsestError(
                Code.TYPE_MISMATCH,
                f"{node.key.upper()} types {names} cannot be matched",
                advice="cast the columns of one query to the types of the other",
                position=position_of(right),
            )
        for output, beside in ((left, second), (right, first)):
            if _is_text(output) and _family(beside) not in {None, "text"}:
                _check_constant(output.unalias(), beside)
                yield output, beside or ""


def _outputs(side: exp.Expr, types: ValueTypes) -> list[tuple[exp.Expr, str | None]]:
    """What a side selects, and of which type; nothing where a star stands for more.

    Of two queries together: the columns of the first one, of a type that one of them tells.
    """
    while isinstance(side, exp.Subquery):
        side = side.this
    if isinstance(side, exp.SetOperation):
        both = [_outputs(part, types) for part in (side.this, side.expression)]
        pairs = zip(*both, strict=False)
        return [
            (left, _common(left, first, right, second)) for (left, first), (right, second) in pairs
        ]
    outputs = side.expressions if isinstance(side, exp.Select) else []
    if any(output.is_star for output in outputs):
        return []
    return [(output, _kind(output, types)) for output in outputs]


def _common(left: exp.Expr, first: str | None, right: exp.Expr, second: str | None) -> str | None:
    """The type of a column of two queries: constants without another beside them are texts."""
    are_open = all(_is_text(one) or isinstance(one.unalias(), exp.Null) for one in (left, right))
    return "TEXT" if are_open else first or second


def _kind(output: exp.Expr, types: ValueTypes) -> str | None:
    found = types.of(output)
    return None if found.enum is not None else found.kind


def _is_text(output: exp.Expr) -> bool:
    return bool(output.unalias().is_string)


def _differ(first: str | None, second: str | None) -> bool:
    families = [_family(first), _family(second)]
    return None not in families and families[0] != families[1]


def _family(kind: str | None) -> str | None:
    if kind is None or UNTOLD in kind:
        return None
    if kind.endswith("]"):
        return "array"
    return _FAMILIES.get(_bare(kind))


def _bare(kind: str) -> str:
    return kind.partition("(")[0].strip()


def _check_constant(constant: exp.Expr, beside: str | None) -> None:
    """Raise for a text that is certainly no value of a type."""
    if not constant.is_string or beside is None or _is_value(constant.name, _bare(beside)):
        return
    is_moment = _FAMILIES.get(_bare(beside)) in {"day", "time"}
    raise PalimpsestError(
        Code.MOMENT_TEXT if is_moment else Code.CONVERSION,
        f'invalid input syntax for type {type_name(beside)}: "{constant.name}"',
        advice="write a value of that type, or cast the other side",
        position=position_of(constant),
    )


def _is_value(text: str, kind: str) -> bool:
    """False for a text that PostgreSQL does not read as a value of a type."""
    word = text.strip().lower()
    if kind in _WHOLE:
        return _WHOLE_TEXT.fullmatch(text) is not None
    if kind in _NUMBERS:
        return _NUMBER_TEXT.fullmatch(text) is not None
    if kind == "BOOLEAN":
        return truth_of(text) is not None
    if kind == "UUID":
        return _UUID_TEXT.fullmatch(text) is not None
    if kind in _DAYS | _TIMES:
        words = word.split()
        return any(sign.isdigit() for sign in text) or bool({*words[:1]} & _WORDS_OF_DAYS)
    return True


_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
