"""The sources of an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from rewriter.functions import MASKING_FUNCTIONS
from rewriter.lineage.scope import Scope, fold
from rewriter.lineage.sources import (
    AGGREGATION,
    CONDITIONAL,
    NONE,
    SORT,
    TRANSFORMATION,
    WINDOW,
    Cell,
    ColumnSource,
    Relation,
    Sources,
    Untraceable,
    deciding,
    passed,
)

ReadQuery = Callable[[exp.Expr, Scope], Relation]
_KEYWORDS = frozenset({"default", "grouping__id"})
_WINDOWS_MAX = 16
_SAME = (exp.Alias, exp.Paren, exp.PivotAlias)
_OF_DIFFERENT = (exp.Max, exp.Min, exp.LogicalAnd, exp.LogicalOr)
"""Aggregates that equal rows do not change."""
_OF_ONE_ROW = (exp.Lag, exp.Lead, exp.NthValue)
"""What a window function takes from another row, and is no aggregate of several."""
_AGGREGATES = frozenset(
    {"collect_list", "collect_set", "group_concat", "listagg", "percentile_approx", "corr"}
)


class ExpressionReader:
    """Reads expressions in one scope; ``query`` reads the queries within them."""

    def __init__(self, scope: Scope, query: ReadQuery) -> None:
        self.scope = scope
        self._query = query
        self.aggregates = False
        """Whether an aggregate of all rows has been read, one without OVER."""
        self.counts = False
        """Whether something has been read that depends on how often a row is there."""

    def cell(self, node: exp.Expr) -> Cell:
        """What a value comes from."""
        try:
            return Cell(self.sources(node), fields=self._fields(node.unalias()))
        except Untraceable as error:
            return Cell(unknown=str(error))

    def _fields(self, node: exp.Expr) -> dict[str, Cell] | None:
        """The fields of a struct that is made here, if all of them have names."""
        parts = node.expressions if isinstance(node, exp.Struct) else ()
        if not parts or not all(isinstance(part, exp.PropertyEQ) for part in parts):
            return None
        return {fold(part.this): self.cell(part.expression) for part in parts}

    def deciding(self, nodes: Iterable[exp.Expr], subtype: str) -> Sources:
        """What expressions decide with, of a subtype; what cannot be told is left out."""
        found: set[tuple[str, str, str, str, bool]] = set()
        for node in nodes:
            try:
                found |= deciding(self.sources(node), subtype)
            except Untraceable:
                # The columns of the result say so themselves; a filter has no line of its own.
                continue
        return frozenset(found)  # type: ignore[arg-type]

    def sources(self, node: exp.Expr) -> Sources:
        """The sources of a value; raises Untraceable."""
        if isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.DataType, exp.Var)):
            return NONE
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Parameter) and node.this.is_int:
            return self._column_by_place(int(node.name))
        if isinstance(node, _SAME):
            return self.sources(node.this)
        reader = _READERS.get(type(node))
        if reader is not None:
            return reader(self, node)
        if isinstance(node, (exp.Query, exp.Subquery)):
            return self._scalar_query(node)
        is_aggregate = isinstance(node, exp.AggFunc) and not isinstance(node, _OF_ONE_ROW)
        if is_aggregate or _name_of(node) in _AGGREGATES:
            # The scalar max(a, b) of SQLite is one of a row.
            self.aggregates = self.aggregates or not node.args.get("expressions")
            if not isinstance(node, _OF_DIFFERENT) and not isinstance(node.this, exp.Distinct):
                self.counts = True
            return passed(self._parts(node), AGGREGATION, masking=isinstance(node, exp.Count))
        return passed(
            self._parts(node), TRANSFORMATION, masking=_name_of(node) in MASKING_FUNCTIONS
        )

    def _column(self, node: exp.Column) -> Sources:
        if isinstance(node.this, exp.Star) or self._is_keyword(node):
            return NONE
        cell, fields = self.scope.cell(node)
        if cell.unknown is not None:
            raise Untraceable(cell.unknown)
        if not fields:
            return cell.sources
        one = cell.field([fold(part) for part in node.parts[-fields:]])
        if one is None:
            return passed(cell.sources, TRANSFORMATION)
        if one.unknown is not None:
            raise Untraceable(one.unknown)
        return one.sources

    def _column_by_place(self, place: int) -> Sources:
        """``$1`` of a stage of Snowflake; elsewhere it is a parameter."""
        for relation in self.scope.relations.values():
            if len(relation.open) == 1 and relation.open[0].startswith("@"):
                return frozenset([ColumnSource(relation.open[0], f"${place}")])
        return NONE

    def _is_keyword(self, node: exp.Column) -> bool:
        """DEFAULT for a value, and GROUPING__ID, which says of what group a row is."""
        name = fold(node)
        if node.table or node.this.args.get("quoted") or name not in _KEYWORDS:
            return False
        return all(name not in found.by_name for found in self.scope.relations.values())

    def _parts(self, node: exp.Expr) -> Sources:
        found: set[object] = set()
        for part in node.iter_expressions():
            if isinstance(part, exp.Order):
                if part.this is not None:
                    found |= self.sources(part.this)
                for ordered in part.expressions:
                    found |= deciding(self._parts(ordered), SORT)
            else:
                found |= self.sources(part)
        return frozenset(found)  # type: ignore[arg-type]

    def _scalar_query(self, node: exp.Expr) -> Sources:
        return self._rows_of(node, repeated=True)

    def _rows_of(self, node: exp.Expr, *, repeated: bool) -> Sources:
        """The values of a query, and what decides about its rows."""
        found = self._query(node, self.scope)
        if found.open:
            raise Untraceable(f"the columns of {', '.join(found.open)} are not known")
        sources: set[object] = set(found.influences if repeated else found.presence())
        for cell in found.cells:
            if cell.unknown is not None:
                raise Untraceable(cell.unknown)
            sources |= cell.sources
        return frozenset(sources)  # type: ignore[arg-type]

    def _case(self, node: exp.Expr) -> Sources:
        assert isinstance(node, exp.Case)
        found: set[object] = set()
        if node.this is not None:
            found |= deciding(self.sources(node.this), CONDITIONAL)
        for branch in node.args["ifs"]:
            found |= deciding(self.sources(branch.this), CONDITIONAL)
            found |= passed(self.sources(branch.args["true"]), TRANSFORMATION)
        if node.args.get("default") is not None:
            found |= passed(self.sources(node.args["default"]), TRANSFORMATION)
        return frozenset(found)  # type: ignore[arg-type]

    def _if(self, node: exp.Expr) -> Sources:
        found: set[object] = set(deciding(self.sources(node.this), CONDITIONAL))
        for name in ("true", "false"):
            if node.args.get(name) is not None:
                found |= passed(self.sources(node.args[name]), TRANSFORMATION)
        return frozenset(found)  # type: ignore[arg-type]

    def _window(self, node: exp.Expr) -> Sources:
        before = self.aggregates
        found: set[object] = set(passed(self.sources(node.this), TRANSFORMATION))
        self.aggregates, self.counts = before, True
        window: exp.Expr | None = node
        for _ in range(_WINDOWS_MAX):
            if window is None:
                break
            order = window.args.get("order")
            parts = window.args.get("partition_by") or []
            for part in (*parts, *(order.expressions if order else [])):
                found |= deciding(self.sources(part), WINDOW)
            # OVER w, or OVER (w ORDER BY ..), of WINDOW w AS (..).
            name = window.args.get("alias")
            window = None if name is None else self.scope.windows.get(fold(name))
        return frozenset(found)  # type: ignore[arg-type]

    def _filtered(self, node: exp.Expr) -> Sources:
        condition = node.expression
        where = condition.this if isinstance(condition, exp.Where) else condition
        return self.sources(node.this) | deciding(self.sources(where), CONDITIONAL)

    def _within_group(self, node: exp.Expr) -> Sources:
        order = node.expression
        parts = order.expressions if isinstance(order, exp.Order) else [order]
        found = set(self.sources(node.this))
        for part in parts:
            found |= passed(self.sources(part), AGGREGATION)
        return frozenset(found)

    def _dot(self, node: exp.Expr) -> Sources:
        inner = node.this.unnest()
        if isinstance(inner, exp.Column) and not inner.table:
            row = self.scope.row_of(fold(inner))
            cell = None if row is None else row.find(fold(node.expression))
            if cell is not None and cell.unknown is None:
                return cell.sources
        return passed(self.sources(node.this), TRANSFORMATION)

    def _lambda(self, node: exp.Expr) -> Sources:
        names = {fold(name) for name in node.expressions} - self.scope.bound
        self.scope.bound |= names
        try:
            return self.sources(node.this)
        finally:
            self.scope.bound -= names

    def _exists(self, node: exp.Expr) -> Sources:
        found = self._query(node.this, self.scope) if isinstance(node.this, exp.Query) else None
        return found.presence() if found is not None else passed(self._parts(node), TRANSFORMATION)

    def _in(self, node: exp.Expr) -> Sources:
        """IN: of a query it matters which rows there are, not how often."""
        query = node.args.get("query")
        if query is None:
            return passed(self._parts(node), TRANSFORMATION)
        rows = self._rows_of(query, repeated=False)
        return passed(self.sources(node.this) | rows, TRANSFORMATION)

    def _entry(self, node: exp.Expr) -> Sources:
        """A field of a struct, an entry of a map, a named argument: its name may be a value."""
        name = NONE if isinstance(node.this, exp.Identifier) else self.sources(node.this)
        return name | self.sources(node.expression)

    def _matching_columns(self, node: exp.Expr) -> Sources:
        raise Untraceable(f"{node.sql()} means columns by a pattern")

    def _no_sources(self, _node: exp.Expr) -> Sources:
        return NONE


def _name_of(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


_READERS: dict[type[exp.Expr], Callable[[ExpressionReader, exp.Expr], Sources]] = {
    exp.Case: ExpressionReader._case,
    exp.If: ExpressionReader._if,
    exp.Window: ExpressionReader._window,
    exp.Filter: ExpressionReader._filtered,
    exp.WithinGroup: ExpressionReader._within_group,
    exp.Dot: ExpressionReader._dot,
    exp.Lambda: ExpressionReader._lambda,
    exp.Exists: ExpressionReader._exists,
    exp.In: ExpressionReader._in,
    exp.PropertyEQ: ExpressionReader._entry,
    exp.Columns: ExpressionReader._matching_columns,
    exp.Star: ExpressionReader._no_sources,
    exp.Identifier: ExpressionReader._no_sources,
    exp.Placeholder: ExpressionReader._no_sources,
    exp.Parameter: ExpressionReader._no_sources,
}
