"""What a statement would become: its steps as SQL text, what it touches, which shapes and why.

Works from a plan, or without any store from CREATE TABLE statements, or from nothing but the names
of key columns. The text is for reading: names of physical relations are explained, parameters keep
the names their client gave them. Pure: nothing runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from journal import plan as planned
from journal.catalog import apply
from journal.errors import Code, PalimpsestError
from journal.plan import P_SNAPSHOT, P_VERSION, USER_PARAMETER, Kind, Shape, StatementPlan
from journal.relations_flat import FlatShape
from journal.schema import CatalogSnapshot, Column, Table, TableName, View, fold
from journal.segment import Tier
from rewriter.context import RewriteContext, Sight
from rewriter.flat import FlatRewrite
from rewriter.limits import DEFAULT_LIMITS
from rewriter.names import is_cte, position_of
from rewriter.parsing import DIALECTS, Parsed, parse
from rewriter.rewriter import rewrite_statement
from rewriter.statement import SessionStatement, SqlStatement

UNKNOWN_TYPE = "UNKNOWN"
"""Type of columns of which only the name is known; conversions to it are not shown."""


@dataclass(frozen=True, slots=True)
class PreviewStep:
    """One step: what it does, and the SQL it runs, if it runs any."""

    action: str
    sql: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """A statement and what becomes of it."""

    original: str
    dialect: str
    tag: str
    kind: str
    steps: tuple[PreviewStep, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The SQL of all steps after one another."""
        return ";\n\n".join(step.sql for step in self.steps if step.sql is not None)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a preview without a store supposes: the tables, and what their journals hold."""

    catalog: CatalogSnapshot
    uncompacted: bool = False
    layout: str = "tiered"
    shape: FlatShape = FlatShape.WINDOW
    notes: tuple[str, ...] = ()


def of_plan(
    plan: StatementPlan, parsed: Parsed, catalog: CatalogSnapshot, dialect: str = "duckdb"
) -> Preview:
    """The preview of a plan, its SQL written in ``dialect``."""
    ids = _ids(plan)
    created = {r.id: r for r in _put(plan) if isinstance(r, Table)}
    tables = [catalog.by_id(i) or created.get(i) for i in sorted(ids)]
    named = {t.id: t for t in tables if t is not None}
    return Preview(
        parsed.text,
        dialect,
        plan.tag,
        plan.kind.value,
        tuple(_step(step, named, dialect) for step in plan.steps),
        tuple(_parameters(plan)),
        tuple(sorted(str(n) for n in plan.reads)),
        tuple(sorted(str(n) for n in plan.writes)),
        plan.shapes,
        tuple(_relations(plan, named)),
    )


def without_store(
    parsed: Parsed, assumed: Assumptions, read: str = "duckdb", dialect: str = "duckdb"
) -> Preview:
    """The preview of a statement over tables that are only described."""
    if isinstance(parsed.statement, SessionStatement):
        step = PreviewStep("nothing is rewritten: the statement concerns the session alone")
        return Preview(parsed.text, dialect, "SESSION", "session", (step,))
    if assumed.layout == "flat":
        return _flat(parsed, assumed, read, dialect)
    tiers = {Tier.BASE, Tier.DELTA, Tier.HEAD} if assumed.uncompacted else {Tier.BASE}
    sight = Sight(frozenset(tiers), pinned=False)
    ids = [t.id for t in assumed.catalog.tables()]
    context = RewriteContext(
        assumed.catalog,
        lambda _: sight,
        dialect=read,
        describe=_described,
        new_table_id=max(ids, default=0) + 1,
    )
    plan = rewrite_statement(parsed.statement, context)
    found = of_plan(plan, parsed, assumed.catalog, dialect)
    return _noted(found, assumed.notes)


def _flat(parsed: Parsed, assumed: Assumptions, read: str, dialect: str) -> Preview:
    if not isinstance(parsed.statement, SqlStatement):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "the statement is not supported over a flat journal",
            advice="use --layout tiered",
        )
    context = RewriteContext(assumed.catalog, _no_sight, dialect=read)
    rewriting = FlatRewrite(context, assumed.shape)
    kind, tag, ast = rewriting.rewrite(parsed.statement.ast.copy())
    action = "result" if kind is Kind.READ else "append to the journal"
    notes = [*assumed.notes]
    if tag == "INSERT":
        notes.append("A flat journal does not notice a key that is there already.")
    return Preview(
        parsed.text,
        dialect,
        tag,
        kind.value,
        (PreviewStep(action, to_sql(ast, dialect)),),
        tuple(_named_parameters([ast])),
        tuple(sorted(str(n) for n in rewriting.reads)),
        tuple(sorted(str(n) for n in rewriting.writes)),
        tuple(dict.fromkeys(rewriting.shapes)),
        notes=tuple(notes),
    )


def _no_sight(table_id: int) -> Sight:
    return Sight(frozenset({Tier.BASE}), pinned=False)


def _described(query: exp.Query, tables: frozenset[int]) -> tuple[tuple[str, str], ...]:
    """The columns of a rewritten query by name; types are not worked out without a store."""
    return tuple((name, UNKNOWN_TYPE) for name in _output_names(query))


def _output_names(query: exp.Expr) -> Iterator[str]:
    if isinstance(query, exp.Subquery):
        yield from _output_names(query.this)
        return
    if isinstance(query, exp.SetOperation):
        yield from _output_names(query.left)
        return
    sources = [query.args["from_"].this] if query.args.get("from_") is not None else []
    sources += [join.this for join in query.args.get("joins") or []]
    for projection in query.selects if isinstance(query, exp.Select) else []:
        if not projection.is_star:
            yield projection.alias_or_name
            continue
        of = fold(projection.table) if isinstance(projection, exp.Column) else ""
        for source in sources:
            if not isinstance(source, exp.Subquery):
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    "what * stands for here cannot be known without a store",
                    advice="name the columns, or connect to a warehouse",
                )
            if of in {"", fold(source.alias)}:
                yield from _output_names(source)


def _noted(preview: Preview, notes: tuple[str, ...]) -> Preview:
    return replace(preview, notes=(*preview.notes, *notes))


def catalog_of(statements: Sequence[Parsed], dialect: str) -> CatalogSnapshot:
    """The catalog that CREATE statements make; schemas need not be created."""
    catalog = CatalogSnapshot.empty()
    for number, parsed in enumerate(statements, 1):
        if isinstance(parsed.statement, SqlStatement):
            for node in parsed.statement.ast.find_all(exp.Table):
                if node.db and fold(node.db) not in catalog.schemas:
                    catalog = catalog.with_schema(node.db)
        context = RewriteContext(
            catalog, _no_sight, dialect=dialect, describe=_described, new_table_id=number
        )
        if isinstance(parsed.statement, SessionStatement):
            continue
        plan = rewrite_statement(parsed.statement, context)
        if plan.kind is not Kind.DDL:
            raise PalimpsestError(
                Code.WRONG_OBJECT,
                f"{plan.tag} does not describe a table",
                advice="a schema file holds CREATE TABLE and CREATE VIEW statements",
            )
        for step in plan.steps:
            if isinstance(step, planned.Change):
                catalog = apply(catalog, step.change)
    return catalog


def keyed_catalog(
    keys: Mapping[str, Sequence[str]], parsed: Parsed, catalog: CatalogSnapshot
) -> tuple[CatalogSnapshot, tuple[str, ...]]:
    """The catalog with tables of which only the key is known, and what was supposed of them.

    Their other columns are those the statement itself names.
    """
    notes = []
    ids = itertools.count(max((t.id for t in catalog.tables()), default=0) + 1)
    for written, key in keys.items():
        node = exp.to_table(written, dialect="duckdb")
        name = TableName(node.db or "main", node.name)
        known = dict.fromkeys(key)
        if isinstance(parsed.statement, SqlStatement):
            known |= dict.fromkeys(_columns_named(parsed.statement.ast, node, len(keys)))
        seen = {fold(k): k for k in reversed([*known])}
        columns = tuple(Column(c, c, UNKNOWN_TYPE) for c in known if seen[fold(c)] == c)
        names = tuple(c.name for c in columns)
        if fold(name.schema) not in catalog.schemas:
            catalog = catalog.with_schema(name.schema)
        table = Table(next(ids), name, columns, tuple(key), physical_names=names)
        catalog = catalog.with_relation(table)
        notes.append(
            f"Of {name} only the key is known; its columns are taken to be those the statement "
            f"names: {', '.join(names)}. A star stands for these; types are not shown."
        )
    return catalog, tuple(notes)


def _columns_named(ast: exp.Expr, table: exp.Table, tables: int) -> Iterator[str]:
    """Columns that a statement names for a table: by its alias, or bare where it is alone."""
    aliases = {
        fold(t.alias or t.name)
        for t in ast.find_all(exp.Table)
        if fold(t.name) == fold(table.name) and not is_cte(t)
    }
    for found in ast.find_all(exp.Column):
        if fold(found.table) in aliases:
            yield found.name
        elif not found.table and tables == 1 and not isinstance(found.this, exp.Star):
            yield found.name
        elif not found.table and not isinstance(found.this, exp.Star) and aliases:
            raise PalimpsestError(
                Code.AMBIGUOUS_COLUMN,
                f'which table column "{found.name}" is of cannot be known from keys alone',
                advice=f"write alias.{found.name}, or describe the tables with --schema",
                position=position_of(found),
            )
    if isinstance(ast, exp.Insert) and isinstance(ast.this, exp.Schema):
        if fold(ast.this.this.name) == fold(table.name):
            yield from (e.name for e in ast.this.expressions)


def parse_one(sql: str, dialect: str) -> Parsed:
    """The only statement of a text."""
    found = parse(sql, dialect, DEFAULT_LIMITS)
    if len(found) != 1:
        raise PalimpsestError(
            Code.SYNTAX, f"one statement was expected, there are {len(found)}", advice="give one"
        )
    return found[0]


def to_sql(ast: exp.Expr, dialect: str) -> str:
    """Pretty SQL text with the client's own parameter names."""
    shown = exp.Subquery(this=ast.copy())
    for cast in list(shown.find_all(exp.Cast)):
        if cast.to.is_type(exp.DataType.Type.UNKNOWN):
            cast.replace(cast.this)
    if dialect != "duckdb":
        for call in list(shown.find_all(exp.Anonymous)):
            if call.name.lower() == "make_timestamptz":
                micros = exp.Literal.number(6)
                call.replace(exp.UnixToTime(this=call.expressions[0], scale=micros))
    for node in shown.find_all(exp.Placeholder):
        if node.name.startswith(USER_PARAMETER):
            node.set("this", _shown_name(node.name))
    inner = shown.this
    inner.parent = None
    return str(inner.sql(dialect=DIALECTS[dialect], pretty=True))


def _shown_name(parameter: str) -> str:
    bare = parameter.removeprefix(USER_PARAMETER)
    return str(int(bare) + 1) if bare.isdigit() else bare


def _step(step: planned.Step, tables: Mapping[int, Table], dialect: str) -> PreviewStep:
    match step:
        case planned.Stage(name, query):
            return PreviewStep(f'keep as "{name}"', to_sql(query.ast, dialect))
        case planned.Guard(query, code, message):
            note = f"{code.value.code} ({code.value.sqlstate}) if it returns a row: {message}"
            return PreviewStep("check", to_sql(query.ast, dialect), note)
        case planned.Append():
            table = tables.get(step.table_id)
            target = "the journal" if table is None else str(table.journal_name)
            return PreviewStep(f"append to {target}", to_sql(step.query.ast, dialect))
        case planned.Fetch(query):
            return PreviewStep("result", to_sql(query.ast, dialect))
        case planned.Count(query):
            return PreviewStep("row count", to_sql(query.ast, dialect))
        case planned.Number():
            return PreviewStep(f'reserve generated numbers for "{step.column}" as {step.name}')
        case planned.SkipNumbers():
            sql = to_sql(step.query.ast, dialect)
            return PreviewStep(f'generate later numbers of "{step.column}" beyond', sql)
        case planned.Change(change):
            return PreviewStep(f"change the catalog: {_change(change)}")
        case _:
            query = getattr(step, "query", None)
            sql = to_sql(query.ast, dialect) if isinstance(query, planned.Query) else None
            return PreviewStep(type(step).__name__.lower(), sql)


def _change(change: planned.CatalogChange) -> str:
    match change:
        case planned.PutRelation(View() as view, _):
            return f"view {view.name}"
        case planned.PutRelation(Table() as table, _):
            names = [table.by_physical(k).name for k in table.key]
            key = "no key" if table.hidden_key else f"key {', '.join(names)}"
            return f"table {table.name} ({key}) with its journal {table.journal_name}"
        case planned.DropRelation(name):
            return f"drop {name}; its journal stays"
        case planned.PutSchema(schema):
            return f"schema {schema}"
        case planned.DropSchema(schema):
            return f"drop schema {schema}"


def _put(plan: StatementPlan) -> Iterator[Table | View]:
    for step in plan.steps:
        if isinstance(step, planned.Change) and isinstance(step.change, planned.PutRelation):
            yield step.change.relation


def _ids(plan: StatementPlan) -> set[int]:
    written = {s.table_id for s in plan.steps if isinstance(s, planned.Append | planned.Number)}
    return written | set(plan.tables)


def _asts(plan: StatementPlan) -> list[exp.Expr]:
    queries = (getattr(step, "query", None) for step in plan.steps)
    return [q.ast for q in queries if isinstance(q, planned.Query)]


def _parameters(plan: StatementPlan) -> Iterator[tuple[str, str]]:
    return _named_parameters(_asts(plan))


def _named_parameters(asts: Sequence[exp.Expr]) -> Iterator[tuple[str, str]]:
    found = dict.fromkeys(p.name for ast in asts for p in ast.find_all(exp.Placeholder))
    for name in sorted(found, key=lambda n: (not n.startswith(USER_PARAMETER), n)):
        if name.startswith(USER_PARAMETER):
            yield _shown_name(name), "the client's"
        else:
            yield name, _MEANINGS.get(name) or _meaning(name)


_MEANINGS = {
    P_VERSION: "the version of this statement: microseconds since 1970, never used before",
    P_SNAPSHOT: "the version the transaction reads at",
}


def _meaning(name: str) -> str:
    if name.startswith("p_first_"):
        return "the first of the generated numbers"
    if name.startswith("p_time_"):
        return "a point in time that the statement names, as a version"
    return "files that may hold the row" if "file" in name or "path" in name else "the gateway's"


def _relations(plan: StatementPlan, tables: Mapping[int, Table]) -> Iterator[tuple[str, str]]:
    """Physical relations in the text, and what they hold."""
    names = dict.fromkeys(
        (node.db, node.name)
        for ast in _asts(plan)
        for node in ast.find_all(exp.Table)
        if node.meta.get(planned.PHYSICAL)
    )
    for schema, name in names:
        bare = name.removeprefix("tx").removeprefix("t")
        digits = "".join(itertools.takewhile(str.isdigit, bare))
        table = tables.get(int(digits)) if digits else None
        tier = name.rpartition("_")[2]
        if table is not None:
            shown = f"{schema}.{name}" if schema else name
            yield shown, f"{_TIERS.get(tier, tier)} of {table.journal_name}"


_TIERS = {
    "base": "base: current rows, each key once",
    "delta": "delta: sealed recent changes",
    "history": "history: superseded rows",
    "head": "head: changes not sealed yet",
    "buffer": "this transaction's own rows",
}
