"""A simple view that FOR UPDATE names: its rows together with those of its table they come from.

A view is simple if each of its rows is one row of one table, as PostgreSQL has it of views that
can be updated. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, View
from journal.sql import dialects
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.functions import is_aggregate
from rewriter.name_resolution import find_relation, position_of
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import OLD_VERSION, old_name
from rewriter.writing.target import AliasedTable

_SIMPLE = frozenset({"expressions", "from_", "where", "kind", "hint"})


@dataclass(frozen=True, slots=True)
class ClaimedView:
    """A view under the alias that a query gives it, over the table whose rows it shows."""

    view: View
    alias: str
    base: AliasedTable
    query: exp.Select

    @property
    def table(self) -> Table:
        """The table whose rows are claimed."""
        return self.base.table

    @staticmethod
    def of(view: View, node: exp.Table, context: RewriteContext) -> ClaimedView:
        """The view that a table reference names; raises NOT_SUPPORTED if it is not simple."""
        query = dialects.stored(view.query)
        source = _only_table(query)
        if source is not None:
            inside = context.in_schema(view.name.schema)
            found = find_relation(source, inside)
            if isinstance(found, Table) and isinstance(query, exp.Select):
                base = AliasedTable.of(found, source, inside)
                alias = node.alias or node.name
                return ClaimedView(view, alias, base, _without_star(query, view, base))
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"FOR UPDATE of the view {view.name} is not supported",
            advice="claim the rows of its tables; a view may be claimed whose query is SELECT of"
            " one table, with WHERE at most",
            position=position_of(node),
        )

    def old_values(self) -> list[exp.Expr]:
        """Projections of a query over ``relation`` that stage the claimed row and its version."""
        return [column(name, self.alias) for name in self._old_names]

    @property
    def _old_names(self) -> list[str]:
        return [*(old_name(i) for i in range(len(self.table.stored))), OLD_VERSION]

    def relation(self, reads: Reads) -> exp.Subquery:
        """The rows of the view under its alias, with the values of the table's rows beside them."""
        query = self.query.copy()
        query.set("expressions", [*query.expressions, *self.base.old_values()])
        source = _only_table(query)
        assert source is not None
        marker = exp.Placeholder(this="claimed")
        source.replace(marker)
        root = exp.Subquery(this=query)
        reads.rewrite_in(root, self.view.name.schema)
        marker.replace(self.base.relation(reads))
        reads.names.add(self.view.name)
        alias = exp.TableAlias(this=ident(self.alias))
        if self.view.columns:
            alias.set("columns", [ident(c) for c in (*self.view.columns, *self._old_names)])
        return exp.Subquery(this=root.this, alias=alias)


def _only_table(query: exp.Expr) -> exp.Table | None:
    """The one table of a query of which each row is one of that table; None for other queries."""
    if not isinstance(query, exp.Select):
        return None
    if any(value and name not in _SIMPLE for name, value in query.args.items()):
        return None
    calls = (exp.AggFunc, exp.Window, exp.Anonymous, exp.Unnest, exp.Explode)
    for output in query.expressions:
        for call in output.find_all(*calls):
            if not isinstance(call, exp.Anonymous) or is_aggregate(call):
                return None
    source = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(source, exp.Table) or is_cte(source):
        return None
    named = isinstance(source.this, exp.Identifier)
    plain = not any(
        value and name not in {"this", "db", "catalog", "alias"}
        for name, value in source.args.items()
    )
    return source if named and plain else None


def _without_star(query: exp.Select, view: View, base: AliasedTable) -> exp.Select:
    """The query with the table's columns in the place of a star that stands alone."""
    star = query.expressions[0]
    if isinstance(star, exp.Star) and len(query.expressions) == 1 and not any(star.args.values()):
        names = [c.name for c in base.table.columns]
        shown = names[: len(view.columns)] if view.columns else names
        query.set("expressions", [column(name, base.alias) for name in shown])
    elif any(output.find(exp.Star) for output in query.expressions):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"FOR UPDATE of {view.name}, which shows * and more, is not supported",
            advice="name the columns in the view's query, or claim the rows of its table",
        )
    return query
