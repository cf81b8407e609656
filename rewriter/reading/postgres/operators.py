"""Operators and casts that PostgreSQL takes by the types of their operands. Pure.

a || 3, 0 || a, a || '{7,8}'    of an array: its elements and the others
a = '{7,8}'                     the array of that text, as of the others' type
a || NULL                       the array, where other stores say NULL
x::varchar(2)                   the first two characters, of CHAR(2) without blanks at the end
d > '1/8/1999'                  of a date: the constant is read as PostgreSQL reads dates
concat(b)                       of a BOOLEAN: t or f, where a cast to text gives true or false
round(f)                        of a floating-point number: halves go to the even one
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.array_text import array_of_text
from journal.sql.builders import call, fill, variable
from journal.sql.moment_text import AS_POSTGRES
from journal.sql.typed_constants import truth_of, typed_constant
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.bytes import bytes_of
from rewriter.reading.postgres.rough_numbers import is_float
from rewriter.reading.postgres.texts import has_own_text, joined_text, text_of
from rewriter.reading.value_types import UNTOLD, ValueTypes

JOINING = (exp.Concat, exp.ConcatWs)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_COMPARED = (*_COMPARISONS, exp.Between, exp.In)
KINDS = (exp.DPipe, exp.Cast, exp.Round, exp.Literal, *JOINING, *_COMPARISONS)
_TEXTS = frozenset({exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.NVARCHAR, exp.DType.NCHAR})
_NO_TEXTS = frozenset(
    "TINYINT SMALLINT INTEGER INT BIGINT HUGEINT DECIMAL FLOAT REAL DOUBLE BOOLEAN DATE TIME"
    " TIMESTAMP TIMESTAMPTZ INTERVAL UUID".split()
)
"""Types of which || takes no two."""
_ALONE = {exp.DType.CHAR: "1", exp.DType.NCHAR: "1"}
"""How long a text is whose type says nothing of it."""


def concerns_operators(node: exp.Expr) -> bool:
    """True for an operator whose meaning may differ."""
    if isinstance(node, exp.Cast):
        return _length(node) is not None or _truth(node) is not None
    if isinstance(node, exp.Literal):
        return AS_POSTGRES in node.meta and isinstance(node.parent, _COMPARED)
    if compares_array_text(node):
        return True
    return isinstance(node, exp.DPipe) or (
        isinstance(node, exp.Round) and node.args.get("decimals") is None
    )


def compares_array_text(node: exp.Expr) -> bool:
    """True for a comparison with what may be the text of an array."""
    return isinstance(node, _COMPARISONS) and any(
        is_array_text(side) for side in (node.this, node.expression)
    )


def spell_operator(node: exp.Expr, types: ValueTypes) -> None:
    """Put what means the same in the place of such an operator."""
    if isinstance(node, exp.Cast):
        truth = _truth(node)
        if truth is not None:
            node.replace(exp.Boolean(this=truth))
        else:
            _cut(node, types)
    elif isinstance(node, JOINING):
        spell_texts(node.expressions, types)
    elif isinstance(node, exp.Literal):
        _read_as_compared(node, types)
    elif isinstance(node, _COMPARISONS):
        for text, other in ((node.this, node.expression), (node.expression, node.this)):
            kind = types.of(other).kind or ""
            if is_array_text(text) and kind.endswith("[]"):
                text.replace(read_array(text, kind))
    elif isinstance(node, exp.Round):
        if is_float(node.this, types):
            double = exp.cast(node.this, "DOUBLE", dialect="duckdb")
            node.replace(call("round_even", double, 0))
    else:
        _join(node, types)


def spell_texts(parts: Sequence[exp.Expr], types: ValueTypes) -> None:
    """Put PostgreSQL's texts in the place of values that concat() or format() joins."""
    for part in list(parts):
        made = joined_text(part, types)
        if made is not None:
            part.replace(made)


def parts_of_own_text(node: exp.Expr, types: ValueTypes) -> list[exp.Expr]:
    """The arguments of a call of concat whose texts are not those of the store."""
    return [part for part in node.expressions if joined_text(part, types) is not None]


def _read_as_compared(constant: exp.Literal, types: ValueTypes) -> None:
    """A constant that is compared with a date is one, by PostgreSQL's reading."""
    beside = constant.parent
    if isinstance(beside, _COMPARED):
        other = _value_beside(beside) if constant.arg_key == "this" else beside.this
        constant.replace(typed_constant(constant, types.of(other).kind or ""))


def _value_beside(node: exp.Expr) -> exp.Expr:
    """What the first value of a comparison, BETWEEN or IN is compared with."""
    if isinstance(node, exp.Between):
        found: exp.Expr = node.args["low"]
    elif isinstance(node, exp.In):
        found = next(iter(node.expressions), None) or node.args["query"]
    else:
        found = node.expression
    return found


def _length(cast: exp.Cast) -> int | None:
    """How many characters a cast leaves of a text, or of each element; None for other casts."""
    kind = cast.to
    if kind.is_type(exp.DType.ARRAY) and kind.expressions:
        element = kind.expressions[0]
        is_cut = isinstance(cast.this, exp.Transform) or cast.this.is_string
        size = element.expressions[0].name if element.expressions else _ALONE.get(element.this, "")
        return int(size) if element.this in _TEXTS and size.isdigit() and not is_cut else None
    if kind.this not in _TEXTS or isinstance(cast.this, exp.Left | exp.Trim):
        return None
    size = kind.expressions[0].name if kind.expressions else _ALONE.get(kind.this, "")
    if not size.isdigit() or (cast.this.is_string and _fits(cast.this.name, kind, int(size))):
        return None
    return int(size)


def _fits(text: str, kind: exp.DataType, size: int) -> bool:
    """True for a text that a cast leaves as it is."""
    return len(text) <= size and not (kind.this in _ALONE and text.endswith(" "))


def _truth(cast: exp.Cast) -> bool | None:
    """What a text means that is cast to BOOLEAN."""
    is_truth = cast.to.is_type(exp.DType.BOOLEAN) and cast.this.is_string
    return truth_of(cast.this.name) if is_truth else None


def _cut(cast: exp.Cast, types: ValueTypes) -> None:
    """An explicit cast cuts a text that is too long, as SQL says; CHAR(n) has no blanks behind."""
    is_native = types.context.capabilities.postgres_functions
    kind = None if is_native else types.of(cast.this).kind
    length = _length(cast) or 0
    if not cast.to.is_type(exp.DType.ARRAY):
        cast.set("this", _first_part(cast.this, kind, cast.to, length))
    elif isinstance(cast.this, exp.Array):
        for element in list(cast.this.expressions):
            of = None if is_native else types.of(element).kind
            element.replace(_first_part(element, of, cast.to.expressions[0], length))
    else:
        of = kind[:-2].replace(UNTOLD, "VARCHAR") if kind and kind.endswith("[]") else None
        part = _first_part(variable("e"), of, cast.to.expressions[0], length)
        # PostgreSQL reads the text of an array itself.
        array = exp.cast(cast.this, "VARCHAR[]", dialect="duckdb") if is_native else cast.this
        cast.set("this", fill("list_transform(a, LAMBDA e: t)", a=array, t=part))


def cut_text(cast: exp.Cast) -> exp.Expr:
    """What a cast to a type of texts leaves of a text."""
    length = _length(cast)
    return cast.this if length is None else _first_part(cast.this, "VARCHAR", cast.to, length)


def _first_part(value: exp.Expr, kind: str | None, to: exp.DataType, length: int) -> exp.Expr:
    """As many characters of a value of a kind as a type of texts keeps."""
    text = value.copy() if value.is_string else text_of(value, kind)
    cut: exp.Expr = exp.Left(this=text, expression=exp.Literal.number(length))
    return fill("rtrim(t, ' ')", t=cut) if to.this in _ALONE else cut


def _join(node: exp.Expr, types: ValueTypes) -> None:
    left, right = node.this, node.expression
    kinds = [types.of(side).kind for side in (left, right)]
    depths = [(kind or "").count("[") for kind in kinds]
    if not any(depths):
        if all((kind or "").partition("(")[0] in _NO_TEXTS for kind in kinds):
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f"operator does not exist: {kinds[0]} || {kinds[1]}",
                advice="cast one of them to a text",
                position=position_of(node),
            )
        if "BLOB" in kinds and all(k == "BLOB" or s.is_string for s, k in _sides(node, kinds)):
            for side in (left, right):
                side.replace(bytes_of(side))
            return
        for side, kind in _sides(node, kinds):
            if has_own_text(kind):
                side.replace(text_of(side, kind))
        return
    for place, (side, other) in enumerate(((left, kinds[1]), (right, kinds[0]))):
        bare = side.unnest() if isinstance(side, exp.Paren) else side
        if isinstance(bare, exp.Null):
            node.replace(right if place == 0 else left)
            return
        if is_array_text(bare):
            bare.replace(read_array(bare, other or ""))
            depths[place] = depths[1 - place]
            kinds[place] = other
    left, right = node.this, node.expression
    if depths[0] == depths[1]:
        node.replace(joined_arrays(left, right))
    elif depths[0] == depths[1] + 1 and _is_element(right, kinds[1]):
        node.replace(exp.ArrayAppend(this=left, expression=right))
    elif depths[1] == depths[0] + 1 and _is_element(left, kinds[0]):
        node.replace(exp.ArrayPrepend(this=right, expression=left))


def _sides(node: exp.Expr, kinds: list[str | None]) -> list[tuple[exp.Expr, str | None]]:
    return list(zip((node.this, node.expression), kinds, strict=True))


def joined_arrays(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The elements of two arrays, of which one may be NULL; NULL if both are."""
    made = exp.ArrayConcat(this=left.copy(), expressions=[right.copy()])
    if any(isinstance(side, exp.Array) for side in (left, right)):
        return made
    return fill(
        "CASE WHEN l IS NOT NULL OR r IS NOT NULL THEN made END", l=left, r=right, made=made
    )


def is_array_text(node: exp.Expr) -> bool:
    """True for a constant that may be the text of an array."""
    return node.is_string and bool(node.name.lstrip().startswith("{"))


def read_array(text: exp.Expr, kind: str) -> exp.Expr:
    """The array of such a text, of the type of the array beside it."""
    if UNTOLD in kind:
        kind = "VARCHAR" + kind[len(UNTOLD) :]
    of = exp.DataType.build(kind, dialect="duckdb")
    return exp.cast(array_of_text(text.name, of), of.copy())


def _is_element(node: exp.Expr, kind: str | None) -> bool:
    """True for what is known to be a value of one element."""
    return kind is not None or isinstance(node, exp.Literal | exp.Boolean | exp.Parameter)
