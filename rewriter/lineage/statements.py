"""The columns that a statement writes, and what each of them comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from rewriter.lineage.assignments import assigned_columns
from rewriter.lineage.changed_rows import keys_compared, query_of_returning, rows_changed
from rewriter.lineage.expressions import ExpressionReader
from rewriter.lineage.file_statements import transferred
from rewriter.lineage.from_clause import FromReader
from rewriter.lineage.named_in_from import aliased, tables_named
from rewriter.lineage.scope import Scope, fold
from rewriter.lineage.sources import (
    FILTER,
    JOIN,
    NONE,
    WHOLE,
    Cell,
    Relation,
    Sources,
    Untraceable,
)
from rewriter.lineage.statement_parts import (
    changes_in_with,
    inserts_of,
    is_column,
    partition_columns,
    partition_parts,
    table_copied,
    table_of,
)
from rewriter.lineage.table_changes import alter_table
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import ColumnTarget, merged, rows_into, target_of


def lineage_of(node: exp.Expr, tables: KnownTables) -> list[ColumnTarget]:
    """The columns that a statement writes; ``tables`` learns what the statement defines.

    A query alone writes none.

    >>> from sqlglot import parse_one
    >>> (one,) = lineage_of(parse_one("INSERT INTO t (a) SELECT b FROM s"), KnownTables())
    >>> one.table, one.column, [(s.table, s.column, s.subtype) for s in one.sources]
    ('t', 'a', [('s', 'b', 'IDENTITY')])
    """
    reader = _READERS.get(type(node))
    if reader is None:
        return []
    statement = _StatementReader(tables)
    made = list(reader(statement, node))
    found = [*made, *statement.output(node, made)]
    return list(merged([*statement.within, *found])) if statement.within else found


class _StatementReader:
    """Reads one statement."""

    def __init__(self, tables: KnownTables) -> None:
        self._tables = tables
        self._queries = tables.reader(self._change)
        self.within: list[ColumnTarget] = []
        """What statements write that stand in a WITH."""

    def _change(self, node: exp.Expr) -> Relation:
        """Read a statement in a WITH; its conditions decide which rows it returns."""
        made = list(_READERS[type(node)](self, node))
        self.within += made
        returning, target = node.args.get("returning"), table_of(node.this)
        if returning is None or target is None:
            return Relation()
        found = self._relation(query_of_returning(returning, target, node))
        return replace(found, influences=found.influences | rows_changed(node, made))

    def output(self, node: exp.Expr, made: Sequence[ColumnTarget]) -> Iterator[ColumnTarget]:
        """OUTPUT .. INTO of T-SQL: rows of the table that a statement has changed."""
        returning, target = node.args.get("returning"), table_of(node.this)
        if returning is None or target is None:
            return
        into = returning.args.get("into")
        if into is None:
            return
        scope = Scope()
        for name in ("inserted", "deleted", fold(target.alias_or_name)):
            scope.add(name, self._tables.relation(target))
        reader = self._expressions(scope)
        cells = [reader.cell(part) for part in returning.expressions]
        names = [self._tables.name_of(e, place) for place, e in enumerate(returning.expressions)]
        table, columns = self._output_table(into)
        yield from rows_into(table, columns, Relation(names, cells, rows_changed(node, made)))

    def _output_table(self, into: exp.Expr) -> tuple[str, Sequence[str] | None]:
        if isinstance(into, exp.Anonymous):
            name = self._tables.whole_name([into.name.lower()])
            return name, [fold(column) for column in into.expressions]
        table = table_of(into)
        name = self._tables.whole_name([fold(into)]) if table is None else self._tables.name(table)
        return name, self._tables.columns.get(name)

    def insert(self, node: exp.Insert) -> Iterator[ColumnTarget]:
        """INSERT .. SELECT or VALUES, with its partition and ON CONFLICT."""
        table, columns = self._write_target(node.this, node)
        found = self._inserted(node)
        rows = list(rows_into(table, columns, found, by_name=bool(node.args.get("by_name"))))
        if self._tables.dialect == "hive":
            rows += self._left_out(table, node, rows, found)
        conflict = node.args.get("conflict")
        if conflict is None:
            yield from rows
            return
        scope = Scope()
        names = columns or list(found.names)
        scope.add("excluded", Relation(names[: len(found.cells)], found.cells[: len(names)]))
        target = table_of(node.this)
        if target is not None:
            scope.add(target.name.lower(), self._tables.relation(target), table)
        where = conflict.args.get("where")
        reader = self._expressions(scope)
        keys = keys_compared(conflict, fold(target.name) if target is not None else "")
        # Whether there is a row of the same key decides what becomes of a new one.
        same = reader.deciding(keys, JOIN)
        rows = [target_of(r.table, r.column, Cell(same.union(r.sources), r.unknown)) for r in rows]
        if not conflict.expressions:
            yield from rows
            return
        decided = found.influences | same | reader.deciding([where.this] if where else [], FILTER)
        yield from merged([*rows, *self._assigned(table, conflict.expressions, reader, decided)])

    def _left_out(
        self, table: str, node: exp.Insert, rows: Sequence[ColumnTarget], found: Relation
    ) -> Iterator[ColumnTarget]:
        """The columns that a row has without a value of the query: constants of its partition, and
        those that the INSERT does not name. Hive tells of them, too."""
        written = {target.column for target in rows}
        if WHOLE in written:
            return
        names = [fold(p.this) for p in partition_parts(node) if isinstance(p, exp.EQ)]
        if isinstance(node.this, exp.Schema):
            names = [*self._tables.columns.get(table, ()), *names]
        for name in dict.fromkeys(names):
            if name not in written:
                yield target_of(table, name, Cell(found.influences))

    def _inserted(self, node: exp.Insert) -> Relation:
        """The rows of an INSERT; DEFAULT VALUES come from nothing, those of TABLE s from s."""
        source = node.args.get("source")
        if isinstance(source, exp.Table):
            return self._relation(exp.select(exp.Star()).from_(source.copy()))
        if node.args.get("default"):
            return Relation()
        if node.expression is None:
            raise Untraceable("INSERT says no rows")
        return self._relation(self._with_clause_of(node))

    def multi_insert(self, node: exp.MultitableInserts) -> Iterator[ColumnTarget]:
        """``FROM s INSERT .. SELECT .. INSERT .. SELECT ..``: the same source for each."""
        for insert in inserts_of(node):
            yield from self.insert(insert)

    def create(self, node: exp.Create) -> Iterator[ColumnTarget]:
        """CREATE TABLE AS, CREATE VIEW, CREATE TABLE LIKE; a plain one defines columns."""
        kind = (node.args.get("kind") or "").upper()
        target = node.this
        schema = target if isinstance(target, exp.Schema) else None
        table = table_of(target)
        if table is None or kind not in {"TABLE", "VIEW", "MATERIALIZED VIEW"}:
            return
        name = self._tables.name(table)
        given = [fold(c) for c in schema.expressions if is_column(c)] if schema else []
        partitions = partition_columns(node)
        if isinstance(node.expression, (exp.Query, exp.Subquery, exp.Values)):
            found = self._relation(self._with_clause_of(node))
            if kind == "VIEW":
                self._tables.declare_view(name, _named(found, given))
            elif not found.open and found.other is None:
                names = _named(found, given).names
                self._tables.declare(name, names, [p for p in partitions if p in names])
            yield from rows_into(name, given or None, found)
            into = node.find(exp.ToTableProperty)
            if into is not None and isinstance(into.this, exp.Table):
                filled = self._tables.name(into.this)
                yield from rows_into(filled, None, _named(found, given), by_name=True)
            return
        copied = node.expression if isinstance(node.expression, exp.Table) else None
        like = copied or table_copied(node)
        if like is not None:
            columns = self._tables.columns.get(self._tables.name(like))
            if columns is not None:
                self._tables.declare(name, columns)
            found = self._tables.relation(like)
            yield from rows_into(name, None, found)
        elif node.expression is not None:
            raise Untraceable(f"{node.expression.key.upper()} is no query that can be followed")
        elif given:
            self._tables.declare(name, given, partitions)
        elif partitions:
            # Its other columns are those of its files, as with Avro.
            self._tables.forget(name)
            self._tables.partitions[name] = tuple(partitions)

    def update(self, node: exp.Update) -> Iterator[ColumnTarget]:
        """UPDATE: the columns of SET; joins and WHERE decide."""
        if table_of(node.this) is None:
            raise Untraceable("UPDATE names no table")
        reader = self._reader_of(node)
        clause = node.args.get("from_")
        given, joins = None, node.args.get("joins") or []
        if clause is not None:
            given, joins = clause.this, [*(clause.args.get("joins") or []), *joins]
        named = tables_named([node.this, given, *joins])
        influences = NONE
        if given is None or aliased(node.this, given) is None:
            influences |= reader.add(node.this)
        if given is not None:
            influences |= reader.add(given)
        for join in joins:
            influences |= reader.join(join)
        influences |= reader.where(node) | reader.repeats
        target = named.get(fold(node.this.alias_or_name), node.this)
        names = {alias: self._tables.name(table) for alias, table in named.items()}
        yield from self._assigned(
            self._tables.name(target), node.expressions, reader.expressions, influences, names
        )

    def delete(self, node: exp.Delete) -> Iterator[ColumnTarget]:
        """DELETE: whole rows, which WHERE and USING decide about."""
        target = table_of(node.this or next(iter(node.args.get("tables") or []), None))
        if target is None:
            raise Untraceable("DELETE names no table")
        reader = self._reader_of(node)
        influences = reader.add(target)
        sources = node.args.get("using") or []
        for source in sources:
            influences |= reader.add(source)
        influences |= reader.where(node) | reader.repeats
        named = tables_named([target, *sources])
        for deleted in node.args.get("tables") or [target]:
            if not isinstance(deleted, exp.Table):
                raise Untraceable("DELETE names no table")
            table = named.get(fold(deleted.name), deleted) if deleted is not target else target
            yield target_of(self._tables.name(table), WHOLE, Cell(influences))

    def merge(self, node: exp.Merge) -> Iterator[ColumnTarget]:
        """MERGE: what each WHEN sets or inserts; ON and its conditions decide."""
        target = table_of(node.this)
        if target is None:
            raise Untraceable("MERGE names no table")
        name = self._tables.name(target)
        reader = self._reader_of(node)
        reader.add(node.this)
        before = set(reader.scope.relations)
        influences = reader.add(node.args["using"]) | reader.repeats
        source = [r for alias, r in reader.scope.relations.items() if alias not in before]
        expressions = reader.expressions
        if node.args.get("on") is not None:
            influences |= expressions.deciding([node.args["on"]], JOIN)
        made: list[ColumnTarget] = []
        for when in node.args["whens"].expressions:
            condition = when.args.get("condition")
            decided = influences | expressions.deciding([condition] if condition else [], FILTER)
            made += self._branch(name, when.args.get("then"), expressions, source[0], decided)
        yield from merged(made)

    def _branch(
        self,
        name: str,
        then: exp.Expr | None,
        expressions: ExpressionReader,
        source: Relation,
        decided: Sources,
    ) -> Iterator[ColumnTarget]:
        if isinstance(then, exp.Update):
            if then.expressions and not isinstance(then.expressions[0], exp.Star):
                yield from self._assigned(name, then.expressions, expressions, decided)
            else:
                yield from self._all_of(name, source, decided)
        elif isinstance(then, exp.Insert):
            if not isinstance(then.expression, exp.Tuple):
                yield from self._all_of(name, source, decided)
                return
            values = then.expression.expressions
            given = then.this.expressions if isinstance(then.this, exp.Tuple) else []
            columns = [fold(c) for c in given] or list(self._tables.columns.get(name, ()))
            columns = columns or [self._tables.name_of(v, place) for place, v in enumerate(values)]
            cells = [expressions.cell(value) for value in values]
            found = Relation(columns[: len(cells)], cells[: len(columns)], decided)
            yield from rows_into(name, columns, found)
            for left_out in self._tables.columns.get(name, ()):
                if left_out not in columns:
                    yield target_of(name, left_out, Cell(decided))
        elif then is not None and then.name.upper() == "DELETE":
            yield target_of(name, "*", Cell(decided))

    def _all_of(self, name: str, source: Relation, decided: Sources) -> Iterator[ColumnTarget]:
        """UPDATE * and INSERT *: each column from that of the same name."""
        columns = self._tables.columns.get(name) or tuple(source.names)
        for column in columns:
            try:
                found = source.find(column) or Cell()
            except Untraceable as error:
                found = Cell(unknown=str(error))
            yield target_of(name, column, Cell(found.sources | decided, found.unknown))

    def transfer(self, node: exp.Expr) -> Iterator[ColumnTarget]:
        """COPY, LOAD DATA and EXPORT DATA: between tables and files."""
        return transferred(node, self._relation, self._write_target)

    def cache(self, node: exp.Cache) -> Iterator[ColumnTarget]:
        """CACHE TABLE t AS a query: a view of Spark's session."""
        table = table_of(node.this)
        if isinstance(node.expression, exp.Query):
            if table is None:
                raise Untraceable("CACHE TABLE names no table")
            found, name = self._relation(node.expression), self._tables.name(table)
            self._tables.declare_view(name, found)
            yield from rows_into(name, None, found)

    def use(self, node: exp.Use) -> Iterator[ColumnTarget]:
        """USE: the schema of names without one."""
        kind = node.args.get("kind")
        if kind is None or kind.name.upper() in {"SCHEMA", "DATABASE", "NAMESPACE"}:
            self._tables.schema = fold(node.this)
        yield from ()

    def drop(self, node: exp.Drop) -> Iterator[ColumnTarget]:
        """DROP TABLE, VIEW or SCHEMA, also of several."""
        kind = (node.args.get("kind") or "").upper()
        for dropped in node.args.get("tables") or [node.this]:
            if kind in {"SCHEMA", "DATABASE"}:
                self._tables.forget_schema(fold(dropped))
            elif kind in {"TABLE", "VIEW"} and isinstance(dropped, exp.Table):
                self._tables.forget(self._tables.name(dropped))
        yield from ()

    def alter(self, node: exp.Alter) -> Iterator[ColumnTarget]:
        """ALTER TABLE, and ALTER VIEW .. AS, which gives a view another query."""
        yield from alter_table(node, self._tables)
        query = next(iter(node.args.get("actions") or []), None)
        table = table_of(node.this)
        if table is None or not isinstance(query, exp.Query):
            return
        found = self._relation(query)
        name = self._tables.name(table)
        self._tables.declare_view(name, found)
        yield from rows_into(name, None, found)

    def select_into(self, node: exp.Query) -> Iterator[ColumnTarget]:
        """SELECT .. INTO a new table, or one whose WITH changes tables."""
        first = node
        while isinstance(first, exp.SetOperation):
            first = first.this
        into = first.args.get("into")
        if into is None and any(changes_in_with(node)):
            self._queries.environment(node, None, {})
        if into is None or not isinstance(into.this, exp.Table):
            return
        found = self._relation(node)
        name = self._tables.name(into.this)
        if not found.open and found.other is None:
            self._tables.declare(name, found.names)
        yield from rows_into(name, None, found)

    def _with_clause_of(self, node: exp.Expr) -> exp.Expr:
        """The query of a statement, with the WITH that stands before the statement."""
        query: exp.Expr = node.expression
        clause = node.args.get("with_")
        if clause is None or not isinstance(query, exp.Query):
            return query
        query = query.copy()
        query.set("with_", clause.copy())
        return query

    def _reader_of(self, node: exp.Expr) -> FromReader:
        """A reader in a new scope, around which stands the WITH of a statement."""
        return FromReader(self._queries, Scope(), self._queries.environment(node, None, {}))

    def _expressions(self, scope: Scope) -> ExpressionReader:
        return ExpressionReader(scope, self._queries.read)

    def _relation(self, query: exp.Expr, scope: Scope | None = None) -> Relation:
        try:
            return self._queries.read(query, scope or Scope())
        except Untraceable as error:
            return Relation(other=Cell(unknown=str(error)))

    def _write_target(self, node: exp.Expr, statement: exp.Expr) -> tuple[str, list[str] | None]:
        """The table that is written, and its columns in the order of the values, if known."""
        if isinstance(node, exp.Directory):
            return node.this.name, None
        table = table_of(node)
        if table is None:
            return node.sql().lower(), None
        name = self._tables.name(table)
        parts = partition_parts(statement) or partition_parts(node)
        fixed = [fold(p.this) for p in parts if isinstance(p, exp.EQ)]
        dynamic = [fold(p) for p in parts if not isinstance(p, exp.EQ)]
        if isinstance(node, exp.Schema) and node.expressions:
            given = [fold(c) for c in node.expressions]
            return name, [*given, *(p for p in dynamic if p not in given)]
        known = self._tables.columns.get(name)
        if known is None:
            return name, None
        named = {*fixed, *dynamic}
        return name, [*(c for c in known if c not in named), *dynamic]

    def _assigned(
        self,
        table: str,
        assignments: Sequence[exp.Expr],
        reader: ExpressionReader,
        influences: Sources,
        named: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[ColumnTarget]:
        columns = self._tables.columns.get(table, ())
        return assigned_columns(
            table, columns, assignments, reader, influences, self._relation, named
        )


def _named(found: Relation, names: Sequence[str]) -> Relation:
    try:
        return found.named(names)
    except Untraceable:
        return found


_READERS: dict[type[exp.Expr], Callable[..., Iterator[ColumnTarget]]] = {
    exp.Insert: _StatementReader.insert,
    exp.MultitableInserts: _StatementReader.multi_insert,
    exp.Create: _StatementReader.create,
    exp.Update: _StatementReader.update,
    exp.Delete: _StatementReader.delete,
    exp.Merge: _StatementReader.merge,
    exp.Copy: _StatementReader.transfer,
    exp.LoadData: _StatementReader.transfer,
    exp.Export: _StatementReader.transfer,
    exp.Cache: _StatementReader.cache,
    exp.Use: _StatementReader.use,
    exp.Drop: _StatementReader.drop,
    exp.Alter: _StatementReader.alter,
    exp.Select: _StatementReader.select_into,
    exp.Union: _StatementReader.select_into,
    exp.Intersect: _StatementReader.select_into,
    exp.Except: _StatementReader.select_into,
}
