"""What becomes of one text: statements, plans, a store's SQL; and what must never become of it.

Parser and rewriter may refuse a text with an error that has a code and an SQLSTATE. Anything else
that they raise, PAL-112, a plan that reads or writes anything but journals, and a text that takes
long are findings.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, Append, PointRequest, Query, StatementPlan
from journal.model.schema import CatalogSnapshot, Column, Table, TableName, fold
from journal.model.segment import Tier
from rewriter.context import PlanForm, RewriteContext, TableScanInfo, TimePoint
from rewriter.functions import TABLE_FUNCTIONS
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.synthetic_catalog import query_columns
from rewriter.rewriter import rewrite_statement
from rewriter.statement import Prepare, SessionStatement, SqlStatement, Statement
from rewriter.syntax.parsing import parse
from tests.rewriter.fuzz.mutations import Mutant
from tests.rewriter.golden.plans import STORES, Store

SECONDS_MAX = 5.0
"""Of this process, so that a busy machine is no finding; the command watches the clock as well."""
_OURS = ("rewriter", "journal", "gateway")
_TIERS = frozenset({Tier.BASE, Tier.DELTA, Tier.HEAD})
_COLUMNS_MAX = 30


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a text: the code of a refusal, ``planned``, ``session`` or a finding.

    ``finding`` says what went wrong and where, alike for texts that fail alike.
    """

    outcome: str
    finding: str = ""
    detail: str = ""


def judge(mutant: Mutant, store_name: str) -> Verdict:
    """Read and rewrite a text for a store, and look at what comes out."""
    started = time.thread_time()
    try:
        verdict = _judged(mutant, STORES[store_name], store_name)
    except PalimpsestError as error:
        verdict = _refused(error)
    except Exception as error:  # noqa: BLE001 - what it is told apart by is the finding.
        verdict = Verdict("raised", _place_of(error), traceback.format_exc())
    seconds = time.thread_time() - started
    if seconds > SECONDS_MAX and not verdict.finding:
        return Verdict("slow", "slow", f"{seconds:.1f} s")
    return verdict


def _refused(error: PalimpsestError) -> Verdict:
    code = error.code.value
    if error.code is Code.INVARIANT:
        cause = error.__cause__
        where = error.message if cause is None else _place_of(cause)
        return Verdict("invariant", f"PAL-112 {where}", "".join(traceback.format_exception(error)))
    if len(code.sqlstate) != 5 or not error.message:
        return Verdict("unsaid", f"{code.code} without a state or a message")
    return Verdict(code.code)


def _place_of(error: BaseException) -> str:
    """The kind of an error, and the last places of ours and of all that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if any(f"/{name}/" in f.filename for name in _OURS)]
    shown = [f"{Path(f.filename).name}:{f.name}" for f in (*ours[-1:], *frames[-1:])]
    return f"{type(error).__name__} in {' > '.join(dict.fromkeys(shown))}"


def _judged(mutant: Mutant, store: Store, store_name: str) -> Verdict:
    outcome = "empty"
    for parsed in parse(mutant.text, mutant.dialect, DEFAULT_LIMITS):
        statement = parsed.statement
        if isinstance(statement, Prepare):
            statement = statement.statement
        if isinstance(statement, SessionStatement):
            outcome = "session"
            continue
        outcome = "planned"
        catalog = supposed_catalog(statement, mutant.source.catalog)
        forms = (PlanForm.FULL, PlanForm.OPTIMISTIC) if store.raises_in_sql else (PlanForm.FULL,)
        for form in forms:
            plan = rewrite_statement(statement, context_of(mutant.dialect, catalog, form, store))
            problem = _problem(plan, catalog, store, store_name)
            if problem:
                return Verdict("reaches out", problem)
    return Verdict(outcome)


def context_of(
    dialect: str, catalog: CatalogSnapshot, form: PlanForm, store: Store
) -> RewriteContext:
    """What a rewrite for a store may know; every point in time shows the catalog."""

    def at(request: PointRequest) -> TimePoint:
        return TimePoint(1000, catalog)

    return RewriteContext(
        catalog,
        lambda _: TableScanInfo(_TIERS, pinned=False),
        dialect=dialect,
        times=at,
        describe=partial(_described, store=store),
        new_table_id=max((t.id for t in catalog.tables()), default=0) + 1,
        form=form,
        capabilities=Capabilities(
            access_control=True,
            lists_rows=store.dialect == "duckdb",
            raises_in_sql=store.raises_in_sql,
            foreign_keys=store.foreign_keys,
            accesses_files=store.dialect == "duckdb",
            collations=store.dialect != "spark",
            equates_texts=store.dialect == "duckdb",
            expands_lists=store.dialect != "spark",
            enums=True,
            fences_by_offset=store.dialect == "postgres",
            plans_unions_apart=store.dialect == "duckdb",
            counts_rows=store.dialect == "duckdb",
        ),
        settings=lambda name: "a value",
    )


def _described(
    query: exp.Query, tables: frozenset[int], store: Store
) -> tuple[tuple[str, str], ...]:
    """The columns of a query, which a real store is asked for in its own words."""
    store.text(query)
    try:
        return query_columns(query, tables)
    except PalimpsestError:
        return (("a", "INTEGER"), ("b", "VARCHAR"))


def supposed_catalog(statement: Statement, catalog: CatalogSnapshot) -> CatalogSnapshot:
    """The catalog, with the tables that a statement reads or changes and nobody has created."""
    if not isinstance(statement, SqlStatement):
        return catalog
    tree = statement.ast
    new = tree.find(exp.Table) if isinstance(tree, exp.Create) and tree.kind != "INDEX" else None
    if new is not None:
        catalog = catalog.without_relation(TableName(new.db or catalog.home, new.name))
    named = dict.fromkeys(fold(c.name) for c in tree.find_all(exp.Column) if c.name)
    columns = tuple(
        Column(name, name, ("INTEGER", "VARCHAR", "TIMESTAMP")[len(name) % 3])
        for name in dict.fromkeys(["k", *named][:_COLUMNS_MAX])
    )
    for node in tree.find_all(exp.Table):
        name = TableName(node.db or catalog.home, node.name)
        if node is new or not isinstance(node.this, exp.Identifier) or catalog.get(name):
            continue
        if fold(name.schema) in {"system", "information_schema", "pg_catalog"} or node.catalog:
            continue
        if fold(name.schema) not in catalog.schemas:
            catalog = catalog.with_schema(name.schema)
        number = max((t.id for t in catalog.tables()), default=0) + 1
        table = Table(
            number, name, columns, (columns[0].name,), physical_names=tuple(c.name for c in columns)
        )
        catalog = catalog.with_relation(table)
    return catalog


def _problem(
    plan: StatementPlan, catalog: CatalogSnapshot, store: Store, store_name: str
) -> str | None:
    """What a plan reads or writes besides journals, files that it names and rows of its own."""
    steps = [(step, getattr(step, "query", None)) for step in plan.steps]
    staged = {str(getattr(step, "name", "")) for step in plan.steps} | set(plan.system) | {"batch"}
    for step, query in steps:
        if isinstance(step, Append) and catalog.by_id(step.table_id) is None:
            if plan.tag.split()[0] not in {"CREATE", "SELECT"}:
                return f"appends to table {step.table_id}"
        if not isinstance(query, Query):
            continue
        text = store.text(query.ast)
        found = _read_by_duckdb(text) if store_name == "embedded" else _read(text, store.dialect)
        for kind, schema, name in found:
            if kind == "function" and name.replace("_", "") not in _FUNCTIONS:
                return f"calls {name}"
            is_own = name in staged or name.startswith("tx") or schema == "recurring"
            if kind == "table" and schema != STORE_SCHEMA and not is_own:
                return f"reads {schema}.{name}"
    return None


_FUNCTIONS = (
    {name.replace("_", "") for name in TABLE_FUNCTIONS}
    | {"explode", "posexplode"}
    | {
        *("stack", "regexpmatches"),
    }
)


def _read_by_duckdb(text: str) -> Iterator[tuple[str, str, str]]:
    """The tables and table functions of a text, as the engine itself reads it."""
    ((answer,),) = duckdb.execute("SELECT json_serialize_sql($1)", [text]).fetchall()
    tree = json.loads(answer)
    if tree.get("error"):
        # What the engine cannot read, reads nothing; PIVOT it reads, but does not show.
        if tree["error_type"] != "parser":
            yield from _read(text, "duckdb")
        return
    left: list[object] = [tree]
    ctes: set[str] = set()
    found: list[tuple[str, str, str]] = []
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        if not isinstance(node, dict):
            continue
        left += node.values()
        if "cte_map" in node:
            ctes |= {str(item["key"]).casefold() for item in node["cte_map"]["map"]}
        if node.get("type") == "BASE_TABLE":
            found.append(("table", node["schema_name"], node["table_name"]))
        if node.get("type") == "TABLE_FUNCTION":
            found.append(("function", "", node["function"].get("function_name", "").lower()))
    yield from (f for f in found if f[0] != "table" or f[1] or f[2].casefold() not in ctes)


def _read(text: str, dialect: str) -> Iterator[tuple[str, str, str]]:
    try:
        trees = sqlglot.parse(text, read=dialect)
    except ParseError:
        # A store's parser refuses it too, or reads a spelling that this one lacks.
        return
    for tree in trees:
        if tree is None or isinstance(tree, exp.Command):
            raise AssertionError(f"no statement to be read: {text}")
        ctes = {fold(c.alias) for c in tree.find_all(exp.CTE)}
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier) and (
                table.db or fold(table.name) not in ctes
            ):
                yield "table", table.db, table.name
            elif isinstance(table.this, exp.Anonymous):
                yield "function", "", table.this.name.lower()
