"""Reading: every logical table of a query becomes the relation that shows what it shall show.

``Reads`` collects what was read and through which shape. The relation projects just the business
columns under their logical names, so stars need no expansion. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import P_SNAPSHOT, Kind, Shape, StatementPlan, Step
from journal.relations import Output, Reader, business_outputs, ident, version_value
from journal.schema import Table, TableName, View
from rewriter.context import RewriteContext, TimePoint
from rewriter.key_lookup import Keys, pinned_keys
from rewriter.names import find_relation, is_cte, position_of, table_name

_VIEW_DEPTH_MAX = 32
_FUNCTIONS = frozenset(
    {
        "generate_series",
        "range",
        "unnest",
        "read_csv",
        "read_csv_auto",
        "read_parquet",
        "read_json",
        "read_json_auto",
        "glob",
        "repeat_row",
        "json_each",
        "json_tree",
    }
)


@dataclass(slots=True)
class Reads:
    """Rewrites queries under one context and remembers what they read."""

    context: RewriteContext
    tables: dict[int, Table] = field(default_factory=dict)
    names: set[TableName] = field(default_factory=set)
    shapes: list[Shape] = field(default_factory=list)
    system: set[str] = field(default_factory=set)
    _depth: int = 0

    def rewrite(self, query: exp.Expr) -> exp.Expr:
        """``query`` with every logical table replaced; the AST given is changed in place."""
        for table in list(query.find_all(exp.Table)):
            self._replace(table)
        for column in query.find_all(exp.Column):
            if column.args.get("db") is not None:
                column.set("db", None)
                column.set("catalog", None)
        return query

    def rewrite_around(self, query: exp.Select, target: exp.Subquery) -> None:
        """Rewrite a query whose FROM is a placeholder for ``target``, and put that in."""
        place = query.args["from_"].this
        place.replace(exp.Placeholder(this="target"))
        self.rewrite(query)
        query.args["from_"].set("this", target)

    def plan(
        self,
        kind: Kind,
        steps: Sequence[Step],
        written: Table | None,
        tag: str,
        *,
        bounded: bool = False,
    ) -> StatementPlan:
        """A plan of these steps with everything that was read so far."""
        writes = frozenset() if written is None else frozenset({written.name})
        return StatementPlan(
            kind,
            tuple(steps),
            frozenset(self.names),
            writes,
            tuple(dict.fromkeys(self.shapes)),
            tag,
            frozenset(self.tables),
            frozenset(self.system),
            bounded,
        )

    def relation(
        self, table: Table, outputs: list[Output], keys: Keys | None = None
    ) -> exp.Query:
        """The current state of a table; with ``keys`` at least the row of that key."""
        sight = self.context.sights(table.id)
        self.tables[table.id] = table
        self.names.add(table.name)
        reader = Reader(table, sight.tiers)
        if sight.pinned:
            self._shape(table, "as of", "others committed to it since this transaction began")
            point = version_value(table, exp.Placeholder(this=P_SNAPSHOT))
            return reader.as_of(outputs, point)
        if keys is not None:
            self._shape(table, "key lookup", "the whole key is given")
            return reader.by_key(outputs, keys)
        if reader.is_plain():
            self._shape(table, "base", "nothing is uncompacted")
        else:
            tiers = ", ".join(sorted(sight.tiers))
            self._shape(table, "anti-join", f"open rows that no closing row names; tiers: {tiers}")
        return reader.current(outputs)

    def _shape(self, table: Table, shape: str, reason: str) -> None:
        self.shapes.append(Shape(table.name, shape, reason))

    def _replace(self, table: exp.Table) -> None:
        if not isinstance(table.this, exp.Identifier):
            self._check_function(table)
            return
        if is_cte(table):
            return
        journal = self.context.catalog.by_journal(table_name(table, self.context))
        if journal is not None and self.context.catalog.get(table_name(table, self.context)) is None:
            sight = self.context.sights(journal.id)
            self.tables[journal.id] = journal
            self.names.add(journal.journal_name)
            self._shape(journal, "journal", "the journal itself was named")
            self._put(table, Reader(journal, sight.tiers).journal())
            return
        found = find_relation(table, self.context)
        if isinstance(found, View):
            self._put(table, self._view(found, table))
        else:
            self._put(table, self._table(found, table))

    def _table(self, table: Table, node: exp.Table) -> exp.Query:
        point = self.context.as_of
        if point is not None:
            return self._past(table, point)
        keys = pinned_keys(node, table)
        return self.relation(table, business_outputs(table.columns), keys)

    def _past(self, table: Table, point: TimePoint) -> exp.Query:
        raise PalimpsestError(Code.NOT_SUPPORTED, "time travel is not supported here")

    def _view(self, view: View, node: exp.Table) -> exp.Query:
        if self._depth >= _VIEW_DEPTH_MAX:
            raise PalimpsestError(
                Code.NESTING_TOO_DEEP,
                f"views are nested more than {_VIEW_DEPTH_MAX} deep at {view.name}",
                advice="define the view over fewer layers",
                position=position_of(node),
            )
        self._depth += 1
        query = sqlglot.parse_one(view.query, read="duckdb")
        assert isinstance(query, exp.Query)
        self.rewrite(query)
        self._depth -= 1
        self.names.add(view.name)
        if view.columns:
            alias = exp.TableAlias(this=ident("v"), columns=[ident(c) for c in view.columns])
            return exp.select("*").from_(exp.Subquery(this=query, alias=alias))
        return query

    def _put(self, table: exp.Table, query: exp.Query) -> None:
        alias = table.args.get("alias") or exp.TableAlias(this=ident(table.name))
        subquery = exp.Subquery(this=query, alias=alias)
        for arg in ("joins", "laterals", "pivots", "sample"):
            if table.args.get(arg):
                subquery.set(arg, table.args[arg])
        table.replace(subquery)

    def _check_function(self, table: exp.Table) -> None:
        function = table.this
        name = function.name if isinstance(function, exp.Anonymous) else function.key
        known = name.lower().replace("_", "") in {f.replace("_", "") for f in _FUNCTIONS}
        if not known and not isinstance(function, exp.Values | exp.Explode | exp.GenerateSeries):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"table function {name} is not supported",
                advice="supported are " + ", ".join(sorted(_FUNCTIONS)),
                position=position_of(table),
            )
