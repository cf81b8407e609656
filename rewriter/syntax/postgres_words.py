r"""Translates PostgreSQL's array and date texts, UNNEST of several lists, and similar.

All of it in words that every store takes:

'{1,NULL}'::integer[]      becomes  CAST(ARRAY[CAST('1' AS INT), NULL] AS INT[])
'{{1},{2}}'::integer[]     becomes  the same of INT[][]
a = ANY ('{1,2}')          becomes  a IN ('1', '2')
a < ALL ('{1,2}')          becomes  a < '1' AND a < '2'
uuid_generate_v4()         becomes  gen_random_uuid()
DATE '1/8/1999'            becomes  CAST('1999-01-08' AS DATE)
E'a\nb'                    becomes  a constant with that sign in it
f(a, VARIADIC ARRAY[b, c]) becomes  f(a, b, c)
decode(t, 'hex')           becomes  UNHEX(t); so do encode, and base64
FROM UNNEST(a, b) AS t(x)  becomes  FROM (SELECT UNNEST(a) AS x, UNNEST(b) AS unnest_1) AS t
    FLOAT(53)                  becomes  DOUBLE PRECISION
|/ a                       becomes  SQRT(CAST(a AS DOUBLE PRECISION)); so does ||/
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql import bytea
from journal.sql.array_text import array_of_text
from journal.sql.interval_text import plain_interval
from journal.sql.moment_text import AS_POSTGRES
from journal.sql.typed_constants import moment_of_word, reads_otherwise, typed_constant
from rewriter.syntax.grouped_outputs import spell_grouped_outputs
from rewriter.syntax.grouping_sets import spell_group_quantifier
from rewriter.syntax.interval_types import spell_interval_types
from rewriter.syntax.named_outputs import name_inner_outputs
from rewriter.syntax.output_order import spell_ordered_outputs
from rewriter.syntax.postgres_names import FROM_TEXT
from rewriter.syntax.spelled_types import mark_spelled_types

_FLOATS = frozenset({exp.DType.FLOAT, exp.DType.DOUBLE})
_MOMENTS = frozenset({exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ})
_READ = _MOMENTS | _FLOATS | {exp.DType.UUID, exp.DType.TIME, exp.DType.TIMETZ}
_REAL_DIGITS = 24
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_LIKES = (exp.Like, exp.ILike)
_NO_CALLS = (exp.Greatest, exp.Least, exp.Coalesce)
_ARRAY_TYPES = {
    f"_{name}": name
    for name in ("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar")
} | {f"_{name}": name for name in ("date", "timestamp", "timestamptz", "uuid", "json", "jsonb")}
"""The server's own names of types of arrays."""
_PLACE = "line"
"""The parser says where calls stand, and of operators it does not."""
_RANDOM_UUID = "uuid_generate_v4"
"""What the extension uuid-ossp calls ``gen_random_uuid``."""
_UNNAMED = "unnest"
"""What PostgreSQL calls the columns of UNNEST."""


def with_words_spelled_out(ast: exp.Expr) -> exp.Expr:
    """A statement without such words.

    Raises CONVERSION for a text that is no array, OUT_OF_RANGE for a date that there is not.
    """
    spell_interval_types(ast)
    for kind in list(ast.find_all(exp.DataType)):
        if kind.this is exp.DType.USERDEFINED and str(kind.args.get("kind")) in _ARRAY_TYPES:
            element = _ARRAY_TYPES[str(kind.args["kind"])]
            kind.replace(exp.DataType.build(f"{element}[]", dialect="postgres"))
    for escaped in list(ast.find_all(exp.ByteString, exp.RawString)):
        # E'a\b' and $$a$$, which have been read: what is a constant is one, however written.
        escaped.replace(exp.Literal.string(escaped.this))
    for constant in [text for text in ast.find_all(exp.Literal) if text.is_string]:
        if reads_otherwise(constant.name):
            constant.meta[AS_POSTGRES] = True
        _take_out_of_brackets(constant)
    for cast in list(ast.find_all(exp.Cast)):
        text = cast.this
        if cast.is_type(exp.DType.ARRAY) and isinstance(text, exp.Literal) and text.is_string:
            made = array_of_text(text.name, cast.to)
            made.meta[FROM_TEXT] = True
            cast.set("this", made)
            cast.set("to", _as_deep(cast.to, made))
        elif cast.is_type(exp.DType.ARRAY) and isinstance(text, exp.Array):
            cast.set("to", _as_deep(cast.to, text))
        elif isinstance(text, exp.Literal) and text.is_string and _spell_out_moment(cast, text):
            continue
        elif isinstance(text, exp.Literal) and AS_POSTGRES in text.meta:
            text.replace(typed_constant(text, cast.to.this.value if cast.to.this in _READ else ""))
    for last in list(ast.find_all(exp.Variadic)):
        if isinstance(last.parent, _NO_CALLS):
            raise PalimpsestError(
                Code.SYNTAX,
                f'syntax error at or near "variadic": {last.parent.key} is no function',
                advice="write its values, or unnest() the array and take min() or max()",
            )
        _spell_out_arguments(last)
    for call in list(ast.find_all(exp.Decode, exp.Encode)):
        _spell_out_code(call)
    for call in list(ast.find_all(exp.Anonymous)):
        if call.name.lower() == _RANDOM_UUID and not call.expressions:
            call.replace(exp.Uuid())
    for root in ast.find_all(exp.Sqrt, exp.Cbrt):
        if _PLACE not in root.meta:
            root.set("this", exp.cast(root.this, "DOUBLE"))
    for member in list(ast.find_all(exp.Any, exp.All, exp.Anonymous)):
        _spell_out_membership(member)
    for kind in list(ast.find_all(exp.DataType)):
        if kind.this in _FLOATS and kind.expressions:
            kind.replace(_float_of(kind))
    for call in list(ast.find_all(exp.Unnest)):
        if len(call.expressions) > 1 and isinstance(call.parent, exp.From | exp.Join):
            call.replace(_side_by_side(call))
    for group in ast.find_all(exp.Group):
        spell_group_quantifier(group)
    mark_spelled_types(ast)
    spell_grouped_outputs(ast)
    name_inner_outputs(ast)
    spell_ordered_outputs(ast)
    return ast


def _take_out_of_brackets(constant: exp.Expr) -> None:
    """``('x')`` is a constant as ``'x'`` is: drivers that put values into texts write it so."""
    outer = constant
    while isinstance(outer.parent, exp.Paren):
        outer = outer.parent
    if outer is not constant and not isinstance(outer.parent, exp.Any | exp.All):
        outer.replace(constant)


def _spell_out_moment(cast: exp.Cast, text: exp.Expr) -> bool:
    """``'today'::date`` and its like, and texts of intervals that not every store reads."""
    if cast.is_type(exp.DType.INTERVAL):
        plain = plain_interval(text.name)
        if plain is not None:
            text.replace(exp.Literal.string(plain))
        return plain is not None
    made = moment_of_word(text.name, cast.to.this.value) if cast.to.this in _MOMENTS else None
    if made is not None:
        text.replace(made.this if isinstance(made, exp.Cast) else made)
    return made is not None


def _as_deep(kind: exp.DataType, array: exp.Expr) -> exp.DataType:
    """The type of an array with as many dimensions, which PostgreSQL leaves out of types."""
    made, element = 0, kind
    while isinstance(array, exp.Array):
        made += 1
        array = array.expressions[0] if array.expressions else array.this
    while element.is_type(exp.DType.ARRAY) and element.expressions:
        made -= 1
        element = element.expressions[0]
    for _ in range(made):
        kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind.copy()], nested=True)
    return kind


def _spell_out_arguments(last: exp.Variadic) -> None:
    """The elements of an array as arguments of a call; what is no list of values stays."""
    array, kind = last.this, None
    while isinstance(array, exp.Paren | exp.Cast):
        if isinstance(array, exp.Cast) and kind is None and array.is_type(exp.DType.ARRAY):
            kind = next(iter(array.to.expressions), None)
        array = array.this
    is_query = isinstance(array, exp.Array) and any(
        isinstance(part, exp.Query) for part in array.expressions
    )
    if isinstance(array, exp.Array) and array.expressions and not is_query:
        given = array.expressions
        last.replace(given if kind is None else [exp.cast(each, kind.copy()) for each in given])


def _spell_out_code(call: exp.Expr) -> None:
    """``encode(bytes, 'hex')``, ``decode(text, 'base64')`` and their like, in place."""
    form = call.args.get("charset")
    name = form.name.lower() if isinstance(form, exp.Literal) else ""
    value, decodes = call.this, isinstance(call, exp.Decode)
    if value.is_string and not decodes:
        value = exp.Cast(
            this=bytea.converted(value), to=exp.DataType(this=exp.DType.VARBINARY, nested=False)
        )
    if name == "hex":
        made = exp.Unhex(this=value) if decodes else exp.LowerHex(this=value)
        call.replace(made)
    elif name == "base64":
        call.replace(exp.FromBase64(this=value) if decodes else exp.ToBase64(this=value))


def _spell_out_membership(call: exp.Expr) -> None:
    """``a = ANY ('{1,2}')`` as ``a IN ('1', '2')``, whose texts become values of the type of a."""
    beside = call.parent
    if not isinstance(beside, _COMPARISONS + _LIKES) or call.arg_key != "expression":
        return
    is_all = isinstance(call, exp.All) or (
        isinstance(call, exp.Anonymous) and call.name.lower() == "all"
    )
    given = call.expressions if isinstance(call, exp.Anonymous) else [call.this]
    if (isinstance(call, exp.Anonymous) and not is_all) or len(given) != 1:
        return
    text = given[0].unnest() if isinstance(given[0], exp.Paren) else given[0]
    if not text.is_string or not text.name.lstrip().startswith("{"):
        return
    items = array_of_text(text.name, exp.DataType.build("VARCHAR[]", dialect="duckdb")).expressions
    if any(isinstance(item, exp.Array) for item in items):
        return
    flat = [item.this if isinstance(item, exp.Cast) else item for item in items]
    made = _membership(beside, flat, is_all)
    if made is not None:
        beside.replace(made)


_REPEATED = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Neg, exp.Paren, exp.Parameter),
    *(exp.Cast, exp.DataType, exp.Boolean, exp.Placeholder),
)
"""What may be computed more than once."""


def _membership(beside: exp.Binary, items: list[exp.Expr], is_all: bool) -> exp.Expr | None:
    """A comparison with each of the items; None where a value would be computed twice."""
    value = beside.this
    if not items:
        return exp.Boolean(this=is_all)
    if isinstance(beside, exp.NEQ if is_all else exp.EQ):
        found = exp.In(this=value, expressions=items)
        return exp.Not(this=found) if is_all else found
    if len(items) > 1 and not all(isinstance(part, _REPEATED) for part in value.walk()):
        return None
    each = [type(beside)(this=value.copy(), expression=item) for item in items]
    return exp.Paren(this=(exp.and_ if is_all else exp.or_)(*each, copy=False))


def _float_of(kind: exp.DataType) -> exp.DataType:
    """FLOAT(n): a REAL up to 24 binary digits, otherwise a DOUBLE PRECISION."""
    digits = kind.expressions[0].name
    is_small = digits.isdigit() and int(digits) <= _REAL_DIGITS
    return exp.DataType(this=exp.DType.FLOAT if is_small else exp.DType.DOUBLE)


def _side_by_side(call: exp.Unnest) -> exp.Expr:
    """The arrays beside each other, the shorter ones filled up with NULL."""
    alias = call.args.get("alias")
    given = [c.name for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    free = [_UNNAMED, *(f"{_UNNAMED}_{place}" for place in range(1, len(call.expressions)))]
    names = [*given, *free[len(given) :]]
    columns: list[exp.Expr] = [
        exp.alias_(exp.Explode(this=array.copy()), name, quoted=True)
        for array, name in zip(call.expressions, names, strict=False)
    ]
    offset = call.args.get("offset")
    if offset:
        sizes = [exp.ArraySize(this=array.copy()) for array in call.expressions]
        last = exp.Greatest(this=sizes[0], expressions=sizes[1:])
        numbers = exp.GenerateSeries(start=exp.Literal.number(1), end=last)
        name = offset.name if isinstance(offset, exp.Identifier) else "ordinality"
        columns.append(exp.alias_(exp.Explode(this=numbers), name, quoted=True))
    called = alias.name if isinstance(alias, exp.TableAlias) and alias.this else _UNNAMED
    source = exp.TableAlias(this=exp.to_identifier(called, quoted=True))
    return exp.select(*columns).subquery(alias=source)
