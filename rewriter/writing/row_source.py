"""What an INSERT reads its rows from, as a query with columns ``c0..``, typed as the table's.

VALUES, one row of defaults, a query by position, or a query BY NAME; the parameter rows of an
``executemany`` take the place of a single VALUES row. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import BATCH, USER_PARAMETER
from journal.model.schema import Column, Table
from journal.model.trees import copy_tree
from journal.sql.sql import named, select, select_star
from rewriter.definitions.generated_values import writable_columns
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import INTERNAL, position_of
from rewriter.reading.key_lookup import Keys, is_computed
from rewriter.reading.output_names import output_names
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.visible_columns import columns_in_reach, unknown_output
from rewriter.syntax.value_places import WrongValueCount
from rewriter.writing.statement_part import staged_relation
from rewriter.writing.target import convert_value, default_value, find_column, is_default


def given_name(place: int) -> str:
    """Name of a column that the statement gives, by its place among those."""
    return f"{INTERNAL}c{place}"


def default_mark(place: int) -> str:
    """Name of the column that says in which rows a generated column is DEFAULT."""
    return f"{INTERNAL}d{place}"


class RowSource:
    """The rows of an INSERT's source.

    ``given`` are the columns they fill; ``some_defaults`` and ``only_defaults`` the places of
    generated columns for which some or all rows say DEFAULT (``d`` columns tell which);
    ``constants`` the values of a single row that are constants or computed of such, by physical
    column.
    """

    def __init__(
        self, reads: Reads, table: Table, ast: exp.Insert, given: list[Column] | None
    ) -> None:
        self._reads = reads
        self._table = table
        self._with = ast.args.get("with_")
        self._by_name = bool(ast.args.get("by_name"))
        self._implicit = given is None
        self.expression: exp.Expr | None = ast.expression
        self.given = writable_columns(table.columns) if given is None else list(given)
        self.row_count: int | None = None
        self.some_defaults: set[int] = set()
        self.only_defaults: set[int] = set()
        self.constants: Keys = {}
        if ast.args.get("default") or not isinstance(ast.expression, exp.Expr):
            self.rows = self._defaults()
        elif isinstance(ast.expression, exp.Values):
            self.rows = self._values(ast.expression)
        else:
            self.rows = self._query(ast.expression)

    def _defaults(self) -> exp.Query:
        self.given = []
        self.row_count = 1
        return exp.select(exp.alias_(exp.Literal.number(1), given_name(0)))

    def _values(self, values: exp.Values) -> exp.Query:
        if self._by_name:
            raise self._refusal("BY NAME needs a query whose columns have names", values)
        rows = self._without_generated([self._cells(row) for row in values.expressions])
        if rows and not any(rows) and (self._implicit or not self.given):
            self.row_count = len(rows)
            self.given = []
            cells = [exp.Tuple(expressions=[exp.Literal.number(1)]) for _ in rows]
            return _values_query(cells, [given_name(0)])
        self._fit_width(len(rows[0]), values, 0)
        for number, row in enumerate(rows):
            if len(row) != len(self.given):
                raise self._wrong_count(len(row), values, number)
        names = [given_name(i) for i in range(len(self.given))]
        marked = [i for i, c in enumerate(self.given) if c.identity is not None]
        for place in marked:
            defaults = [is_default(row[place]) for row in rows]
            if any(defaults):
                self.some_defaults.add(place)
            if all(defaults):
                self.only_defaults.add(place)
        names += [default_mark(i) for i in sorted(self.some_defaults)]
        tuples = [exp.Tuple(expressions=self._typed_cells(row)) for row in rows]
        holder = exp.Select(expressions=tuples)
        if self._with is not None:
            holder.set("with_", copy_tree(self._with))
        self._reads.rewrite(holder)
        if self._reads.context.batch and len(rows) == 1:
            return self._batch(tuples[0], names)
        self.row_count = len(rows)
        if len(rows) == 1:
            given = zip(self.given, tuples[0].expressions, strict=False)
            self.constants = {c.physical: v for c, v in given if is_computed(v)}
        if len(rows) == 1 and self._reads.context.optimistic:
            query = exp.Select(expressions=_cells_named(tuples[0], names))
        else:
            # A row that is rewritten has been named as an output of the holder is.
            query = _values_query([row.unalias() for row in holder.expressions], names)
        query.set("with_", holder.args.get("with_"))
        return query

    def _without_generated(self, rows: list[list[exp.Expr]]) -> list[list[exp.Expr]]:
        """The rows without each DEFAULT in a generated column, which is not given then."""
        columns = self._table.columns if self._implicit else self.given
        places = {
            place
            for place, stored in enumerate(columns)
            if stored.generated is not None
            and all(len(row) == len(columns) and is_default(row[place]) for row in rows)
        }
        if not places:
            return rows
        if not self._implicit:
            self.given = [c for place, c in enumerate(columns) if place not in places]
        return [[v for place, v in enumerate(row) if place not in places] for row in rows]

    def _typed_cells(self, row: Sequence[exp.Expr]) -> list[exp.Expr]:
        cells = [
            convert_value(default_value(c) if is_default(v) else copy_tree(v), c)
            for v, c in zip(row, self.given, strict=True)
        ]
        for place in sorted(self.some_defaults):
            cells.append(exp.true() if is_default(row[place]) else exp.false())
        return cells

    def _batch(self, row: exp.Tuple, names: Sequence[str]) -> exp.Query:
        """The rows of an executemany: the parameters are columns of a relation."""
        for node in list(row.find_all(exp.Placeholder)):
            if node.name.startswith(USER_PARAMETER):
                node.replace(exp.column(node.name, table="b"))
        return select(_cells_named(row, names), staged_relation(BATCH, "b"))

    def _cells(self, row: exp.Expr) -> list[exp.Expr]:
        return list(row.expressions) if isinstance(row, exp.Tuple) else [row]

    def _query(self, query: exp.Expr) -> exp.Query:
        while isinstance(query, exp.Subquery) and not query.alias and not query.args.get("joins"):
            inner = query.this
            if query.args.get("with_") is not None or not isinstance(inner, exp.Query):
                break
            query = inner
        if isinstance(query, exp.Table):
            query = exp.select("*").from_(query)
        if not isinstance(query, exp.Query):
            raise self._refusal("INSERT takes VALUES, a query or DEFAULT VALUES", query)
        if self._with is not None:
            query = _with_ctes(query, self._with)
        holder = exp.Subquery(this=query)
        names = output_names(query, self._reads.context)
        is_known = names is not None and all(names)
        if self._by_name:
            if is_known:
                self._name_columns(names or (), query)
        elif names is not None:
            try:
                self._fit_width(len(names), query, None)
            except PalimpsestError:
                # What the query names is looked up before what it gives is counted.
                self._refuse_unknown(query)
                raise
        self._reads.rewrite(holder)
        rewritten = holder.this
        if self._by_name and not is_known:
            described = self._reads.context.describe(rewritten, frozenset(self._reads.tables))
            self._name_columns([name for name, _ in described], query)
        elif names is None:
            rewritten = _of_width(rewritten, len(self.given))
        columns = [exp.to_identifier(given_name(i)) for i in range(len(self.given))]
        alias = exp.TableAlias(this=exp.to_identifier("q"), columns=columns)
        outputs = [
            named(convert_value(exp.column(n.copy(), table="q"), c), n.name)
            for n, c in zip(columns, self.given, strict=True)
        ]
        return select(outputs, exp.Subquery(this=rewritten, alias=alias))

    def _name_columns(self, names: Sequence[str], query: exp.Expr) -> None:
        if not names or not all(names):
            raise self._refusal("BY NAME needs a query whose columns have names", query)
        self.given = []
        for name in names:
            found = find_column(self._table, exp.to_identifier(name, quoted=True))
            if found in self.given:
                raise PalimpsestError(
                    Code.DUPLICATE_COLUMN,
                    f'the query has two columns named "{found.name}"',
                    advice="give each column of the query a name of its own",
                    position=position_of(query),
                )
            self.given.append(found)

    def _fit_width(self, width: int, node: exp.Expr, row: int | None) -> None:
        short = self._implicit and semantics_of(self._reads.context.dialect).short_rows
        if short and 0 < width < len(self.given):
            self.given = self.given[:width]
        if width != len(self.given):
            raise self._wrong_count(width, node, row)

    def _wrong_count(self, found: int, node: exp.Expr, row: int | None) -> WrongValueCount:
        place = position_of(node)
        return WrongValueCount(self._table.name, len(self.given), found, row, place)

    def _refuse_unknown(self, query: exp.Expr) -> None:
        unknown = unknown_output(query, self._reads.context)
        if unknown is not None:
            known = ", ".join(columns_in_reach(unknown, self._reads.context))
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f'column "{unknown.name}" does not exist',
                advice=f"the columns are {known}",
                position=position_of(unknown),
            )

    def _refusal(self, message: str, node: exp.Expr) -> PalimpsestError:
        return PalimpsestError(
            Code.NOT_SUPPORTED,
            message,
            advice="see docs/sql.md for the forms of INSERT",
            position=position_of(node),
        )


def _cells_named(row: exp.Expr, names: Sequence[str]) -> list[exp.Expr]:
    return [named(value, name) for value, name in zip(row.expressions, names, strict=True)]


def _values_query(rows: Sequence[exp.Expr], names: Sequence[str]) -> exp.Select:
    columns = [exp.to_identifier(n) for n in names]
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=columns)
    return select_star(exp.Values(expressions=list(rows), alias=alias))


def _of_width(query: exp.Expr, width: int) -> exp.Query:
    """``query``, which the store refuses unless it has so many columns."""
    none = exp.select(*[exp.Null() for _ in range(width)]).where(exp.false())
    whole = exp.select("*").from_(exp.Subquery(this=query, alias=exp.TableAlias(this="w")))
    return exp.union(whole, none, distinct=False, copy=False)


def _with_ctes(query: exp.Query, with_: exp.With) -> exp.Query:
    """``query`` with the statement's CTEs before its own."""
    own = query.args.get("with_")
    if own is None:
        query.set("with_", with_.copy())
        return query
    both = with_.copy()
    both.set("expressions", [*both.expressions, *own.expressions])
    both.set("recursive", bool(with_.recursive or own.recursive))
    query.set("with_", both)
    return query
