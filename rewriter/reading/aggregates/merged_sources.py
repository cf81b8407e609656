"""Merges a subquery that only filters and projects into the query around it.

    SELECT g, sum(n) FROM (SELECT k % 10 AS g, n FROM t WHERE a > 3) AS x GROUP BY g
    SELECT k % 10 AS g, sum(n) AS "sum(n)" FROM t WHERE a > 3 GROUP BY k % 10

The same for a CTE that nothing else refers to. What is not understood in full stays as it is. The
query given is not changed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.functions import is_random
from rewriter.name_resolution import table_name
from rewriter.reading.result_names import result_name
from rewriter.reading.scopes import is_named

_DEPTH_MAX = 8
_INNER = {"expressions", "from_", "joins", "where", "kind"}
_BARE = {"this", "alias"}
_SEVERAL_ROWS = (exp.Unnest, exp.Explode, exp.AggFunc, exp.Window, exp.Query)
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SIMPLE = (exp.Column, exp.Literal, exp.Paren, exp.Cast)


def merged(select: exp.Select, context: RewriteContext) -> exp.Select:
    """A query without the subqueries that it may be merged with; itself where there are none."""
    for _ in range(_DEPTH_MAX):
        found = _merged_once(select, context)
        if found is None:
            return select
        # So that names are looked up in the scopes that the query stands in.
        found.parent, found.arg_key = select.parent, select.arg_key
        select = found
    return select


def _merged_once(select: exp.Select, context: RewriteContext) -> exp.Select | None:
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    inner, name = _derived(from_.this)
    if inner is None or any(v for part, v in inner.args.items() if part not in _INNER):
        return None
    if inner.args.get("from_") is None or any(is_random(s) for s in inner.expressions):
        return None
    outer = select.copy()
    outer.parent, outer.arg_key = select.parent, select.arg_key
    if not _name_outputs(outer):
        return None
    values = _values(inner, context)
    if values is None:
        return None
    ctes = _other_ctes(outer)
    outer.set("from_", None)
    outer.set("with_", None)
    if len(list(outer.find_all(exp.Query))) > 1:
        return None
    if not _Substitution(outer, name, values, inner, context).done():
        return None
    outer.set("with_", ctes)
    outer.set("from_", inner.args["from_"].copy())
    outer.set("joins", [join.copy() for join in inner.args.get("joins") or []])
    condition = inner.args.get("where")
    if condition is not None:
        given = outer.args.get("where")
        both = [condition.this.copy(), *([] if given is None else [given.this])]
        outer.set("where", exp.Where(this=exp.and_(*both, copy=False)))
    return outer


def _derived(node: exp.Expr) -> tuple[exp.Select | None, str]:
    """The query that a source is, if nothing else reads it, and the source's folded name."""
    if isinstance(node, exp.Subquery):
        alias = node.args.get("alias")
        bare = not any(v for part, v in node.args.items() if part not in _BARE)
        if bare and not (alias is not None and alias.columns) and isinstance(node.this, exp.Select):
            return node.this, fold(node.alias)
        return None, ""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return None, ""
    if not is_cte(node) or any(v for part, v in node.args.items() if part not in _BARE):
        return None, ""
    alias = node.args.get("alias")
    if alias is not None and alias.columns:
        return None, ""
    cte = _own_cte(node)
    return (cte.this if cte is not None else None), fold(node.alias_or_name)


def _own_cte(node: exp.Table) -> exp.CTE | None:
    """The CTE of the query that reads it, where this is its only mention by that name."""
    select = node.find_ancestor(exp.Select)
    with_ = None if select is None else select.args.get("with_")
    if select is None or with_ is None or with_.recursive:
        return None
    ctes = [cte for cte in with_.expressions if fold(cte.alias) == fold(node.name)]
    if len(ctes) != 1 or ctes[0].args.get("materialized") or ctes[0].args["alias"].columns:
        return None
    mentions = [t for t in select.find_all(exp.Table) if fold(t.name) == fold(node.name)]
    if len(mentions) != 1 or not isinstance(ctes[0].this, exp.Select):
        return None
    # Its own sources would be looked up with all CTEs of the query, its later ones too.
    later = {fold(cte.alias) for cte in with_.expressions}
    sources = {fold(t.name) for t in ctes[0].this.find_all(exp.Table)}
    return None if sources & later else ctes[0]


def _other_ctes(outer: exp.Select) -> exp.With | None:
    """The CTEs of a query but the one that it reads."""
    with_, read = outer.args.get("with_"), outer.args["from_"].this
    if with_ is None or not isinstance(read, exp.Table):
        return with_
    kept = [cte for cte in with_.expressions if fold(cte.alias) != fold(read.name)]
    with_.set("expressions", kept)
    return with_ if kept else None


def _name_outputs(select: exp.Select) -> bool:
    """Put the name of each output beside it; False where one is not known."""
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        if isinstance(output, exp.Alias):
            outputs.append(output)
            continue
        name = None if output.find(exp.Star) is output else result_name(output)
        if not name:
            return False
        outputs.append(exp.Alias(this=output, alias=ident(name)))
    select.set("expressions", outputs)
    return True


def _values(inner: exp.Select, context: RewriteContext) -> dict[str, exp.Expr] | None:
    """What the columns of a subquery are, by folded name; a star as ``*``."""
    found: dict[str, exp.Expr] = {}
    for output in inner.expressions:
        if isinstance(output, exp.Star):
            if any(output.args.values()) or inner.args.get("joins"):
                return None
            found["*"] = output
            continue
        if output.find(exp.Star) is not None or output.find(*_SEVERAL_ROWS) is not None:
            return None
        if not isinstance(output, exp.Alias | exp.Column):
            return None
        name = fold(output.alias_or_name)
        if not name or name in found:
            return None
        found[name] = output.unalias()
    if "*" in found and len(found) > 1:
        table = _only_table(inner, context)
        if table is None or any(table.find(n) is not None for n in found if n != "*"):
            return None
    return found


def _only_table(inner: exp.Select, context: RewriteContext) -> Table | None:
    node = inner.args["from_"].this
    if not isinstance(node, exp.Table) or not is_named(node) or is_cte(node):
        return None
    alias = node.args.get("alias")
    if alias is not None and alias.columns:
        return None
    found = context.catalog.get(table_name(node, context))
    return found if isinstance(found, Table) else None


class _Substitution:
    """Puts what a subquery's columns are in the place of their names in the query around it."""

    def __init__(
        self,
        outer: exp.Select,
        name: str,
        values: Mapping[str, exp.Expr],
        inner: exp.Select,
        context: RewriteContext,
    ) -> None:
        self._outer = outer
        self._name = name
        self._values = values
        self._starred = _only_table(inner, context) if "*" in values else None
        self._aliases = {fold(s.alias): s for s in outer.expressions}
        self._used: dict[str, set[str]] = {}

    def done(self) -> bool:
        """Put all of them in their places; False where one is not understood."""
        if "*" in self._values and self._starred is None:
            return False
        group = self._outer.args.get("group")
        has_sets = group is not None and group.find(*_SETS) is not None
        places = ("where", "expressions", "group", "having", "order")
        if not all(self._in(place) for place in places):
            return False
        # Grouping sets tell two columns apart that are one expression.
        return not has_sets or all(len(names) == 1 for names in self._used.values())

    def _in(self, place: str) -> bool:
        nodes = self._outer.args.get(place)
        if place == "group" and nodes is not None:
            return all(self._in_group(node) for node in list(nodes.expressions))
        if nodes is None:
            return True
        roots = nodes if isinstance(nodes, list) else [nodes]
        return all(self._columns(root, place) for root in list(roots))

    def _in_group(self, node: exp.Expr) -> bool:
        alias = self._aliases.get(fold(node.name)) if isinstance(node, exp.Column) else None
        if isinstance(node, exp.Column) and not node.table and self._value(node) is None:
            if alias is None:
                return False
            node.replace(alias.unalias().copy())
            return True
        return self._columns(node, "group")

    def _columns(self, root: exp.Expr, place: str) -> bool:
        for column in list(root.find_all(exp.Column)):
            if place == "order" and not column.table and fold(column.name) in self._aliases:
                continue
            value = self._value(column)
            if value is None:
                return False
            column.replace(value)
        return True

    def _value(self, column: exp.Column) -> exp.Expr | None:
        if column.table and fold(column.table) != self._name:
            return None
        if column.args.get("db") or isinstance(column.this, exp.Star):
            return None
        name = fold(column.name)
        found = self._values.get(name)
        if found is None and self._starred is not None:
            if self._starred.find(column.name) is None:
                return None
            found = exp.Column(this=column.this.copy())
        if found is None:
            return None
        if isinstance(found, exp.Column) and not isinstance(found.this, exp.Identifier):
            return None
        self._used.setdefault(found.sql(), set()).add(name)
        bare = isinstance(found, (*_SIMPLE, exp.Func)) and not isinstance(found, exp.Binary)
        return found.copy() if bare else exp.Paren(this=found.copy())
