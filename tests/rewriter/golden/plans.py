"""The text of a golden file: the plan of its statement, step by step, as each store writes it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from sqlglot import exp

from journal.model.capabilities import Capabilities
from journal.model.errors import PalimpsestError
from journal.model.plan import PointRequest, Query, StatementPlan
from journal.model.schema import CatalogSnapshot
from journal.model.segment import Tier
from journal.sql import dialects
from journal.stores.hive.dialect import text as hive_text
from journal.stores.postgres.dialect import text as postgres_text
from rewriter.context import PlanForm, RewriteContext, TableScanInfo, TimePoint
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.preview import PreviewStep, preview_plan
from rewriter.preview.synthetic_catalog import catalog_of, query_columns
from rewriter.rewriter import rewrite_statement
from rewriter.syntax.parsing import Parsed, parse
from tests.rewriter.golden.case import Case, spelled
from tests.rewriter.golden.layout import WIDTH, laid_out

POINT = 1000
"""The version of each mark."""


@dataclass(frozen=True, slots=True)
class Store:
    """A kind of store: how it writes SQL, and the capabilities a rewrite depends on."""

    dialect: str
    text: Callable[[exp.Expr], str]
    raises_in_sql: bool
    foreign_keys: bool


def _of_duckdb(ast: exp.Expr) -> str:
    return dialects.text(ast, None, "duckdb")


def _of_postgres(ast: exp.Expr) -> str:
    return postgres_text.rendered(ast).sql


class _Named(dict[str, str]):
    """Stands for the values of parameters: their names."""

    def __missing__(self, name: str) -> str:
        return f"${name}"


def _of_hive(ast: exp.Expr) -> str:
    return hive_text.rendered(ast, _Named(any=""))


STORES = {
    "embedded": Store("duckdb", _of_duckdb, raises_in_sql=True, foreign_keys=True),
    "postgresql": Store("postgres", _of_postgres, raises_in_sql=True, foreign_keys=True),
    "hive": Store("spark", _of_hive, raises_in_sql=False, foreign_keys=False),
}


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A case's statement over the catalog of its setup, for one store."""

    case: Case
    store: Store

    def plan(self, form: PlanForm = PlanForm.FULL) -> StatementPlan:
        """The plan; raises the refusal."""
        return rewrite_statement(self.parsed().statement, self._context(form))

    def parsed(self) -> Parsed:
        """The statement, with each mark as the same version."""
        text = spelled(self.case.statement, _version)
        (found,) = parse(text, self.case.options.get("client", "duckdb"), DEFAULT_LIMITS)
        return found

    def catalog(self) -> CatalogSnapshot:
        """The tables and views that the setup creates."""
        return _catalog(";".join(self.case.definitions))

    def _context(self, form: PlanForm) -> RewriteContext:
        catalog = self.catalog()
        tiers = frozenset(Tier(t) for t in self.case.listed("tiers", "base, delta, head"))
        ids = [table.id for table in catalog.tables()]

        def at(request: PointRequest) -> TimePoint:
            return TimePoint(POINT, catalog)

        return RewriteContext(
            catalog,
            lambda _: TableScanInfo(tiers, pinned=False),
            dialect=self.case.options.get("client", "duckdb"),
            times=at,
            describe=query_columns,
            new_table_id=max(ids, default=0) + 1,
            form=form,
            claims=True,
            capabilities=Capabilities(
                access_control=True,
                foreign_keys=self.store.foreign_keys,
                enums=self.store.dialect == "duckdb",
                collations=self.store.dialect != "spark",
                equates_texts=self.store.dialect == "duckdb",
                plans_unions_apart=self.store.dialect == "duckdb",
                counts_rows=self.store.dialect == "duckdb",
                lists_rows=self.store.dialect == "duckdb",
                indexes_endings=self.store.dialect == "postgres",
            ),
        )


@cache
def _catalog(definitions: str) -> CatalogSnapshot:
    return catalog_of(parse(definitions, "duckdb", DEFAULT_LIMITS), "duckdb")


def golden_text(case: Case) -> str:
    """What the file should hold below its author's part."""
    sections: list[str] = []
    for name in case.listed("stores", "embedded"):
        rewriting = Rewriting(case, STORES[name])
        try:
            sections += _sections(name, rewriting)
        except PalimpsestError as error:
            found = _refusal(error)
            if found not in sections:
                sections.append(found)
    return "\n".join(sections) + "\n"


@cache
def plan_sections(case: Case, name: str) -> list[tuple[str, StatementPlan]]:
    """The plans of a store with their headings: the one it runs first, then the one in full.

    Raises the refusal of a statement that has none.
    """
    rewriting = Rewriting(case, STORES[name])
    full = rewriting.plan()
    found = [(f"plan: {name}", full)]
    if rewriting.store.raises_in_sql:
        first = rewriting.plan(PlanForm.OPTIMISTIC)
        if _asts(first) != _asts(full):
            again = [(f"plan: {name}, after a failure", full)] if name == "embedded" else []
            found = [(f"plan: {name}, optimistic", first), *again]
    if case.options.get("form") == "cached" and name == "embedded":
        found.insert(0, (f"plan: {name}, with cached rows", rewriting.plan(PlanForm.FROM_CACHE)))
    return found


def _sections(name: str, rewriting: Rewriting) -> Iterator[str]:
    for heading, plan in plan_sections(rewriting.case, name):
        shown = preview_plan(plan, rewriting.parsed(), rewriting.catalog()).steps
        lines = [f"-- {heading}"]
        for number, (step, preview) in enumerate(zip(plan.steps, shown, strict=True), 1):
            lines += _step(number, step, preview, rewriting.store)
        if plan.plain is not None:
            lines += _comment(f"no store is needed: {_plain(plan.plain)}")
        if not plan.steps and plan.plain is None:
            lines.append("-- nothing to do")
        yield "\n".join(lines)


def _step(number: int, step: object, preview: PreviewStep, store: Store) -> Iterator[str]:
    note = f" {preview.note}" if preview.note else ""
    yield from _comment(f"{number}. {preview.action}{':' if note else ''}{note}")
    query = getattr(step, "query", None)
    if isinstance(query, Query):
        text = laid_out(store.text(query.ast), store.dialect)
        yield re.sub(r"'\$(\w+)'", r":\1", text) + ";"


def _plain(plain: object) -> str:
    return _one_line(repr(plain))


def _refusal(error: PalimpsestError) -> str:
    lines = [f"-- refused {error.code.value.code} ({error.code.value.sqlstate})"]
    lines += _comment(error.message)
    lines += _comment(error.advice)
    return "\n".join(lines)


def _comment(text: str) -> list[str]:
    return [f"-- {line}" for line in textwrap.wrap(_one_line(text), WIDTH - 3)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _asts(plan: StatementPlan) -> list[exp.Expr | None]:
    return [getattr(getattr(step, "query", None), "ast", None) for step in plan.steps]


def _version(schema: str, table: str, _mark: str) -> str:
    return f"{schema}.{table} FOR SYSTEM_VERSION AS OF {POINT}"
