"""INSERT: VALUES, SELECT or DEFAULT VALUES become open rows, once no key is in the way."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import BATCH, USER_PARAMETER, Kind, Number, Query, Stage, StatementPlan, Step
from journal.schema import ROW_ID, Column, Table
from rewriter.changes import ChangeSet, count_steps, journal_steps, new_name, unique_guards
from rewriter.context import RewriteContext
from rewriter.names import find_table, position_of
from rewriter.reads import Reads
from rewriter.target import (
    Target,
    default_value,
    distinct_columns,
    is_default,
    physical_rows,
    returning,
    typed,
)

STAGE = "changed"
SOURCE = "source"
_BOUNDED_ROWS = 100
_ROW_ID_STRIDE = 1 << 32
"""Row ids set aside for a statement whose number of rows is not known beforehand."""


def rewrite_insert(ast: exp.Insert, context: RewriteContext) -> StatementPlan:
    """The plan of an INSERT."""
    reads = Reads(context)
    node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    table = find_table(node, context)
    named = ast.this.expressions if isinstance(ast.this, exp.Schema) else []
    columns = distinct_columns(table, named) if named else None
    source = InsertSource(reads, table, columns, ast)
    steps = source.steps()
    written = frozenset(c.physical for c in table.stored)
    changes = ChangeSet(table, STAGE, False, True, written, small=source.row_count is not None)
    if unique_guards(changes, None):
        steps += unique_guards(changes, physical_rows(reads, table))
    steps += journal_steps(changes)
    if ast.args.get("returning") is not None:
        steps.append(returning(reads, changes, ast.args["returning"], Target.of(table, node).alias))
    steps += count_steps(changes)
    bounded = source.row_count is not None and source.row_count <= _BOUNDED_ROWS
    return reads.plan(Kind.WRITE, steps, table, "INSERT", bounded=bounded)


class InsertSource:
    """Stages the rows of an INSERT as the new values of a change set."""

    def __init__(
        self, reads: Reads, table: Table, columns: Sequence[Column] | None, ast: exp.Insert
    ) -> None:
        self._reads = reads
        self._table = table
        self._expression = ast.expression
        self._with = ast.args.get("with_")
        self._given = list(columns) if columns is not None else list(table.columns)
        self._implicit = columns is None
        self.row_count: int | None = None

    def steps(self) -> list[Step]:
        """Steps after which STAGE holds one row per new row."""
        steps: list[Step] = []
        rows = self._rows()
        generated = [c for c in self._table.columns if c.identity is not None]
        if generated and self.row_count is None:
            steps.append(Stage(SOURCE, Query.of(rows)))
            rows = exp.select("*").from_(SOURCE)
        outputs: list[exp.Expr] = []
        given = {c.physical: i for i, c in enumerate(self._given)}
        for index, stored in enumerate(self._table.stored):
            place = given.get(stored.physical)
            value = None if place is None else exp.column(f"c{place}", table="r")
            number = self._number(stored)
            if number is not None:
                steps.append(number)
                made = self._generated(stored, number)
                value = made if value is None else exp.Coalesce(this=value, expressions=[made])
                value = typed(value, stored)
            elif value is None:
                value = typed(default_value(stored), stored)
            outputs.append(exp.alias_(value, new_name(index)))
        query = exp.select(*outputs).from_(rows.subquery("r"), copy=False)
        steps.append(Stage(STAGE, Query.of(query), small=self.row_count is not None))
        return steps

    def _number(self, stored: Column) -> Number | None:
        name = f"p_first_{self._table.columns.index(stored) if stored.identity else 'row'}"
        if stored.physical == ROW_ID:
            count = self.row_count or _ROW_ID_STRIDE
            if self._reads.context.batch:
                count = _ROW_ID_STRIDE
            return Number(self._table.id, ROW_ID, name, count=count)
        if stored.identity is None:
            return None
        stage = SOURCE if self.row_count is None else None
        return Number(
            self._table.id,
            stored.physical,
            name,
            stored.identity.start,
            stored.identity.increment,
            stage,
            self.row_count or 0,
        )

    def _generated(self, stored: Column, number: Number) -> exp.Expr:
        row = exp.Sub(
            this=exp.Window(this=exp.RowNumber()), expression=exp.Literal.number(1)
        )
        step = number.increment
        offset = row if step == 1 else exp.Mul(this=exp.paren(row), expression=exp.Literal.number(step))
        return exp.Add(this=exp.Placeholder(this=number.name), expression=exp.paren(offset))

    def _rows(self) -> exp.Query:
        expression = self._expression
        if expression is None or isinstance(expression, exp.Null):
            self._given = []
            self.row_count = 1
            return exp.select(exp.alias_(exp.Literal.number(1), "c0"))
        if isinstance(expression, exp.Values):
            return self._values(expression)
        return self._select(expression)

    def _values(self, values: exp.Values) -> exp.Query:
        rows = [self._cells(row) for row in values.expressions]
        limit = self._reads.context.limits.list_items
        if len(rows) > limit:
            raise PalimpsestError(
                Code.TOO_MANY_ITEMS,
                f"VALUES has {len(rows):,} rows, at most {limit:,} are taken",
                advice="use executemany or COPY, or raise max_list_items",
            )
        if self._implicit:
            self._given = self._given[: len(rows[0])]
        for row in rows:
            if len(row) != len(self._given):
                raise self._wrong_count(len(row), row[0] if row else values)
        tuples = [
            exp.Tuple(
                expressions=[
                    typed(default_value(c) if is_default(v) else v, c)
                    for v, c in zip(row, self._given, strict=True)
                ]
            )
            for row in rows
        ]
        names = [exp.to_identifier(f"c{i}") for i in range(len(self._given))]
        self._reads.rewrite(exp.Tuple(expressions=tuples))
        if self._reads.context.batch and len(rows) == 1:
            return self._batch(tuples[0], names)
        self.row_count = len(rows)
        alias = exp.TableAlias(this=exp.to_identifier("v"), columns=names)
        return exp.select("*").from_(exp.Values(expressions=tuples, alias=alias))

    def _batch(self, row: exp.Tuple, names: Sequence[exp.Identifier]) -> exp.Query:
        """The rows of an executemany: the parameters are columns of a relation."""
        for node in list(row.find_all(exp.Placeholder)):
            if node.name.startswith(USER_PARAMETER):
                node.replace(exp.column(node.name, table="b"))
        outputs = [
            exp.alias_(value, name) for value, name in zip(row.expressions, names, strict=True)
        ]
        return exp.select(*outputs).from_(exp.alias_(exp.to_table(BATCH), "b", table=True))

    def _cells(self, row: exp.Expr) -> list[exp.Expr]:
        return list(row.expressions) if isinstance(row, exp.Tuple) else [row]

    def _select(self, query: exp.Expr) -> exp.Query:
        if isinstance(query, exp.Subquery) and not query.alias:
            query = query.this
        if not isinstance(query, exp.Query):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "INSERT takes VALUES, a query or DEFAULT VALUES",
                position=position_of(query),
            )
        if self._with is not None and query.args.get("with_") is None:
            query.set("with_", self._with)
        self._reads.rewrite(query)
        width = len(query.selects)
        starred = any(s.is_star for s in query.selects)
        if not starred:
            if self._implicit:
                self._given = self._given[:width]
            if width != len(self._given):
                raise self._wrong_count(width, query)
        names = [exp.to_identifier(f"c{i}") for i in range(len(self._given))]
        alias = exp.TableAlias(this=exp.to_identifier("q"), columns=names)
        rows = exp.Subquery(this=query, alias=alias)
        outputs = [
            exp.alias_(typed(exp.column(n.copy(), table="q"), c), n.copy())
            for n, c in zip(names, self._given, strict=True)
        ]
        return exp.select(*outputs).from_(rows)

    def _wrong_count(self, found: int, node: exp.Expr) -> PalimpsestError:
        return PalimpsestError(
            Code.COLUMN_COUNT,
            f"{self._table.name} takes {len(self._given)} values here, {found} were given",
            advice="name the columns: INSERT INTO t (a, b) ..",
            position=position_of(node),
        )


