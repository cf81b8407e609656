"""Which expressions are addresses of networks, and which may be without being known to be. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, View, fold
from journal.sql import dialects
from journal.sql.cte_scopes import CteScopes
from journal.sql.network_text import CIDR, INET
from rewriter.context import RewriteContext
from rewriter.functions import function_name
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.past.time_travel import HISTORY_FUNCTIONS, history_call
from rewriter.reading.value_types import UNKNOWN, ValueType, ValueTypes
from rewriter.reading.visible_columns import relations_of

NETWORK = frozenset({INET, CIDR})
OTHER, MIXED = "?other", "?network"
"""What is of no known type, and made of no address; what is made of one."""
TEXTS = frozenset({"VARCHAR", "TEXT", "CHAR", "BPCHAR"})
TOLD = frozenset(
    "VARCHAR TEXT CHAR BPCHAR BOOLEAN SMALLINT INTEGER INT BIGINT DECIMAL DOUBLE FLOAT REAL DATE"
    " TIME TIMESTAMP TIMESTAMPTZ INTERVAL UUID BLOB JSON".split()
)
"""Types that are certainly no addresses."""
_UNTYPED = (exp.Column, exp.Query, exp.Placeholder, exp.Parameter, exp.Null)
_HIDING = (exp.Pivot, exp.Unnest, exp.Explode, exp.Lateral, exp.Values)
"""What gives columns whose types are not told."""


class NetworkTypes(ValueTypes):
    """Types of values, where what is not known is told apart by what it is made of."""

    names = NETWORK
    told = TOLD

    def of(self, node: exp.Expr, depth: int = 0) -> ValueType:
        """The type of an expression."""
        found = super().of(node, depth)
        if found.kind == CIDR and isinstance(node, exp.Min | exp.Max):
            return ValueType(kind=INET)
        if found.kind is not None or found.enum is not None or found.declared is not None:
            return found
        if isinstance(node, _UNTYPED) or node.is_string:
            return UNKNOWN
        if isinstance(node, exp.Bracket | exp.Unnest | exp.Explode) and not node.find(exp.Slice):
            listed = node.expressions[0] if isinstance(node, exp.Unnest) else node.this
            element = _element(self.of(listed, depth + 1).kind)
            if element is not None:
                return ValueType(kind=element)
        kinds = {self.of(column, depth + 1).kind for column in node.find_all(exp.Column)}
        if any(is_of_network(kind) for kind in kinds):
            return ValueType(kind=MIXED)
        return UNKNOWN if None in kinds else ValueType(kind=OTHER)

    def _in_source(self, source: exp.Expr, name: str, depth: int) -> ValueType | None:
        of_history = _of_history(source, self.context)
        if isinstance(of_history, Table) and of_history.find(name) is not None:
            return self.of_stored(of_history, name)
        if isinstance(source, exp.Unnest) and len(source.expressions) == 1:
            alias = source.args.get("alias")
            columns = alias.columns if isinstance(alias, exp.TableAlias) else []
            first = columns[0].name if columns else source.alias
            return self.of(source, depth + 1) if fold(first) == fold(name) else None
        return super()._in_source(source, name, depth)

    def of_named(self, source: exp.Expr, name: str) -> str | None:
        """The type of a relation's column."""
        found = self._in_source(source, name, 0)
        return None if found is None else found.kind

    def kinds_within(self, query: exp.Expr) -> set[str]:
        """The types of addresses that tables of a query have, and that it names."""
        found = {kind.sql(dialect="duckdb").upper() for kind in query.find_all(exp.DataType)}
        for named in _relations_named(query, self.context):
            if isinstance(named, View):
                found |= self.kinds_within(dialects.stored(named.query))
            else:
                found |= {stored.type for stored in named.columns}
        return found & NETWORK

    def network(self, node: exp.Expr) -> str | None:
        """The type of an address; None for other values."""
        kind = self.of(node).kind
        return kind if kind in NETWORK else None

    def may_be_network(self, node: exp.Expr) -> bool:
        """True for what is of no known type and may be an address, or holds one."""
        kind = self.of(node).kind
        return (kind is None and _hides(node.root())) or (
            kind not in NETWORK and is_of_network(kind)
        )


def _element(kind: str | None) -> str | None:
    """The type of the elements of a list; None for other values."""
    return kind.removesuffix("[]") if kind is not None and kind.endswith("[]") else None


def is_list_of_addresses(kind: str | None) -> bool:
    """True for lists of addresses or of networks."""
    return _element(kind) in NETWORK


def without_brackets(value: exp.Expr) -> exp.Expr:
    """What stands in brackets; a query in brackets stays a value."""
    while isinstance(value, exp.Paren):
        value = value.this
    return value


def is_of_network(kind: str | None) -> bool:
    """True for addresses, and for lists and rows of them."""
    return kind is not None and (kind == MIXED or INET in kind)


def is_stored_address(kind: str | None, stored: str) -> TypeGuard[str]:
    """True for addresses, and lists of them, of which a store says that they are texts."""
    is_list = kind is not None and kind.endswith("[]")
    texts = {f"{text}[]" for text in TEXTS} if is_list else TEXTS
    return kind is not None and kind.removesuffix("[]") in NETWORK and stored in texts


def keep_addresses(
    columns: list[Column], names: list[str], query: exp.Expr, context: RewriteContext
) -> None:
    """Give columns that are made of a query the types of addresses, where it gives such."""
    types = NetworkTypes(context)
    for place, (name, stored) in enumerate(zip(names, columns, strict=False)):
        found = types.of_output(query, name).kind if names.count(name) == 1 else None
        if is_stored_address(found, stored.type):
            columns[place] = replace(stored, type=found)


def _hides(tree: exp.Expr) -> bool:
    return next(tree.find_all(*_HIDING), None) is not None


def names_networks(tree: exp.Expr) -> bool:
    """True for a statement that names a type of addresses."""
    return any(kind.this is exp.DType.INET or is_cidr(kind) for kind in tree.find_all(exp.DataType))


def concerns_networks(tree: exp.Expr, context: RewriteContext) -> bool:
    """True where a value of a statement may be an address."""
    if names_networks(tree):
        return True
    return any(_holds_addresses(found, context) for found in _relations_named(tree, context))


def _relations_named(tree: exp.Expr, context: RewriteContext) -> Iterator[Table | View]:
    """The tables and views that a statement reads, also those whose history it does."""
    scopes = CteScopes()
    for node in tree.find_all(exp.Table):
        if scopes.holds(node):
            continue
        found = _of_history(node, context) or context.catalog.get(table_name(node, context))
        if found is not None:
            yield found


def _of_history(source: exp.Expr, context: RewriteContext) -> Table | View | None:
    """The table that a source such as ``table_history('t')`` tells of; None for other sources."""
    call = source.this if isinstance(source, exp.Table) else None
    if not isinstance(call, exp.Anonymous) or function_name(call) not in HISTORY_FUNCTIONS:
        return None
    return context.catalog.get(table_name(history_call(call).table, context))


def _holds_addresses(found: Table | View, context: RewriteContext) -> bool:
    if isinstance(found, View):
        return concerns_networks(dialects.stored(found.query), context)
    return any(INET in column.type for column in found.columns)


def is_cidr(kind: exp.DataType) -> bool:
    """True for ``cidr`` as the parser knows it: a type of somebody's own."""
    name = kind.args.get("kind")
    is_named = kind.this is exp.DType.USERDEFINED and name is not None
    return is_named and fold(name.name if isinstance(name, exp.Expr) else str(name)) == "cidr"


def check_joined(join: exp.Join, types: NetworkTypes) -> None:
    """Raise NOT_SUPPORTED for a join by names alone that may compare addresses with networks."""
    query = join.parent
    names = [column.name for column in join.args.get("using") or []]
    if not isinstance(query, exp.Select) or not (names or join.method == "NATURAL"):
        return
    if names:
        kinds = [{types.of_named(source, n) for source in relations_of(query)} for n in names]
        is_mixed = any({INET, CIDR} <= found for found in kinds)
    else:
        is_mixed = {INET, CIDR} <= types.kinds_within(query)
    if is_mixed:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a join by names does not compare inet with cidr",
            advice="write ON a.x = b.x",
            position=position_of(join),
        )
