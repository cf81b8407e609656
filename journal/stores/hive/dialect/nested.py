"""Lists, structs and enums where Spark orders them otherwise, or has another function for them.

    a < b           ->  the same of keys, in which a member that is NULL comes last
    max(a)          ->  max_by(a, its key)        and the same of enums, whose keys are their places
    len(a)          ->  size(a), as its length is that of texts
    a :: VARCHAR    ->  '[1, NULL]', as it writes null

Two steps, as types are told by the tree as the client's statement gives it: ``note_types`` leaves
what it found at operators, and the changes look there. Pure: AST in, AST out.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import Part, call, fill, is_null
from journal.stores.hive.dialect.enums import at_place, is_enum, place
from journal.stores.hive.dialect.known_types import ColumnsOf, KnownTypes, Type, is_list, is_nested

_NOTE = "palimpsest_nested"
_COMPARED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_EACH = "palimpsest_each"
_TEXTS = frozenset({exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR})
_PLAIN = frozenset(
    {
        exp.DType.TINYINT,
        exp.DType.SMALLINT,
        exp.DType.INT,
        exp.DType.BIGINT,
        exp.DType.DECIMAL,
        exp.DType.BOOLEAN,
        exp.DType.DATE,
        exp.DType.TIMESTAMP,
    }
)
"""Types of members whose texts, within that of a list, are their own."""


def note_types(tree: exp.Expr, columns_of: ColumnsOf) -> None:
    """Note at the operators of a tree which of them work on lists and structs."""
    known = KnownTypes(columns_of)
    for node in list(tree.walk()):
        kind = None
        if isinstance(node, _COMPARED):
            kind = known.of(node.this) or known.of(node.expression)
        elif isinstance(node, exp.Between | exp.Length | exp.Cast):
            kind = known.of(node.this)
        elif isinstance(node, exp.Max | exp.Min | exp.Ordered):
            kind = known.of(node)
        elif isinstance(node, exp.Greatest | exp.Least):
            kind = known.of(node.this)
        if is_nested(kind) or _is_placed(node, kind, known):
            node.meta[_NOTE] = kind
            if isinstance(node.this, exp.Literal):
                _name_item(node)


def _is_placed(node: exp.Expr, kind: Type | None, known: KnownTypes) -> bool:
    """True where values of one enum go by their places; beside a text, an enum is a text."""
    if not is_enum(kind) or isinstance(node, exp.Length | exp.Cast):
        return False
    if isinstance(node, exp.Max | exp.Min | exp.Ordered):
        return True
    return all(known.of(part) == kind for part in node.iter_expressions())


def _name_item(node: exp.Expr) -> None:
    """Write what a number in ORDER BY stands for, as it is to be changed."""
    query = node.find_ancestor(exp.Query)
    assert query is not None
    item = query.selects[int(node.this.name) - 1]
    by = item.unalias() if isinstance(query, exp.Select) else exp.column(item.alias_or_name)
    node.this.replace(by.copy())


def _noted(node: exp.Expr) -> Type | None:
    found = node.meta.get(_NOTE)
    return found if isinstance(found, exp.DataType) else None


def compared(node: exp.Expr) -> exp.Expr | None:
    """A comparison, of keys; also what is between two."""
    kind = _noted(node)
    if kind is None or any(isinstance(p, exp.Any | exp.All) for p in node.iter_expressions()):
        return None
    for name in ("this", "expression", "low", "high"):
        part = node.args.get(name)
        if part is not None:
            part.replace(_key(part.copy(), kind))
    return None


def ordered(node: exp.Expr) -> exp.Expr | None:
    """What rows are ordered by."""
    kind = _noted(node)
    if kind is not None:
        node.this.replace(_key(node.this.copy(), kind))
    return None


def extreme(node: exp.Expr) -> exp.Expr | None:
    """The largest or smallest of some."""
    kind = _noted(node)
    if kind is None:
        return None
    of = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    made = exp.ArgMax if isinstance(node, exp.Max) else exp.ArgMin
    return made(this=of.copy(), expression=_key(of.copy(), kind))


def outermost(node: exp.Expr) -> exp.Expr | None:
    """The largest or smallest of several values of an enum."""
    kind = _noted(node)
    if kind is None or not is_enum(kind):
        return None
    places = [place(part.copy(), kind) for part in node.iter_expressions()]
    made = type(node)(this=places[0], expressions=places[1:], ignore_nulls=True)
    return at_place(made, kind)


def length(node: exp.Expr) -> exp.Expr | None:
    """How many members a list has."""
    return exp.ArraySize(this=node.this.copy()) if is_list(_noted(node)) else None


def as_text(node: exp.Expr) -> exp.Expr | None:
    """A list as text; others are refused, whose members need quotes."""
    assert isinstance(node, exp.Cast)
    kind = _noted(node)
    if kind is None or node.to.this not in _TEXTS:
        return None
    member = kind.expressions[0] if is_list(kind) else None
    if not isinstance(member, exp.DataType) or member.this not in _PLAIN:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a Hive store cannot run this: {kind.sql(dialect='duckdb')} as text",
            advice="read the value, or write its members as text",
        )
    shown = fill("COALESCE(CAST(x AS TEXT), 'NULL')", x=_each(0))
    joined = call("array_join", _transformed(node.this, shown, 0), ", ")
    return call("concat", "[", joined, "]")


def _key(value: exp.Expr, kind: Type | None, depth: int = 0) -> exp.Expr:
    """What orders a value as the canonical dialect does: members that are NULL come last."""
    if kind is not None and kind.this is exp.DType.STRUCT:
        parts: list[Part] = []
        for index, member in enumerate(kind.expressions):
            found = exp.Dot(this=exp.Paren(this=value.copy()), expression=member.this.copy())
            parts += _pair(index, found, member.kind, depth)
        made = call("named_struct", *parts)
        return fill("CASE WHEN x IS NULL THEN NULL ELSE made END", x=value, made=made)
    if kind is not None and is_enum(kind):
        return place(value, kind)
    if kind is not None and is_list(kind):
        member = kind.expressions[0] if kind.expressions else None
        pair = _pair(0, _each(depth), member, depth + 1)
        return _transformed(value, call("named_struct", *pair), depth)
    return value


def _pair(index: int, value: exp.Expr, kind: Type | None, depth: int) -> list[Part]:
    none = exp.Paren(this=is_null(value))
    return [f"n{index}", none, f"v{index}", _key(value, kind, depth)]


def _each(depth: int) -> exp.Expr:
    return exp.column(exp.to_identifier(f"{_EACH}{depth}"))


def _transformed(value: exp.Expr, body: exp.Expr, depth: int) -> exp.Expr:
    each = [exp.to_identifier(f"{_EACH}{depth}")]
    return call("transform", value, exp.Lambda(this=body, expressions=each))
