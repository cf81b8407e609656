"""What DuckDB refuses and PostgreSQL takes, in a statement of DuckDB's dialect. Pure.

SELECT, SELECT FROM t        without a list
PIVOT t ON 'x' USING ..      on a constant
1::DECIMAL(40)               a DECIMAL has 38 digits at most
'01/02/2024'::DATE           a day is written from its year
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.truths import check_collation

_DIGITS_MAX = 38
_DAY = re.compile(r"\s*(\d{1,4})([-/ \\])(\d{1,2})\2(\d{1,2})(?!\d)(.*)", re.S)
_OTHER_DAY = re.compile(
    r"\s*(epoch|-?infinity)\s*|\s*([+-]\d+|\d{5,7})-\d.*|.*\(BC\).*", re.S | re.I
)
_SIGNED_DAY = re.compile(r"\s*([-+]?\d+)-(\d{1,2})-(\d{1,2})(?!\d)((?! ?\().*)", re.S)
_MICROSECONDS = re.compile(r"(:\d\d?\.\d{6})\d+")
"""Digits beyond are cut off; PostgreSQL rounds."""
_ESCAPED = re.compile(r"\\x[0-9A-Fa-f]{2}")
MOMENTS = frozenset(
    {exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ}
)
CHECKED: tuple[type[exp.Expr], ...] = (
    exp.Select,
    exp.Pivot,
    exp.DataType,
    exp.Cast,
    exp.CollateColumnConstraint,
    exp.GroupConcat,
    exp.PercentileCont,
    exp.PercentileDisc,
)


def check_node(node: exp.Expr) -> None:
    """Raise the error that DuckDB has for a SELECT, a PIVOT or a type."""
    match node:
        case exp.Select() if not node.expressions and not isinstance(node.parent, exp.Exists):
            raise _refused(
                Code.SYNTAX, "SELECT clause without selection list", "list the columns", node
            )
        case exp.Select() if node.args.get("qualify") and not _has_window(node):
            said = "at least one window function must appear in the SELECT list or QUALIFY"
            raise _refused(Code.BIND, said, "write HAVING, or WHERE around the query", node)
        case exp.Pivot() if not node.args.get("unpivot"):
            _check_choices(node)
            for on in node.expressions:
                if isinstance(on, exp.Literal | exp.Null):
                    constant = on.sql(dialect="duckdb")
                    said = f'Cannot pivot on constant value "{constant}"'
                    raise _refused(Code.SYNTAX, said, "name a column", node)
        case exp.DataType() if node.this is exp.DType.DECIMAL:
            _check_digits(node)
        case exp.Cast() if type(node) is exp.Cast and node.to.this is exp.DType.VARBINARY:
            if node.this.is_string:
                check_bytes(node.this.name, node)
        case exp.CollateColumnConstraint():
            check_collation(node)
        case exp.GroupConcat():
            _check_constant(node.args.get("separator"), "the separator of string_agg")
        case exp.PercentileCont() | exp.PercentileDisc():
            place = node.args.get("expression")
            place = place.this if isinstance(place, exp.Order) else place
            _check_constant(place, "the place of a quantile")
            if isinstance(place, exp.Null):
                raise _refused(Code.BIND, "the place of a quantile is NULL", "write 0.5", node)


def _check_constant(value: exp.Expr | None, what: str) -> None:
    if value is not None and value.find(exp.Column, exp.Rand) is not None:
        raise _refused(Code.BIND, f"{what} must be a constant", "write it there", value)


def check_bytes(text: str, node: exp.Expr) -> None:
    r"""Raise DATA for a text that is no BLOB: ASCII, and ``\xNN`` for all other bytes."""
    if not text.isascii() or "\\" in _ESCAPED.sub("", text):
        raise PalimpsestError(
            Code.DATA,
            f'a BLOB cannot be read from the text "{text}"',
            advice=r"write \xNN for a backslash, and for each byte that is no ASCII",
            position=position_of(node),
        )


def day_of_text(value: str, node: exp.Expr) -> str | None:
    """A text as DuckDB reads it as a day or a moment; None for one that means the same already.

    Raises MOMENT_TEXT for a text that is none to DuckDB.
    """
    value, whole = _MICROSECONDS.sub(r"\1", value), value
    found = _DAY.fullmatch(value)
    if found is not None:
        year, _, month, day, rest = found.groups()
        said = f"{int(year):04d}-{int(month):02d}-{int(day):02d}{rest}"
        if int(year):
            return None if said == whole else said
    signed = _SIGNED_DAY.fullmatch(value)
    if signed is not None and int(signed[1]) <= 0:
        year, month, day, rest = signed.groups()
        return f"{1 - int(year):04d}-{int(month):02d}-{int(day):02d}{rest} BC"
    if _OTHER_DAY.fullmatch(value):
        return None
    raise PalimpsestError(
        Code.MOMENT_TEXT,
        f'invalid date field format: "{value}", expected format is (YYYY-MM-DD)',
        advice="write it as YYYY-MM-DD HH:MM:SS",
        position=position_of(node),
    )


def is_moment_text(node: exp.Expr) -> bool:
    """True for the cast of a text that is written out to a day or a moment."""
    return type(node) is exp.Cast and node.this.is_string and node.to.this in MOMENTS


def _has_window(select: exp.Select) -> bool:
    parts = (select.args["qualify"], *select.expressions)
    return any(part.find(exp.Window) is not None for part in parts)


def _check_choices(pivot: exp.Pivot) -> None:
    """Raise for a list of values that is empty, or has one of them twice."""
    for choice in [*pivot.expressions, *(pivot.args.get("fields") or ())]:
        if not isinstance(choice, exp.In) or any(choice.args.get(p) for p in ("query", "field")):
            continue
        values = [value.unalias() for value in choice.expressions]
        if not values:
            raise _refused(Code.SYNTAX, "PIVOT .. IN () has no values", "list them", pivot)
        for place, value in enumerate(values):
            if value in values[:place]:
                shown = value.sql(dialect="duckdb")
                said = f"The value {shown} was specified multiple times in the IN clause"
                raise _refused(Code.BIND, said, "list each value once", pivot)


def _check_digits(kind: exp.DataType) -> None:
    numbers = [part.this for part in kind.expressions if isinstance(part, exp.DataTypeParam)]
    if any(isinstance(number, exp.Literal) and number.is_string for number in numbers):
        said = 'Type "DECIMAL" does not accept such type parameters'
        raise _refused(Code.BIND, said, "write numbers: DECIMAL(18, 3)", kind)
    if numbers and isinstance(numbers[0], exp.Literal) and numbers[0].is_int:
        if not 1 <= int(numbers[0].name) <= _DIGITS_MAX:
            said = "DECIMAL type width must be between 1 and 38"
            raise _refused(Code.BIND, said, "take a DOUBLE, or fewer digits", kind)


def _refused(code: Code, what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(code, what, advice=advice, position=position_of(node))
