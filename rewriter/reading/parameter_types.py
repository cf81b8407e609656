"""Finds the types of parameters from their places in a statement.

A parameter has the type of what it is compared or computed with, of the column that it is put into,
or the one it is cast to. A client that sends text for a parameter of no stated type is understood
by it, as PostgreSQL understands it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import islice

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Column, Table, fold
from rewriter.context import RewriteContext
from rewriter.definitions.user_types import declared_type
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import table_name
from rewriter.reading.taken_types import AS_WRITTEN, given_by, operand_of, taken_by
from rewriter.reading.value_types import ValueTypes

_SIBLINGS = (
    *(exp.Binary, exp.Between, exp.In, exp.Coalesce, exp.Tuple),
    *(exp.Greatest, exp.Least, exp.Nullif, exp.Array),
)
_OF_THEIR_OPERANDS = (
    *(exp.Paren, exp.Neg, exp.Binary, exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif),
    *(exp.Abs, exp.Max, exp.Min),
)
"""What has the type of one of its operands."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_OF_KEYS = (
    *(exp.JSONBContainsAnyTopKeys, exp.JSONBContainsAllTopKeys),
    *(exp.JSONBExtract, exp.JSONBExtractScalar, exp.JSONBDeleteAtPath),
)
"""Operators of JSON whose right side is a list of keys, or a path of them."""


class PlaceTypes(ValueTypes):
    """Types of values, with those of functions that rewrites do not ask for."""

    def _made_kind(self, node: exp.Expr, depth: int) -> str | None:
        found = super()._made_kind(node, depth)
        return found or given_by(node, lambda one: self.of(one, depth).kind)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a statement names, each by what it is called there, and types of values.

    ``known``: of the nodes at one place the first two that have a type, which are looked for once.
    """

    named: list[tuple[str, Table]]
    values: ValueTypes
    known: dict[tuple[int, int], list[tuple[exp.Expr, str]]] = field(default_factory=dict)

    def kind_beside(
        self, node: exp.Expr, nodes: Iterable[exp.Expr], of: exp.Expr, place: int = 0
    ) -> str | None:
        """The type of the first of some ``nodes`` other than ``node`` that has one."""
        key = (id(of), place)
        if key not in self.known:
            kinds = ((one, _type_of(one, self)) for one in nodes)
            told = ((one, kind) for one, kind in kinds if kind is not None)
            self.known[key] = list(islice(told, 2))
        return next((kind for one, kind in self.known[key] if one is not node), None)


_SPELLED_IN_FULL = frozenset(
    {"SMALLINT", "INT", "BIGINT", "REAL", "DOUBLE", "BOOLEAN", "UUID", "DATE"}
)


def parameter_types(statement: exp.Expr, context: RewriteContext) -> Mapping[str, str]:
    """The types by the names of parameters, in the gateway's names; unknown ones are left out."""
    tables = Tables(_tables(statement, context), PlaceTypes(context))
    found: dict[str, str] = {}
    for node in statement.find_all(exp.Placeholder):
        kind = _type_by_place(node, tables)
        if kind is not None:
            found.setdefault(node.name, kind)
    return found


def text_readings(statement: exp.Expr, context: RewriteContext) -> Mapping[str, exp.DataType]:
    """What the text of a parameter is read as, by the names of parameters, in PostgreSQL's way.

    Only parameters that stand beside a column alone, as what it is compared with or set to; of
    types whose values a text spells in full. In other dialects a text is a text.
    """
    if not semantics_of(context.dialect).texts_become_enums:
        return {}
    tables = _tables(statement, context)
    found: dict[str, exp.DataType] = {}
    for node in statement.find_all(exp.Placeholder):
        if not isinstance(node.parent, _COMPARISONS):
            continue
        columns = [_column_of(n, tables) for n in node.parent.iter_expressions()]
        for column in filter(None, columns):
            if column.declared is not None:
                found.setdefault(node.name, declared_type(column.declared))
            elif column.type in _SPELLED_IN_FULL:
                found.setdefault(node.name, exp.DataType.build(column.type, dialect="duckdb"))
    return found


def _column_of(node: exp.Expr, tables: list[tuple[str, Table]]) -> Column | None:
    if not isinstance(node, exp.Column):
        return None
    of = fold(node.table) if node.table else None
    found = [t.find(node.name) for name, t in tables if of in (None, name)]
    columns = [c for c in found if c is not None]
    return columns[0] if len(columns) == 1 else None


def _tables(statement: exp.Expr, context: RewriteContext) -> list[tuple[str, Table]]:
    """The tables that a statement names, each by what it is called there."""
    found: list[tuple[str, Table]] = []
    for node in statement.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        relation = context.catalog.get(table_name(node, context))
        if isinstance(relation, Table):
            found.append((fold(node.alias_or_name), relation))
    return found


def _type_by_place(node: exp.Expr, tables: Tables) -> str | None:
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        node, parent = parent, parent.parent
    match parent:
        case exp.Cast():
            return str(parent.to.sql(dialect="duckdb"))
        case exp.Limit() | exp.Offset():
            return "BIGINT"
        case exp.Tuple() if isinstance(parent.parent, exp.Values):
            return _listed_value(parent, _place_in(parent.expressions, node), tables)
        case exp.Select(parent=exp.Insert() as insert) if node.arg_key == "expressions":
            return _inserted(insert, _place_in(parent.expressions, node), tables)
        case exp.Select() if isinstance(parent.parent, exp.SetOperation):
            return _united_type(parent, node, tables)
        case exp.Tuple(parent=exp.Insert(parent=exp.When()) as insert):
            return _merged(_place_in(parent.expressions, node), insert, tables)
        case exp.DPipe():
            return _joined(parent.expression if node is parent.this else parent.this, tables)
        case exp.ArrayAppend() | exp.ArrayPrepend() if node is parent.expression:
            return (_type_of(parent.this, tables) or "").removesuffix("[]") or None
        case exp.Like() | exp.ILike() | exp.Lower() | exp.Upper():
            return "VARCHAR"
        case exp.JSONExtract() | exp.JSONExtractScalar() if node is not parent.this:
            return "VARCHAR"
        case exp.JSONBContainsTopKey() | exp.JSONBPathExists() if node is not parent.this:
            return "VARCHAR"
        case _ if isinstance(parent, _OF_KEYS) and node is not parent.this:
            return "VARCHAR[]"
        case exp.Boolean() | exp.Not() | exp.And() | exp.Or() | exp.Where():
            return "BOOLEAN"
    if isinstance(parent, exp.Any | exp.All) or (
        isinstance(parent, exp.Anonymous) and parent.name.lower() == "all"
    ):
        return _listed(parent, tables)
    if isinstance(parent, exp.Case | exp.If):
        return _in_case(node, tables)
    if isinstance(parent, exp.Tuple):
        kind = _in_row(parent, _place_in(parent.expressions, node), tables)
        if kind is not None:
            return kind
    if isinstance(parent, _SIBLINGS) and not isinstance(parent, exp.Pow | exp.ArrayPosition):
        kind = tables.kind_beside(node, parent.iter_expressions(), parent)
        if kind is not None:
            return operand_of(parent, node, kind)
    return None if parent is None else taken_by(parent, node, lambda one: _type_of(one, tables))


def _place_in(nodes: Sequence[exp.Expr], node: exp.Expr) -> int:
    """The place of a node: by identity, as trees that are compared are read whole."""
    return next(place for place, one in enumerate(nodes) if one is node)


def _in_case(node: exp.Expr, tables: Tables) -> str | None:
    """The type of a condition in CASE, or of a value, which is that of the values beside it."""
    case = node.find_ancestor(exp.Case)
    if case is None:
        return None
    compared = [case.this, *(branch.this for branch in case.args["ifs"])]
    others = compared if any(one is node for one in compared) else _results(case)
    if others is compared and case.this is None:
        return "BOOLEAN"
    there = (n for n in others if n is not None)
    return tables.kind_beside(node, there, case, int(others is compared))


def _results(case: exp.Case) -> list[exp.Expr]:
    results = [*(branch.args["true"] for branch in case.args["ifs"]), case.args.get("default")]
    return [result for result in results if result is not None]


def _in_row(row: exp.Tuple, place: int, tables: Tables) -> str | None:
    """The type at a place of a row, which is that of the other row that it is compared with."""
    compared = row.parent
    if not isinstance(compared, _COMPARISONS):
        return None
    for other in compared.iter_expressions():
        parts = other.expressions if isinstance(other, exp.Tuple) and other is not row else []
        kind = _type_of(parts[place], tables) if place < len(parts) else None
        if kind is not None:
            return kind
    return None


def _joined(other: exp.Expr, tables: Tables) -> str:
    """The type of one side of ``||``: the other's if that is a list, JSON or bytes, else a text."""
    kind = _type_of(other, tables) or ""
    return kind if kind.endswith("[]") or kind in {"JSON", "BLOB"} else "VARCHAR"


def _listed(quantified: exp.Expr, tables: Tables) -> str:
    """The type of the list in ``a = ANY (?)``: of values as what they are compared with."""
    compared = quantified.parent
    others = [] if compared is None else compared.iter_expressions()
    kinds = (_type_of(other, tables) for other in others if other is not quantified)
    return f"{next((kind for kind in kinds if kind is not None), 'VARCHAR')}[]"


def _listed_value(row: exp.Tuple, place: int, tables: Tables) -> str | None:
    """The type of a value in VALUES: of the column that it is put into, or of the rows beside."""
    values = row.parent
    assert isinstance(values, exp.Values)
    if isinstance(values.parent, exp.Insert):
        return _inserted(values.parent, place, tables)
    beside = (r.expressions[place] for r in values.expressions if place < len(r.expressions))
    return tables.kind_beside(row, beside, values, place)


def _united_type(query: exp.Select, node: exp.Expr, tables: Tables) -> str | None:
    """The type of a result in a UNION, which is that of the other query's at its place."""
    union = query.parent
    assert isinstance(union, exp.SetOperation)
    other = union.expression if query is union.this else union.this
    places = [place for place, output in enumerate(query.expressions) if output is node]
    selects = other.selects if isinstance(other, exp.Query) else []
    if not places or places[0] >= len(selects):
        return None
    return _type_of(selects[places[0]].unalias(), tables)


def _inserted(insert: exp.Insert, place: int, tables: Tables) -> str | None:
    """The type of the column that the value at a place of VALUES or SELECT is put into."""
    target = insert.this
    named = target.expressions if isinstance(target, exp.Schema) else []
    node = target.this if isinstance(target, exp.Schema) else target
    return _put_into(node, named, place, tables)


def _merged(place: int, insert: exp.Insert, tables: Tables) -> str | None:
    """The same of the INSERT of a MERGE."""
    merge = insert.find_ancestor(exp.Merge)
    named = insert.this.expressions if isinstance(insert.this, exp.Tuple) else []
    return None if merge is None else _put_into(merge.this, named, place, tables)


def _put_into(target: exp.Expr, named: list[exp.Expr], place: int, tables: Tables) -> str | None:
    """The type of the column at a place of those that are named, or of all."""
    table = next((t for name, t in tables.named if name == fold(target.alias_or_name)), None)
    if table is None:
        return None
    names = [c.name for c in named] or [c.name for c in table.columns]
    return _column_type(table, names[place]) if place < len(names) else None


def _type_of(node: exp.Expr, tables: Tables) -> str | None:
    found = tables.values.of(node)
    if found.kind is not None:
        return AS_WRITTEN if found.spelled == AS_WRITTEN else found.kind
    match node:
        case exp.Column():
            of = fold(node.table) if node.table else None
            kinds = {_column_type(t, node.name) for name, t in tables.named if of in (None, name)}
            kinds.discard(None)
            return kinds.pop() if len(kinds) == 1 else None
        case exp.Literal():
            return None
        case exp.Subquery() if isinstance(node.this, exp.Select) and node.selects:
            return _type_of(node.selects[0].unalias(), tables)
    given = given_by(node, lambda one: _type_of(one, tables))
    if given is not None:
        return given
    if isinstance(node, _OF_THEIR_OPERANDS):
        inner = (_type_of(child, tables) for child in node.iter_expressions())
        return next((kind for kind in inner if kind is not None), None)
    if isinstance(node, exp.Case):
        results = (_type_of(result, tables) for result in _results(node))
        return next((kind for kind in results if kind is not None), None)
    return None


def _column_type(table: Table, name: str) -> str | None:
    found = next((c for c in table.columns if fold(c.name) == fold(name)), None)
    if found is not None and found.spelled == AS_WRITTEN:
        return AS_WRITTEN
    return None if found is None else found.type
