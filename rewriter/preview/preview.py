"""What a statement would become: its steps as SQL text, what it touches, which shapes and why.

Works from a plan, or without any store from CREATE TABLE statements, or from nothing but the names
of key columns. The text is for reading: names of physical relations are explained, parameters keep
the names their client gave them. Pure: nothing runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from journal.model import plan as planned
from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import DropDefinition, PutDefinition, kind_of
from journal.model.plan import (
    P_NOW,
    P_SNAPSHOT,
    P_STATEMENT_TIME,
    P_USER,
    P_VERSION,
    USER_PARAMETER,
    RelationShape,
    StatementPlan,
)
from journal.model.schema import CatalogSnapshot, Table, View
from journal.model.segment import Tier
from journal.model.sequence_changes import DropSequence, PutSequence
from journal.model.store_session import ServerText
from journal.model.trees import copy_tree
from journal.model.version import VersionType
from journal.sql.relations_flat import FLAT, is_flat
from rewriter.context import RewriteContext, TableScanInfo
from rewriter.dialect_semantics import DIALECTS
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.synthetic_catalog import UNKNOWN_TYPE, query_columns
from rewriter.rewriter import rewrite_statement
from rewriter.statement import SessionStatement
from rewriter.syntax.parsing import Parsed, parse


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
    shapes: tuple[RelationShape, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    downstream: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The SQL of all steps after one another."""
        return ";\n\n".join(step.sql for step in self.steps if step.sql is not None)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a preview without a store supposes: the tables, and what their journals hold.

    ``flat`` says that they are journals of the classic convention which a database has adopted.
    """

    catalog: CatalogSnapshot
    uncompacted: bool = False
    flat: bool = False
    notes: tuple[str, ...] = ()


TextOf = Callable[[planned.Query, Callable[[str], str]], ServerText | None]
"""What a store's server is sent for a query, see ``StoreSession.server_text``."""


def preview_plan(
    plan: StatementPlan,
    parsed: Parsed,
    catalog: CatalogSnapshot,
    dialect: str = "duckdb",
    text_of: TextOf | None = None,
) -> Preview:
    """The preview of a plan, its SQL written in ``dialect``, or as ``text_of`` has it."""
    ids = _ids(plan)
    created = {r.id: r for r in _relations_put(plan) if isinstance(r, Table)}
    tables = [catalog.by_id(i) or created.get(i) for i in sorted(ids)]
    named = {t.id: t for t in tables if t is not None}
    steps = [_step(step, named, dialect, catalog) for step in plan.steps]
    if text_of is not None:
        asked = [getattr(step, "query", None) for step in plan.steps]
        sent = [text_of(q, _placeholder) if isinstance(q, planned.Query) else None for q in asked]
        dialect = next((text.dialect for text in sent if text is not None), dialect)
        steps = [_as_sent(*pair, dialect) for pair in zip(steps, sent, strict=True)]
    return Preview(
        parsed.text,
        dialect,
        plan.tag,
        plan.kind.value,
        tuple(steps),
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
    is_uncompacted = assumed.uncompacted and not assumed.flat
    tiers = {Tier.BASE, Tier.DELTA, Tier.HEAD} if is_uncompacted else {Tier.BASE}
    scan = TableScanInfo(frozenset(tiers), pinned=False)
    ids = [t.id for t in assumed.catalog.tables()]
    catalog = _as_adopted(assumed.catalog) if assumed.flat else assumed.catalog
    context = RewriteContext(
        catalog,
        lambda _: scan,
        dialect=read,
        describe=query_columns,
        new_table_id=max(ids, default=0) + 1,
        capabilities=Capabilities(
            collations=True,
            equates_texts=True,
            enums=True,
            access_control=True,
            analyzes=dialect == "postgres",
            plans_unions_apart=dialect == "duckdb",
            indexes_endings=dialect == "postgres",
            postgres_functions=dialect == "postgres",
            divides_by_type=dialect == "duckdb",
            joins_in_place=dialect == "duckdb",
            counts_rows=dialect == "duckdb",
        ),
    )
    plan = rewrite_statement(parsed.statement, context)
    for table in filter(None, map(catalog.by_id, sorted(_ids(plan)))):
        if is_flat(table) and table.hidden_key:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{table.name} has no key, without which a flat journal cannot be read",
                advice=f"declare a PRIMARY KEY, or give --key {table.name.name}=column",
            )
    found = preview_plan(plan, parsed, catalog, dialect)
    return replace(found, notes=(*found.notes, *assumed.notes))


def _as_adopted(catalog: CatalogSnapshot) -> CatalogSnapshot:
    """The catalog as if all its tables stood over adopted journals."""
    for table in catalog.tables():
        kind = "bigint" if table.format.version_type is VersionType.BIGINT else "timestamptz"
        properties = (*table.properties, (FLAT, kind))
        catalog = catalog.with_relation(replace(table, properties=properties))
    return catalog


def parse_one(sql: str, dialect: str) -> Parsed:
    """The only statement of a text."""
    found = parse(sql, dialect, DEFAULT_LIMITS)
    if len(found) != 1:
        raise PalimpsestError(
            Code.SYNTAX,
            f"a preview takes one statement, not {len(found)}",
            advice="give them one after another",
        )
    return found[0]


def to_sql(ast: exp.Expr, dialect: str) -> str:
    """Pretty SQL text with the client's own parameter names."""
    shown = exp.Subquery(this=copy_tree(ast))
    for cast in list(shown.find_all(exp.Cast)):
        if cast.to.is_type(UNKNOWN_TYPE):
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
    return str(inner.sql(dialect=DIALECTS[dialect], pretty=True, copy=False))


def _as_sent(step: PreviewStep, sent: ServerText | None, dialect: str) -> PreviewStep:
    """A step with the text that a server gets, where any step has one."""
    if sent is not None:
        return replace(step, sql=sent.sql)
    if step.sql is None or dialect == "duckdb":
        return step
    note = "the gateway runs this itself, in DuckDB's SQL"
    return replace(step, note=f"{step.note}; {note}" if step.note else note)


def _placeholder(parameter: str) -> str:
    return f"${_shown_name(parameter)}"


def _shown_name(parameter: str) -> str:
    bare = parameter.removeprefix(USER_PARAMETER)
    return str(int(bare) + 1) if bare.isdigit() else bare


def _step(
    step: object, tables: Mapping[int, Table], dialect: str, catalog: CatalogSnapshot
) -> PreviewStep:
    match step:
        case planned.Stage(name, query):
            return PreviewStep(f'keep as "{name}"', to_sql(query.ast, dialect))
        case planned.Guard(query, code, message):
            shown = message.replace("{0}", "..").replace("{1}", "..")
            note = f"{code.value.code} ({code.value.sqlstate}) if it returns a row: {shown}"
            return PreviewStep("check", to_sql(query.ast, dialect), note)
        case planned.Fetch(query):
            return PreviewStep("result", to_sql(query.ast, dialect))
        case planned.Export(query, path, form):
            return PreviewStep(f"write {form} to {path}", to_sql(query.ast, dialect))
        case planned.Count(query):
            return PreviewStep("row count", to_sql(query.ast, dialect))
        case planned.AllocateIdentity():
            return PreviewStep(f'reserve generated numbers for "{step.column}" as {step.name}')
        case planned.SkipNumbers():
            sql = to_sql(step.query.ast, dialect)
            return PreviewStep(f'generate later numbers of "{step.column}" beyond', sql)
        case planned.TakeNumbers():
            return PreviewStep(f"take numbers of {step.source.shown} as {step.name}")
        case planned.SetNumber(source, query):
            return PreviewStep(f"set {source.shown}", to_sql(query.ast, dialect))
        case planned.Analyze(ids):
            names = [str(t.name) for t in map(catalog.by_id, ids) if t is not None]
            return PreviewStep(f"analyze the journals of {', '.join(names)}")
        case planned.Change(change):
            return PreviewStep(f"change the catalog: {_change_text(change, catalog)}")
        case _:
            found = getattr(step, "query", None)
            text = to_sql(found.ast, dialect) if isinstance(found, planned.Query) else None
            table = tables.get(getattr(step, "table_id", -1))
            if text is not None and table is not None:
                return PreviewStep(f"append to {table.journal_name}", text)
            return PreviewStep(type(step).__name__.lower(), text)


def _change_text(change: planned.CatalogChange, catalog: CatalogSnapshot) -> str:
    match change:
        case planned.PutRelation(View() as view, _):
            return f"view {view.name}"
        case planned.PutRelation(Table() as table, _):
            names = [table.by_physical(k).name for k in table.key]
            key = "no key" if table.hidden_key else f"key {', '.join(names)}"
            if catalog.is_own(table.name):
                return f"temporary table {table.name} ({key})"
            return f"table {table.name} ({key}) with its journal {table.journal_name}"
        case planned.DropRelation(name) if catalog.is_own(name):
            return f"drop {name}"
        case planned.DropRelation(name) if isinstance(catalog.get(name), View):
            return f"drop view {name}"
        case planned.DropRelation(name):
            return f"drop {name}; its journal stays"
        case planned.PutSchema(schema, comment):
            said = "" if comment is None else f" with the comment {comment!r}"
            return f"schema {schema}{said}"
        case planned.DropSchema(schema):
            return f"drop schema {schema}"
        case PutSequence(sequence):
            return f"sequence {sequence.name}"
        case DropSequence(name):
            return f"drop sequence {name}"
        case PutDefinition(found, _):
            return f"{kind_of(found)} {found.name}"
        case DropDefinition(found):
            return f"drop {kind_of(found)} {found.name}"
        case _:
            return type(change).__name__


def _relations_put(plan: StatementPlan) -> Iterator[Table | View]:
    for step in plan.steps:
        if isinstance(step, planned.Change) and isinstance(step.change, planned.PutRelation):
            yield step.change.relation


def _ids(plan: StatementPlan) -> set[int]:
    written = {getattr(step, "table_id", None) for step in plan.steps} - {None}
    return {int(i) for i in written if i is not None} | set(plan.tables)


def _asts(plan: StatementPlan) -> list[exp.Expr]:
    queries = (getattr(step, "query", None) for step in plan.steps)
    return [q.ast for q in queries if isinstance(q, planned.Query)]


def _parameters(plan: StatementPlan) -> Iterator[tuple[str, str]]:
    found = dict.fromkeys(p.name for ast in _asts(plan) for p in ast.find_all(exp.Placeholder))
    for name in sorted(found, key=lambda n: (not n.startswith(USER_PARAMETER), n)):
        if name.startswith(USER_PARAMETER):
            yield _shown_name(name), "the client's"
        else:
            yield name, _MEANINGS.get(name) or _parameter_meaning(name)


_MEANINGS = {
    P_VERSION: "the version of this statement: microseconds since 1970, never used before",
    P_SNAPSHOT: "the version the transaction reads at",
    P_USER: "the name the client gave itself",
    P_NOW: "when the transaction began",
    P_STATEMENT_TIME: "when this statement began",
}


def _parameter_meaning(name: str) -> str:
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
            tiers = _FLAT_TIERS if is_flat(table) else _TIERS
            yield shown, f"{tiers.get(tier) or _TIERS.get(tier, tier)} of {table.journal_name}"


_TIERS = {
    "base": "base: current rows, each key once",
    "delta": "delta: sealed recent changes",
    "history": "history: superseded rows",
    "head": "head: changes not sealed yet",
    "buffer": "this transaction's own rows",
    "placed": "sealed rows, less those that have ended by their positions",
}
_FLAT_TIERS = {
    "base": "base: the latest row of each key that is no tombstone,",
    "history": "history: the rows before, with the versions that ended them,",
}
