"""Statements over flat journals: one plain journal table, written by one INSERT per statement.

The classic convention (see ``journal.sql.relations_flat``): INSERT and UPDATE append new versions,
DELETE appends the old values with both versions set to its own. Covers SELECT, INSERT, UPDATE,
DELETE and TRUNCATE of one table; everything else is refused. Whether a key is there already is not
checked: such a journal has no constraint that could. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import P_VERSION, RelationShape, StatementKind
from journal.model.schema import Table, TableName, View
from journal.sql import dialects
from journal.sql.relations import (
    Output,
    business_outputs,
    column,
    ident,
    version_type,
    version_value,
)
from journal.sql.relations_flat import SHAPE_REASONS, FlatReader, FlatShape
from journal.sql.sql import cast
from rewriter.context import RewriteContext
from rewriter.names import find_relation, find_table, is_cte, position_of
from rewriter.writing.target import distinct_columns, find_column

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between)
_NEW, _OLD = "n", "o"


@dataclass(slots=True)
class FlatRewrite:
    """Rewrites one statement; ``reads``, ``writes`` and ``shapes`` say what it touched."""

    context: RewriteContext
    shape: FlatShape = FlatShape.WINDOW
    reads: set[TableName] = field(default_factory=set)
    writes: set[TableName] = field(default_factory=set)
    shapes: list[RelationShape] = field(default_factory=list)

    def rewrite(self, ast: exp.Expr) -> tuple[StatementKind, str, exp.Expr]:
        """Kind, tag and the one statement that the store runs; ``ast`` is used up."""
        match ast:
            case exp.Insert():
                return StatementKind.WRITE, "INSERT", self._insert(ast)
            case exp.Update():
                return StatementKind.WRITE, "UPDATE", self._update(ast)
            case exp.Delete():
                where = ast.args.get("where")
                self._refuse(ast, "returning", "using", "order", "limit")
                condition = where.this if where is not None else None
                return StatementKind.WRITE, "DELETE", self._delete(ast.this, condition)
            case exp.TruncateTable() if len(ast.expressions) == 1:
                return StatementKind.WRITE, "TRUNCATE", self._delete(ast.expressions[0], None)
            case exp.Query():
                root = exp.Subquery(this=ast)
                self._replace_all(root)
                return StatementKind.READ, "SELECT", root.this
            case _:
                raise _refused(ast.key.upper(), ast)

    def _replace_all(self, query: exp.Expr) -> None:
        for node in list(query.find_all(exp.Table)):
            if isinstance(node.this, exp.Identifier) and not is_cte(node):
                self._replace(node)

    def _replace(self, node: exp.Table) -> None:
        if node.args.get("when") is not None or node.args.get("version") is not None:
            raise _refused("time travel in this preview", node)
        found = find_relation(node, self.context)
        alias = node.args.get("alias") or exp.TableAlias(this=ident(node.name))
        if isinstance(found, View):
            query = dialects.stored(found.query)
            assert isinstance(query, exp.Query)
            self._replace_all(exp.Subquery(this=query))
        else:
            below = [_unqualified(c) for c in _key_conditions(node, found)]
            query = self._relation(found, business_outputs(found.columns), below)
        subquery = exp.Subquery(this=query, alias=alias)
        for arg in ("joins", "laterals", "pivots", "sample"):
            if node.args.get(arg):
                subquery.set(arg, node.args[arg])
        node.replace(subquery)

    def _relation(
        self, table: Table, outputs: Sequence[Output], below: Sequence[exp.Expr]
    ) -> exp.Select:
        if table.hidden_key:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{table.name} has no key, without which a flat journal cannot be read",
                advice=f"declare a PRIMARY KEY, or give --key {table.name.name}=column",
            )
        self.reads.add(table.name)
        reason = SHAPE_REASONS[self.shape]
        if below:
            reason += "; conditions on the key go below it"
        self.shapes.append(RelationShape(table.name, self.shape.value, reason))
        return FlatReader(table, self.shape).current(outputs, below)

    def _insert(self, ast: exp.Insert) -> exp.Expr:
        self._refuse(ast, "returning", "conflict", "overwrite", "ignore", "alternative")
        node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
        table = find_table(node, self.context)
        named = ast.this.expressions if isinstance(ast.this, exp.Schema) else []
        columns = distinct_columns(table, named) if named else list(table.columns)
        names = [c.physical for c in columns]
        source = ast.expression
        if isinstance(source, exp.Values):
            rows = [
                r if isinstance(r, exp.Tuple) else exp.Tuple(expressions=[r])
                for r in source.expressions
            ]
            for row in rows:
                if len(row.expressions) != len(columns):
                    raise _wrong_count(table, len(columns), len(row.expressions), node)
                row.append("expressions", self._version(table))
            self._replace_all(exp.Tuple(expressions=rows))
            return self._append(table, names, exp.Values(expressions=rows), ended=False)
        if not isinstance(source, exp.Query):
            raise _refused("INSERT without VALUES or a query", ast)
        root = exp.Subquery(this=source)
        self._replace_all(root)
        listed = [exp.to_identifier(f"c{i}") for i in range(len(columns))]
        alias = exp.TableAlias(this=exp.to_identifier("q"), columns=listed)
        values = [exp.column(n.copy(), table="q") for n in listed]
        query = exp.select(*values, self._version(table)).from_(
            exp.Subquery(this=root.this, alias=alias)
        )
        return self._append(table, names, query, ended=False)

    def _update(self, ast: exp.Update) -> exp.Expr:
        self._refuse(ast, "returning", "from_", "order", "limit", "with_")
        node = ast.this
        if node.args.get("joins"):
            raise _refused("UPDATE with joins", node)
        table = find_table(node, self.context)
        values: dict[str, exp.Expr] = {}
        for assignment in ast.expressions:
            values[find_column(table, assignment.this).physical] = assignment.expression
        where = ast.args.get("where")
        names = [c.physical for c in table.columns]
        old = [column(c.name, node.alias or node.name) for c in table.columns]
        new = [values.get(n, o.copy()) for n, o in zip(names, old, strict=True)]
        condition = where.this if where is not None else None
        if not set(values) & set(table.key):
            query = self._affected(node, new, condition).select(self._version(table))
            return self._append(table, names, query, ended=False)
        return self._moved(table, node, names, (old, new), condition)

    def _moved(
        self,
        table: Table,
        node: exp.Table,
        names: Sequence[str],
        rows: tuple[Sequence[exp.Expr], Sequence[exp.Expr]],
        condition: exp.Expr | None,
    ) -> exp.Expr:
        """Keys change: new versions under the new keys, tombstones for keys left without a row."""
        both = [exp.alias_(v, f"{_OLD}{i}") for i, v in enumerate(rows[0])]
        both += [exp.alias_(v, f"{_NEW}{i}") for i, v in enumerate(rows[1])]
        changed = self._affected(node, both, condition)
        places = [names.index(k) for k in table.key]
        stage = exp.to_table("changed")
        null = cast(exp.Null(), version_type(table))
        begun = exp.select(*[exp.column(f"{_NEW}{i}") for i in range(len(names))])
        begun = begun.select(self._version(table), null).from_(stage.copy())
        same = [
            exp.EQ(this=exp.column(f"{_NEW}{i}", "b"), expression=exp.column(f"{_OLD}{i}", "e"))
            for i in places
        ]
        taken = exp.select(exp.Literal.number(1)).from_(exp.alias_(stage.copy(), "b", table=True))
        ended = exp.select(*[exp.column(f"{_OLD}{i}", "e") for i in range(len(names))])
        ended = ended.select(self._version(table), self._version(table))
        ended = ended.from_(exp.alias_(stage, "e", table=True))
        ended = ended.where(exp.Not(this=exp.Exists(this=taken.where(*same))))
        query = exp.union(begun, ended, distinct=False).with_("changed", as_=changed)
        return self._append(table, names, query, ended=True)

    def _delete(self, node: exp.Table, condition: exp.Expr | None) -> exp.Expr:
        table = find_table(node, self.context)
        names = [c.physical for c in table.columns]
        old = [column(c.name, node.alias or node.name) for c in table.columns]
        query = self._affected(node, old, condition)
        query = query.select(self._version(table), self._version(table))
        return self._append(table, names, query, ended=True)

    def _affected(
        self, node: exp.Table, values: Sequence[exp.Expr], condition: exp.Expr | None
    ) -> exp.Select:
        """The current rows a statement concerns, as ``values``."""
        query = exp.select(*values).from_(node.copy())
        if condition is not None:
            query = query.where(condition)
        self._replace_all(query)
        return query

    def _append(
        self, table: Table, names: Sequence[str], source: exp.Expr, *, ended: bool
    ) -> exp.Expr:
        self.writes.add(table.name)
        columns = [*names, table.format.version_column]
        if ended:
            columns.append(table.format.subsequent_column)
        into = exp.Schema(
            this=FlatReader(table).journal, expressions=[ident(name) for name in columns]
        )
        return exp.Insert(this=into, expression=source)

    def _version(self, table: Table) -> exp.Expr:
        return version_value(table, exp.Placeholder(this=P_VERSION))

    def _refuse(self, ast: exp.Expr, *clauses: str) -> None:
        for clause in clauses:
            if ast.args.get(clause):
                shown = clause.rstrip("_").upper()
                raise _refused(f"{ast.key.upper()} with {shown}", ast)


def _key_conditions(node: exp.Table, table: Table) -> Iterator[exp.Expr]:
    """Conditions of the enclosing WHERE that compare key columns of this table with values."""
    select = node.parent_select
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if not isinstance(select, exp.Select) or where is None or not _is_source(node, select):
        return
    alone = not select.args.get("joins") and not node.args.get("joins")
    names = {table.by_physical(k).name.casefold(): k for k in table.key}
    known = (node.alias or node.name).casefold()
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        if not isinstance(condition, _COMPARISONS) or condition.find(exp.Query, exp.Subquery):
            continue
        used = list(condition.find_all(exp.Column))
        fitting = (
            c.name.casefold() in names and (c.table.casefold() == known if c.table else alone)
            for c in used
        )
        values = all(_is_value(n) for n in condition.walk() if n is not condition)
        if used and all(fitting) and values:
            below = condition.copy()
            for found in below.find_all(exp.Column):
                found.set("this", ident(names[found.name.casefold()]))
            yield below


def _is_source(node: exp.Table, select: exp.Select) -> bool:
    """True where the table stands in FROM or an inner join of the query, not below an outer one."""
    joins: list[exp.Join] = select.args.get("joins") or []
    outer = any(j.side for j in joins)
    from_ = select.args.get("from_")
    direct = from_ is not None and from_.this is node
    return not outer and (direct or any(j.this is node for j in joins))


_VALUES = (
    exp.Column, exp.Identifier, exp.Literal, exp.Placeholder, exp.Parameter, exp.Neg, exp.Null,
    exp.Boolean, exp.Cast, exp.DataType, exp.Tuple, exp.Paren, exp.Var,
)  # fmt: skip


def _is_value(node: exp.Expr) -> bool:
    return isinstance(node, _VALUES)


def _unqualified(condition: exp.Expr) -> exp.Expr:
    for found in condition.find_all(exp.Column):
        found.set("table", None)
    return condition


def _refused(what: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported over a flat journal",
        advice="write it as SELECT, INSERT, UPDATE or DELETE of one table, or use --layout tiered",
        position=position_of(node),
    )


def _wrong_count(table: Table, wanted: int, found: int, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.COLUMN_COUNT,
        f"{table.name} takes {wanted} values here, {found} were given",
        advice="name the columns: INSERT INTO t (a, b) ..",
        position=position_of(node),
    )
