"""The relations of a FROM clause: tables, queries, joins, laterals, pivots, and their stars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from rewriter.lineage.expressions import ExpressionReader
from rewriter.lineage.scope import Environment, Scope, fold
from rewriter.lineage.sources import (
    AGGREGATION,
    CONDITIONAL,
    FILTER,
    GROUP_BY,
    JOIN,
    NONE,
    TRANSFORMATION,
    Cell,
    Relation,
    Sources,
    Untraceable,
    deciding,
    passed,
    united,
)

_OF_ROWS = (exp.Func, exp.Bracket, exp.Dot, exp.Column, exp.Unnest, exp.Alias, exp.Tuple, exp.Array)
_COLUMNS_MADE: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Explode: ("col",),
    exp.ExplodeOuter: ("col",),
    exp.Posexplode: ("pos", "col"),
    exp.PosexplodeOuter: ("pos", "col"),
    exp.GenerateSeries: ("generate_series",),
}
_GENERATORS = frozenset(
    {"range", "generate_series", "generate_subscripts", "generator", "sequence", "numbers", "zeros"}
    | {"unnest", "explode", "posexplode", "inline", "stack", "json_tuple", "json_each", "json_tree"}
    | {"json_table", "openjson", "string_split", "split_to_table", "flatten", "repeat_row", "glob"}
)


class RelationSource(Protocol):
    """What gives the relations of queries and tables."""

    def read(
        self, query: exp.Expr, parent: Scope | None = None, around: Environment | None = None
    ) -> Relation:
        """The relation of a query."""

    def table(self, node: exp.Table) -> Relation:
        """The relation of a table that is no common table expression."""

    def values(self, node: exp.Values, scope: Scope) -> Relation:
        """The relation of a VALUES."""


class FromReader:
    """Fills a scope with the relations of a query's FROM, joins and lateral views.

    ``expressions`` reads expressions in that scope.
    """

    def __init__(self, queries: RelationSource, scope: Scope, around: Environment) -> None:
        self._queries = queries
        self.scope = scope
        self._around = around
        self.expressions = ExpressionReader(
            scope, lambda query, parent: queries.read(query, parent, around)
        )
        self.repeats: Sources = NONE
        """What decides only how often a row is there, besides what the methods return."""
        self._hidden: set[tuple[str, str]] = set()
        """Columns of a join's right side that a star does not show again."""

    def where(self, node: exp.Expr) -> Sources:
        """What the WHERE of a statement decides with."""
        where = node.args.get("where")
        return NONE if where is None else self.expressions.deciding([where.this], FILTER)

    def read(self, query: exp.Select) -> Sources:
        """Read all of it; what the joins and the queries in it decide its rows with.

        ``repeats`` says what decides besides how often each row is there.
        """
        clause = query.args.get("from_")
        found = self.add(clause.this) if clause is not None else NONE
        for lateral in query.args.get("laterals") or []:
            found |= self.add(lateral)
        for join in query.args.get("joins") or []:
            found |= self.join(join)
        return found

    def add(self, node: exp.Expr) -> Sources:
        """See a relation and what is joined to it; what decides with it."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)):
            found = self._parenthesized(node)
        else:
            relation = self._relation(node)
            name = fold(node.alias_or_name)
            full = ".".join(fold(p) for p in node.parts) if isinstance(node, exp.Table) else ""
            if isinstance(node, exp.Lateral) and not name:
                name = "lateral"
            self.scope.add(name, relation, full)
            found = relation.presence()
            self.repeats |= relation.repeats
        for lateral in node.args.get("laterals") or []:
            found |= self.add(lateral)
        for join in node.args.get("joins") or []:
            found |= self.join(join)
        return found

    def table(self, node: exp.Table) -> Relation:
        """The relation of a table, a common table expression or a table function."""
        return self._relation(node)

    def all_columns(self) -> Relation:
        """All columns of the scope, as a star shows them."""
        return self._all(list(self.scope.relations), set(), {})

    def star(self, node: exp.Expr, star: exp.Star, reader: ExpressionReader) -> Relation:
        """The columns of ``*`` or ``t.*``, without those of EXCEPT and with those of REPLACE."""
        without = {fold(c) for c in star.args.get("except_") or []}
        replaced = {fold(e.alias): reader.cell(e.this) for e in star.args.get("replace") or []}
        renamed = {fold(e.this): fold(e.alias) for e in star.args.get("rename") or []}
        if isinstance(node, exp.Column):
            parts = [fold(p) for p in node.parts[:-1]]
            relation = self.scope.relation_named(parts)
            if relation is None:
                return Relation(["*"], [self._fields_of(parts)])
            found = _made_known(relation)
        else:
            found = self._all(list(self.scope.relations), without, {})
        kept = [
            (renamed.get(name, name), replaced.get(name, cell))
            for name, cell in zip(found.names, found.cells, strict=True)
            if name not in without
        ]
        return Relation(
            [n for n, _ in kept], [c for _, c in kept], open=found.open, other=found.other
        )

    def _fields_of(self, parts: Sequence[str]) -> Cell:
        """``s.*`` of a struct: its fields, however many."""
        try:
            found = self.scope.unqualified(parts[0])
        except Untraceable as error:
            return Cell(unknown=str(error))
        return Cell(passed(found.sources, TRANSFORMATION), "the fields of a struct are not known")

    def _all(self, aliases: Sequence[str], without: set[str], merged: dict[str, Cell]) -> Relation:
        names: list[str] = list(merged)
        cells: list[Cell] = list(merged.values())
        opens: tuple[str, ...] = ()
        others: list[Cell] = []
        for alias in aliases:
            relation = _made_known(self.scope.relations[alias])
            opens += relation.open
            others += [relation.other] if relation.other is not None else []
            for name, cell in zip(relation.names, relation.cells, strict=True):
                if (alias, name) in self._hidden or name in without:
                    continue
                names.append(name)
                cells.append(self.scope.merged.get(name, cell))
        return Relation(names, cells, open=opens, other=united(others) if others else None)

    def _parenthesized(self, node: exp.Subquery) -> Sources:
        """``(a JOIN b ON ..) AS x``: seen as they are, or as one under the alias."""
        inner = FromReader(self._queries, Scope(self.scope.parent), self._around)
        found = inner.add(node.this)
        for join in node.args.get("joins") or []:
            found |= inner.join(join)
        self.repeats |= inner.repeats
        if node.alias:
            columns = [fold(c) for c in node.alias_column_names]
            self.scope.add(fold(node.alias), inner.all_columns().named(columns))
            return found
        for alias, relation in inner.scope.relations.items():
            self.scope.add(alias, relation)
        self.scope.full_names |= inner.scope.full_names
        self.scope.merged |= inner.scope.merged
        self._hidden |= inner._hidden
        return found

    def _relation(self, node: exp.Expr) -> Relation:
        found = self._bare_relation(node)
        alias = node.args.get("alias")
        pivots = node.args.get("pivots") or []
        if not pivots and isinstance(alias, exp.TableAlias) and alias.columns:
            found = found.named([fold(c) for c in alias.columns])
        for pivot in pivots:
            found = self._pivoted(found, pivot)
        offset = node.args.get("offset")
        if isinstance(node, exp.Unnest) and isinstance(offset, exp.Identifier) and found.cells:
            # WITH OFFSET: where each entry stands.
            return Relation([*found.names, fold(offset)], [*found.cells, found.cells[0]])
        return found

    def _bare_relation(self, node: exp.Expr) -> Relation:
        match node:
            case exp.Table(this=exp.Identifier()):
                name = fold(node.name)
                if not node.db and name in self._around:
                    return self._around[name]
                return self._queries.table(node)
            case exp.Table(this=exp.Parameter() | exp.Var()):
                # A variable of T-SQL, a stage of Snowflake.
                return self._queries.table(node)
            case exp.Final() | exp.Stream() | exp.TableFromRows():
                return self._relation(node.this)
            case exp.Table(this=exp.Func() as function):
                return self._function(function)
            case exp.Values():
                return self._queries.values(node, self.scope)
            case exp.Lateral(this=exp.Subquery() as query):
                return self._queries.read(query, self.scope, self._around)
            case exp.Lateral() | exp.Unnest():
                return self._function(node.this if isinstance(node, exp.Lateral) else node)
            case exp.Subquery() if node.args.get("joins"):
                # ``add`` sees what is joined to it, as in Hive's FROM (..) a JOIN b .. SELECT.
                alone = node.copy()
                alone.set("joins", None)
                return self._queries.read(alone, self.scope.parent, self._around)
            case exp.Subquery() | exp.Query():
                return self._queries.read(node, self.scope.parent, self._around)
        return self._function(node)

    def _function(self, node: exp.Expr) -> Relation:
        """A function of rows: each column comes from all of its arguments, or from its file."""
        arguments = list(node.iter_expressions())
        first = arguments[0] if arguments else None
        if _reads_file(node) and isinstance(first, exp.Literal) and first.is_string:
            return Relation(open=(first.name,))
        cells = [
            self.expressions.cell(a)
            for a in arguments
            if not isinstance(a, (exp.TableAlias, exp.Identifier))
        ]
        made = united(cells)
        why = made.unknown
        if isinstance(node, exp.Anonymous) and not made.sources and not _generates(node):
            why = why or f"what the function {node.name.lower()} reads is not known"
        elif not isinstance(node, _OF_ROWS):
            why = why or f"{node.key.upper()} in FROM cannot be followed"
        cell = Cell(passed(made.sources, TRANSFORMATION), why)
        names = _COLUMNS_MADE.get(type(node), ())
        if isinstance(node, exp.Unnest) and len(node.expressions) == 1:
            names = (fold(node.alias) or "unnest",)
        return Relation(names, [cell] * len(names), other=cell)

    def join(self, join: exp.Join) -> Sources:
        """See what a JOIN adds; what it decides with."""
        before = list(self.scope.relations)
        influences = self.add(join.this)
        added = [alias for alias in self.scope.relations if alias not in before]
        names = [fold(c) for c in join.args.get("using") or []]
        if join.method.upper() == "NATURAL":
            left = {n for alias in before for n in self.scope.relations[alias].names}
            names = [n for a in added for n in self.scope.relations[a].names if n in left]
        for name in names:
            influences |= self._merge(name, before, added, join.side.upper())
        condition = join.args.get("on")
        if condition is not None:
            influences |= self.expressions.deciding([condition], JOIN)
        if join.side.upper() == "LEFT" and join.kind.upper() not in {"SEMI", "ANTI"}:
            return self._left_join(added, influences)
        if join.kind.upper() in {"SEMI", "ANTI"} or join.side.upper() in {"SEMI", "ANTI"}:
            # Its columns are seen by the condition alone.
            for alias in added:
                del self.scope.relations[alias]
        return influences

    def _left_join(self, added: list[str], decided: Sources) -> Sources:
        """What a LEFT JOIN decides about rows: only how often those of its left side are there.

        Whether its right side is there is a matter of the columns of that side.
        """
        sides = {alias: self.scope.relations[alias].outer(decided) for alias in added}
        if None in sides.values():
            return decided
        self.scope.relations.update({a: side for a, side in sides.items() if side is not None})
        self.repeats |= decided
        return NONE

    def _merge(self, name: str, before: list[str], added: list[str], side: str) -> Sources:
        """Make one column of two that USING names; both decide about the join."""
        left = self.scope.merged.get(name) or self._first(name, before)
        right = self._first(name, added)
        if side == "FULL":
            both = united([left, right])
            merged = Cell(passed(both.sources, TRANSFORMATION), both.unknown)
        else:
            merged = right if side == "RIGHT" else left
        self.scope.merged[name] = merged
        self._hidden |= {(alias, name) for alias in added}
        return deciding(left.sources | right.sources, JOIN)

    def _first(self, name: str, aliases: list[str]) -> Cell:
        relations = [self.scope.relations[alias] for alias in aliases]
        for relation in relations:
            if name in relation.by_name:
                return relation.by_name[name]
        opens = [r for r in relations if r.open]
        try:
            found = opens[0].find(name) if len(opens) == 1 else None
        except Untraceable as error:
            return Cell(unknown=str(error))
        return found or Cell(unknown=f"column {name} of USING could be of several tables")

    def _pivoted(self, found: Relation, pivot: exp.Pivot) -> Relation:
        scope = Scope(self.scope)
        scope.add("", found)
        reader = ExpressionReader(
            scope, lambda query, parent: self._queries.read(query, parent, self._around)
        )
        fields = [f for f in pivot.args.get("fields") or [] if isinstance(f, exp.In)]
        used = {fold(c) for f in fields for c in f.this.find_all(exp.Column)}
        if pivot.args.get("unpivot"):
            return self._unpivoted(found, pivot, fields, reader)
        made = [reader.cell(e) for e in pivot.expressions]
        used |= {fold(c) for e in pivot.expressions for c in e.find_all(exp.Column)}
        chosen = reader.deciding([f.this for f in fields], CONDITIONAL)
        values = united(made)
        cell = Cell(passed(values.sources, AGGREGATION) | chosen, values.unknown)
        names = [fold(c) for c in pivot.args.get("columns") or []]
        cells = [cell] * len(names)
        if len(made) > 1 and len(names) % len(made) == 0:
            # Aggregates take turns within each value.
            turns = [made[place % len(made)] for place in range(len(names))]
            cells = [Cell(c.sources | chosen, c.unknown) for c in turns]
        rest = [(n, c) for n, c in zip(found.names, found.cells, strict=True) if n not in used]
        # There is a row for each of their values.
        groups = deciding((s for _, c in rest for s in c.sources), GROUP_BY)
        names, cells = [n for n, _ in rest] + names, [c for _, c in rest] + cells
        alias = pivot.args.get("alias")
        result = Relation(names, cells, found.influences | groups, found.open)
        return result.named([fold(c) for c in alias.columns] if alias is not None else [])

    def _unpivoted(
        self,
        found: Relation,
        pivot: exp.Pivot,
        fields: Sequence[exp.In],
        reader: ExpressionReader,
    ) -> Relation:
        """The columns listed become rows: one column of their names, one of their values."""
        listed = [c for f in fields for e in f.expressions for c in e.find_all(exp.Column)]
        gone = {fold(c) for c in listed}
        value = united(reader.cell(c) for c in listed)
        names = [fold(n) for e in pivot.expressions for n in e.find_all(exp.Identifier)]
        labels = [fold(f.this) for f in fields]
        rest = [(n, c) for n, c in zip(found.names, found.cells, strict=True) if n not in gone]
        return Relation(
            [*(n for n, _ in rest), *labels, *names],
            [*(c for _, c in rest), *([Cell()] * len(labels)), *([value] * len(names))],
            found.influences,
            found.open,
            repeats=found.repeats,
        )


def _made_known(found: Relation) -> Relation:
    """A relation as a star shows it: what a function makes has columns that nobody has named."""
    if found.other is None:
        return found
    if found.cells:
        return Relation(found.names, found.cells, found.influences, found.open)
    other = found.other
    why = other.unknown or ("its columns are those of a function" if other.sources else None)
    return Relation(influences=found.influences, open=found.open, other=Cell(other.sources, why))


def _generates(node: exp.Anonymous) -> bool:
    """Whether a function makes rows of its arguments alone."""
    return node.name.lower() in _GENERATORS


def _reads_file(node: exp.Expr) -> bool:
    name = str(node.this) if isinstance(node, exp.Anonymous) else node.key
    return name.lower().startswith(("read", "scan", "parquet", "csv", "json", "st_read"))
