"""The columns of a query, each with what it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from rewriter.lineage.expressions import ExpressionReader
from rewriter.lineage.from_clause import FromReader
from rewriter.lineage.scope import Environment, Scope, fold
from rewriter.lineage.sources import (
    FILTER,
    GROUP_BY,
    NONE,
    SORT,
    TRANSFORMATION,
    Cell,
    Relation,
    Sources,
    Untraceable,
    deciding,
    passed,
    united,
)

_ROUNDS_MAX = 10
_CHOOSING = ("limit", "offset", "sample")
"""Clauses that keep some of the rows."""
_OF_GROUPS = ("group", "having", "qualify")
TableReader = Callable[[exp.Table], Relation]
ChangeReader = Callable[[exp.Expr], Relation]
NameGiver = Callable[[exp.Expr, int], str]


class QueryReader:
    """Reads queries; ``tables`` gives relations of tables, ``names`` names of outputs without.

    ``changes`` gives what the RETURNING of a statement gives that stands in a WITH. ``chained``:
    an output may name one that stands before it. ``recurses``: a common table expression may read
    itself without the word RECURSIVE.
    """

    def __init__(
        self,
        tables: TableReader,
        names: NameGiver,
        changes: ChangeReader | None = None,
        *,
        chained: bool = True,
        recurses: bool = False,
    ) -> None:
        self._chained = chained
        self._recurses = recurses
        self._tables = tables
        self._names = names
        self._changes = changes

    def read(
        self, query: exp.Expr, parent: Scope | None = None, around: Environment | None = None
    ) -> Relation:
        """The relation of a query; raises Untraceable where nothing of it can be told."""
        around = self.environment(query, parent, around or {})
        match query:
            case exp.Subquery():
                found = self._subquery(query, parent, around)
            case exp.SetOperation():
                found = self._set_operation(query, parent, around)
            case exp.Select():
                found = self._select(query, parent, around)
            case exp.Values():
                found = self.values(query, Scope(parent))
            case exp.Table():
                reader = FromReader(self, Scope(parent), around)
                found = reader.table(query)
            case _:
                raise Untraceable(f"{query.key.upper()} is no query that can be followed")
        if found.repeats and any(query.args.get(name) for name in _CHOOSING):
            # Which rows are among the first depends on how often each of them is there.
            return _with_rows(found, found.influences, NONE)
        return found

    def table(self, node: exp.Table) -> Relation:
        """The relation of a table that is no common table expression."""
        return self._tables(node)

    def values(self, node: exp.Values, scope: Scope) -> Relation:
        """The relation of a VALUES, whose rows may have queries in them."""
        reader = self._expressions(scope, {})
        rows = [row.expressions or [row] for row in node.expressions]
        width = len(rows[0]) if rows else 0
        if any(len(row) != width for row in rows):
            raise Untraceable("the rows of VALUES differ in their number of values")
        cells = [united(reader.cell(row[place]) for row in rows) for place in range(width)]
        names = [f"col{place + 1}" for place in range(width)]
        alias = node.args.get("alias")
        return Relation(names, cells).named([fold(c) for c in alias.columns] if alias else [])

    def _expressions(self, scope: Scope, around: Environment) -> ExpressionReader:
        return ExpressionReader(scope, lambda query, parent: self.read(query, parent, around))

    def environment(
        self, query: exp.Expr, parent: Scope | None, around: Environment
    ) -> Environment:
        """The relations of a WITH clause beside those around it."""
        clause = query.args.get("with_")
        if clause is None:
            return around
        known = dict(around)
        for cte in clause.expressions:
            name = fold(cte.alias)
            columns = [fold(c) for c in cte.args["alias"].columns]
            if self._changes is not None and isinstance(cte.this, exp.DML):
                known[name] = _renamed(self._changes(cte.this), columns)
            elif isinstance(cte.this, exp.SetOperation) and (
                clause.recursive or (self._recurses and _reads(cte.this.expression, name))
            ):
                known[name] = self._recursive(cte.this, name, columns, parent, known)
            else:
                known[name] = _renamed(self.read(cte.this, parent, known), columns)
        return known

    def _recursive(
        self,
        union: exp.SetOperation,
        name: str,
        columns: Sequence[str],
        parent: Scope | None,
        around: dict[str, Relation],
    ) -> Relation:
        """A query that reads itself: what it gives is read again until nothing is added."""
        found = _renamed(self.read(union.this, parent, around), columns)
        for _ in range(_ROUNDS_MAX):
            again = self.read(union.expression, parent, {**around, name: found})
            cells = [united(pair) for pair in zip(found.cells, again.cells, strict=False)]
            influences = found.influences | again.influences | _compared(union, found, again)
            grown = Relation(found.names, cells, influences)  # repeats count as all others
            if grown == found:
                break
            found = grown
        return found

    def _subquery(self, query: exp.Subquery, parent: Scope | None, around: Environment) -> Relation:
        inner = query.this
        if isinstance(inner, exp.Table) or query.args.get("joins"):
            scope = Scope(parent)
            reader = FromReader(self, scope, around)
            presence = reader.add(query)
            return _with_rows(reader.all_columns(), presence, reader.repeats)
        found = self.read(inner, parent, around)
        return _renamed(found, [fold(c) for c in query.alias_column_names])

    def _set_operation(
        self, query: exp.SetOperation, parent: Scope | None, around: Environment
    ) -> Relation:
        left = self.read(query.this, parent, around)
        right = self.read(query.expression, parent, around)
        influences = left.influences | right.influences
        if left.open or right.open:
            return Relation(influences=influences, open=(*left.open, *right.open))
        others = [side.other for side in (left, right) if side.other is not None]
        if others:
            cell = united([*others, *left.cells, *right.cells])
            return Relation(influences=influences, other=cell)
        repeats = NONE
        if query.args.get("distinct"):
            influences = left.presence() | right.presence() | _compared(query, left, right)
        elif isinstance(query, exp.Union):
            repeats = influences - (left.presence() | right.presence())
        else:
            influences |= _compared(query, left, right)
        if not isinstance(query, exp.Union):
            # No row comes from the right side: it only says which rows of the left side stay.
            return Relation(left.names, left.cells, influences)
        if query.args.get("by_name"):
            names = list(dict.fromkeys([*left.names, *right.names]))
            cells = [
                united(side.by_name[name] for side in (left, right) if name in side.by_name)
                for name in names
            ]
            return Relation(names, cells, influences, repeats=repeats)
        if len(left.cells) != len(right.cells):
            raise Untraceable("the branches of a UNION differ in their number of columns")
        cells = [united(pair) for pair in zip(left.cells, right.cells, strict=True)]
        return Relation(left.names, cells, influences, repeats=repeats)

    def _select(self, query: exp.Select, parent: Scope | None, around: Environment) -> Relation:
        scope = Scope(parent)
        from_reader = FromReader(self, scope, around)
        presence = from_reader.read(query)
        if query.args.get("match") is not None:
            raise Untraceable("MATCH_RECOGNIZE cannot be followed")
        reader = self._expressions(scope, around)
        scope.windows = {fold(w.this): w for w in query.args.get("windows") or []}
        names: list[str] = []
        cells: list[Cell] = []
        opens: tuple[str, ...] = ()
        others: list[Cell] = []
        counting: list[int] = []
        aliases = scope.aliases if self._chained else {}
        for place, node in enumerate(query.expressions):
            if isinstance(node, exp.QueryTransform):
                found = _script(node, from_reader, reader)
                scope.aliases |= found.by_name
                presence |= self._decided(query, reader, found.cells)
                return _with_rows(found, presence, from_reader.repeats)
            star = _star_of(node)
            if star is not None:
                found = from_reader.star(node, star, reader)
                opens += found.open
                others += [found.other] if found.other is not None else []
                names += found.names
                cells += found.cells
                continue
            reader.counts = False
            cell = reader.cell(node)
            if reader.counts:
                counting.append(len(cells))
            if isinstance(node, exp.Aliases):
                # A function that gives several columns at once.
                names += [fold(part) for part in node.expressions]
                cells += [cell] * len(node.expressions)
                continue
            name = _given_name(node) or self._names(node, place)
            names.append(name)
            cells.append(cell)
            if isinstance(node, exp.Alias):
                aliases.setdefault(name, cell)
        scope.aliases = aliases
        presence |= self._decided(query, reader, cells)
        repeats = from_reader.repeats
        if reader.aggregates and not any(query.args.get(name) for name in _OF_GROUPS):
            # One row whatever there is: what decides about its rows is in what is made of them.
            for place, cell in enumerate(cells):
                decided = presence | repeats if place in counting else presence
                if cell.sources or place in counting:
                    cells[place] = Cell(cell.sources | decided, cell.unknown)
            return Relation(names, cells, open=opens)
        if repeats:
            for place in counting:
                cells[place] = Cell(cells[place].sources | repeats, cells[place].unknown)
            presence, repeats = _decided_by_repeats(query, presence, repeats)
        other = united(others) if others else None
        return Relation(names, cells, presence | repeats, opens, other, repeats=repeats - presence)

    def _decided(
        self, query: exp.Select, reader: ExpressionReader, cells: Sequence[Cell]
    ) -> Sources:
        """What the clauses of a query decide its rows with."""
        found = NONE
        for name in ("where", "having", "qualify"):
            clause = query.args.get(name)
            if clause is not None:
                found |= reader.deciding([clause.this], FILTER)
        levels = query.args.get("connect")
        if levels is not None:
            clauses = (levels.args.get("start"), levels.args["connect"])
            found |= reader.deciding([c for c in clauses if c is not None], FILTER)
        group = query.args.get("group")
        if group is not None:
            sets = [
                part
                for name in ("expressions", "cube", "rollup", "grouping_sets")
                for part in (group.args.get(name) or [])
                if isinstance(part, exp.Expr)
            ]
            if group.args.get("all"):
                sets += [e for e in query.expressions if e.find(exp.AggFunc, exp.Star) is None]
            found |= self._by_place(sets, reader, cells, GROUP_BY)
        distinct = query.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            found |= reader.deciding([distinct.args["on"]], GROUP_BY)
        elif distinct is not None:
            found |= _deciding_cells(cells, GROUP_BY)
        for name in ("order", "sort", "cluster", "distribute"):
            clause = query.args.get(name)
            if clause is not None:
                parts = [p.this if isinstance(p, exp.Ordered) else p for p in clause.expressions]
                found |= self._by_place(parts, reader, cells, SORT)
        return found

    def _by_place(
        self,
        parts: Sequence[exp.Expr],
        reader: ExpressionReader,
        cells: Sequence[Cell],
        subtype: str,
    ) -> Sources:
        """What GROUP BY or ORDER BY decide with; a number means an output."""
        found = NONE
        for part in parts:
            if isinstance(part, exp.Literal) and not part.is_string and part.name.isdigit():
                place = int(part.name) - 1
                if 0 <= place < len(cells):
                    found |= deciding(cells[place].sources, subtype)
            else:
                found |= reader.deciding([part], subtype)
        return found


def _compared(query: exp.SetOperation, left: Relation, right: Relation) -> Sources:
    """What a set operation decides its rows with: whole rows of both sides, unless it keeps all."""
    if not isinstance(query, exp.Union):
        subtype = FILTER
    elif query.args.get("distinct"):
        subtype = GROUP_BY
    else:
        return NONE
    return _deciding_cells([*left.cells, *right.cells], subtype)


def _deciding_cells(cells: Sequence[Cell], subtype: str) -> Sources:
    """What rows decide with that are compared in all their columns."""
    return deciding((source for cell in cells for source in cell.sources), subtype)


def _reads(query: exp.Expr, name: str) -> bool:
    return any(not table.db and fold(table) == name for table in query.find_all(exp.Table))


def _decided_by_repeats(
    query: exp.Select, presence: Sources, repeats: Sources
) -> tuple[Sources, Sources]:
    """What decides which rows a query gives, and how often, of what decides about those it reads.

    GROUP BY and DISTINCT make equal rows one. HAVING, QUALIFY and DISTINCT ON may count them.
    """
    distinct = query.args.get("distinct")
    of_first = distinct is not None and distinct.args.get("on") is not None
    if of_first or query.args.get("having") or query.args.get("qualify"):
        return presence | repeats, NONE
    if distinct is not None or query.args.get("group"):
        return presence, NONE
    return presence, repeats


def _with_rows(found: Relation, presence: Sources, repeats: Sources) -> Relation:
    """A relation of whose rows other things decide."""
    influences, repeats = presence | repeats, repeats - presence
    return Relation(
        found.names, found.cells, influences, found.open, found.other, found.hidden, repeats
    )


def _star_of(node: exp.Expr) -> exp.Star | None:
    if isinstance(node, exp.Star):
        return node
    if isinstance(node, (exp.Column, exp.Columns)) and isinstance(node.this, exp.Star):
        return node.this
    return None


def _given_name(node: exp.Expr) -> str:
    """The alias of an output, or the name of the column that it is; empty for others."""
    return fold(node.alias_or_name) if isinstance(node, (exp.Alias, exp.Column, exp.Dot)) else ""


def _renamed(found: Relation, columns: Sequence[str]) -> Relation:
    return found.named(columns) if columns else found


def _script(
    node: exp.QueryTransform, from_reader: FromReader, reader: ExpressionReader
) -> Relation:
    """SELECT TRANSFORM: a program makes each output of all inputs."""
    inputs: list[Cell] = []
    for part in node.expressions:
        star = _star_of(part)
        if star is None:
            inputs.append(reader.cell(part))
            continue
        found = from_reader.star(part, star, reader)
        inputs += found.named(["*"]).cells if found.open else found.cells
    made = united(inputs)
    cell = Cell(passed(made.sources, TRANSFORMATION), made.unknown)
    schema = node.args.get("schema")
    names = [fold(part) for part in schema.expressions] if schema is not None else ["key", "value"]
    return Relation(names, [cell] * len(names))
