"""Types of expressions, as far as a tree tells them: columns of journals, casts, lists, structs.

Spark has one function for lists and another for texts where the canonical dialect has one for both,
so some must be known. What cannot be told is None, never a guess. Pure: AST in, AST as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.builders import joined_sources
from journal.sql.lowering.list_calls import TRANSFORMS

Type = exp.DataType
ColumnsOf = Callable[[exp.Table], Mapping[str, Type] | None]
"""The types of a relation's columns, by folded names; None where nobody knows."""
_LISTS = frozenset({exp.DType.LIST, exp.DType.ARRAY})
_NESTED = _LISTS | {exp.DType.STRUCT}
_OF_ARGUMENT = (
    exp.Max,
    exp.Min,
    exp.AnyValue,
    exp.First,
    exp.Last,
    exp.Lag,
    exp.Lead,
    exp.FirstValue,
    exp.LastValue,
    exp.Filter,
    exp.Window,
    exp.IgnoreNulls,
    exp.Paren,
    exp.Alias,
    exp.ArrayAppend,
    exp.ArrayPrepend,
    exp.ArrayConcat,
    exp.ArrayReverse,
    exp.ArrayFilter,
    exp.ArrayDistinct,
    exp.Order,
)
_LIST_CALLS = frozenset(
    "list_append list_concat list_distinct list_reverse list_sort array_sort list_reverse_sort"
    " array_reverse_sort".split()
)


def is_list(kind: Type | None) -> bool:
    """True for the type of a list."""
    return kind is not None and kind.this in _LISTS


def is_nested(kind: Type | None) -> bool:
    """True for a list or a struct, which are compared member by member."""
    return kind is not None and kind.this in _NESTED


def has_nested(kinds: Mapping[str, Type]) -> bool:
    """True if one of the columns is a list or a struct."""
    return any(is_nested(kind) for kind in kinds.values())


class KnownTypes:
    """Asks one tree; it must not change meanwhile."""

    def __init__(self, columns_of: ColumnsOf) -> None:
        self._columns_of = columns_of
        self._outputs: dict[int, Mapping[str, Type]] = {}

    def of(self, node: exp.Expr) -> Type | None:
        """The type of an expression, where it stands in its tree."""
        match node:
            case exp.Column():
                return self._of_column(node)
            case exp.Cast():
                return node.to
            case exp.Array() if not isinstance(_first(node.expressions), exp.Query):
                return _listed(next(self._known_types(node.expressions), None))
            case exp.Transform():
                return _listed(None)
            case exp.Anonymous() if str(node.this).lower() in TRANSFORMS:
                return _listed(None)
            case exp.ArrayAgg():
                return _listed(self.of(node.this))
            case exp.Struct():
                return self._of_struct(node)
            case exp.Case():
                branches = [branch.args["true"] for branch in node.args["ifs"]]
                return next(self._known_types([*branches, node.args.get("default")]), None)
            case exp.If():
                return next(self._known_types([node.args["true"], node.args.get("false")]), None)
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return next(self._known_types([node.this, *node.expressions]), None)
            case exp.AtTimeZone():
                return _in_zone(self.of(node.this))
            case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
                return _moment(self.of(node.this))
            case exp.Nullif() | exp.DPipe():
                return self.of(node.this)
            case exp.Distinct():
                return self.of(node.expressions[0]) if len(node.expressions) == 1 else None
            case exp.Subquery():
                return self._of_query(node)
            case exp.Ordered():
                return self._of_ordered(node)
            case exp.StructExtract() if node.expression.is_string:
                return _member(self.of(node.this), node.expression.name)
            case exp.Dot():
                return _member(self.of(node.this), node.expression.name)
            case exp.Bracket():
                return self._of_bracket(node)
            case exp.Anonymous() if str(node.this).lower() in _LIST_CALLS and node.expressions:
                return next(self._known_types(node.expressions), None)
            case _ if isinstance(node, _OF_ARGUMENT) and isinstance(node.this, exp.Expr):
                return self.of(node.this)
        return None

    def outputs(self, query: exp.Expr) -> Mapping[str, Type]:
        """The types of a query's columns, by folded names."""
        return self._given(query, None)

    def _known_types(self, nodes: list[exp.Expr | None]) -> Iterator[Type]:
        for node in nodes:
            found = None if node is None else self.of(node)
            if found is not None:
                yield found

    def _of_struct(self, node: exp.Struct) -> Type | None:
        members = []
        for item in node.expressions:
            if not isinstance(item, exp.PropertyEQ):
                return None
            kind = self.of(item.expression) or exp.DataType(this=exp.DType.UNKNOWN)
            members.append(exp.ColumnDef(this=exp.to_identifier(item.name), kind=kind.copy()))
        return exp.DataType(this=exp.DType.STRUCT, expressions=members, nested=True)

    def _of_bracket(self, node: exp.Bracket) -> Type | None:
        of = self.of(node.this)
        if not is_list(of) or len(node.expressions) != 1:
            return None
        assert of is not None
        if isinstance(node.expressions[0], exp.Slice):
            return of
        member = _first(of.expressions)
        return member if isinstance(member, exp.DataType) else None

    def _of_ordered(self, node: exp.Ordered) -> Type | None:
        """What rows are ordered by: an expression, or an item by its name or number."""
        by, query = node.this, node.parent.parent if node.parent is not None else None
        if not isinstance(query, exp.Query):
            return self.of(by)
        selects = query.selects
        if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(selects):
            return self.of(selects[int(by.name) - 1].unalias())
        if isinstance(by, exp.Column) and not by.table:
            for item in selects:
                if isinstance(item, exp.Alias) and fold(item.alias) == fold(by.name):
                    return self.of(item.this)
        return self.of(by)

    def _of_query(self, node: exp.Subquery) -> Type | None:
        inner: exp.Expr = node
        while isinstance(inner, exp.Subquery | exp.SetOperation):
            inner = inner.this
        if not isinstance(inner, exp.Select) or len(inner.selects) != 1:
            return None
        return self.of(inner.selects[0])

    def _of_column(self, column: exp.Column) -> Type | None:
        node = column.parent
        while node is not None:
            if isinstance(node, exp.Select):
                for source in joined_sources(node):
                    if column.table and fold(source.alias_or_name) != fold(column.table):
                        continue
                    found = self._columns(source).get(fold(column.name))
                    if found is not None or column.table:
                        return found
            node = node.parent
        return None

    def _columns(self, source: exp.Expr) -> Mapping[str, Type]:
        if isinstance(source, exp.Table):
            cte = _cte(source)
            named: Mapping[str, Type]
            if cte is None:
                named = self._columns_of(source) or {}
            else:
                named = self._given(cte.this, cte.args["alias"])
            return _renamed(named, source.args.get("alias"))
        if isinstance(source, exp.Lateral):
            source = source.this
        if isinstance(source, exp.Subquery):
            return self._given(source.this, source.args.get("alias"))
        return {}

    def _given(self, query: exp.Expr, alias: exp.Expr | None) -> Mapping[str, Type]:
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return {}
        known = self._outputs.get(id(query))
        if known is None:
            self._outputs[id(query)] = {}
            known = self._outputs[id(query)] = self._of_outputs(query)
        return _renamed(known, alias)

    def _of_outputs(self, query: exp.Select) -> Mapping[str, Type]:
        found: dict[str, Type] = {}
        for item in query.selects:
            if item.is_star:
                of = item.table if isinstance(item, exp.Column) else ""
                for source in joined_sources(query):
                    if not of or fold(source.alias_or_name) == fold(of):
                        found = {**self._columns(source), **found}
                continue
            kind = self.of(item.unalias())
            # The place of each counts where an alias names the columns anew.
            found[fold(item.alias_or_name)] = kind or exp.DataType(this=exp.DType.UNKNOWN)
        return found


def _in_zone(kind: Type | None) -> Type | None:
    """The type of a moment AT TIME ZONE: an instant of a local time, and the other way round."""
    if kind is None:
        return None
    is_instant = kind.this is exp.DType.TIMESTAMPTZ
    return exp.DataType(this=exp.DType.TIMESTAMP if is_instant else exp.DType.TIMESTAMPTZ)


def _moment(kind: Type | None) -> Type | None:
    """The type of a moment that is moved; of a date that makes one."""
    is_date = kind is not None and kind.this is exp.DType.DATE
    return exp.DataType(this=exp.DType.TIMESTAMP) if is_date else kind


def _first(nodes: list[exp.Expr]) -> exp.Expr | None:
    return nodes[0] if nodes else None


def _member(kind: Type | None, name: str) -> Type | None:
    if kind is None or kind.this is not exp.DType.STRUCT:
        return None
    for member in kind.expressions:
        if isinstance(member, exp.ColumnDef) and fold(member.name) == fold(name):
            return member.kind
    return None


def _listed(kind: Type | None) -> Type:
    member = kind or exp.DataType(this=exp.DType.UNKNOWN)
    return exp.DataType(this=exp.DType.LIST, expressions=[member.copy()], nested=True)


def _renamed(columns: Mapping[str, Type], alias: exp.Expr | None) -> Mapping[str, Type]:
    names = [c.name for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return columns
    old = list(columns)
    kept = [columns[name] for name in old]
    return {fold(n): kept[i] for i, n in enumerate(names) if i < len(kept)}


def _cte(table: exp.Table) -> exp.CTE | None:
    """The query a WITH around a name gives that name to."""
    node: exp.Expr | None = None if table.db else table
    while node is not None:
        clause = node.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            if fold(cte.alias) == fold(table.name) and table.find_ancestor(exp.CTE) is not cte:
                assert isinstance(cte, exp.CTE)
                return cte
        node = node.parent
    return None
