"""How long does it take to rewrite a statement, cold and when its plan is cached?

Cold is text to SQL for the store: parse, rewrite, check, print. Cached is what a repeated statement
costs before the store sees it: finding its parsed text and its plan, and checking the plan is good.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

from bench.contenders import fresh_gateway
from bench.measure import OURS, Promise, Report, timed
from bench.options import Options, read_options
from gateway.config import Settings
from gateway.session.plan_cache import CachedPlan, PlanCache
from journal.local_engine.session import render
from journal.model.plan import PointRequest, StatementPlan
from journal.transactions.transaction import Transaction
from rewriter.context import PlanForm, RewriteContext, TableScanInfo, TimePoint
from rewriter.rewriter import rewrite_statement
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import parse

_COLD_MS, _CACHED_MS = 1.0, 0.05
_BATCH = 50

STATEMENTS = (
    ("point read", "SELECT * FROM b.item WHERE id = ?"),
    (
        "join and group",
        (
            "SELECT o.customer, count(*) AS n, sum(i.price * i.quantity) AS total"
            " FROM b.orders AS o JOIN b.item AS i ON i.order_id = o.id"
            " WHERE o.placed >= ? GROUP BY o.customer ORDER BY total DESC LIMIT 10"
        ),
    ),
    ("insert", "INSERT INTO b.item (id, order_id, price, quantity) VALUES (?, ?, ?, ?)"),
    ("update by key", "UPDATE b.item SET price = price * 2 WHERE id = ?"),
    ("delete", "DELETE FROM b.item WHERE order_id = ?"),
)
TABLES = (
    "CREATE SCHEMA b",
    "CREATE TABLE b.orders (id BIGINT PRIMARY KEY, customer BIGINT, placed DATE)",
    (
        "CREATE TABLE b.item (id BIGINT PRIMARY KEY, order_id BIGINT, price DECIMAL(15,2),"
        " quantity INTEGER, note VARCHAR)"
    ),
    "INSERT INTO b.orders VALUES (1, 1, DATE '2024-01-01')",
    "INSERT INTO b.item VALUES (1, 1, 9.99, 1, 'n')",
)


def measure(options: Options) -> Report:
    """Rewrite each statement many times over a small warehouse."""
    report = Report("rewrite latency", 0)
    with fresh_gateway(options.work / "rewrite") as ours:
        for statement in TABLES:
            ours.run(statement)
        session = ours.connection.session
        transaction = session.journal.begin()
        rewriting = Rewriting(PlanCache(), transaction, session.settings)
        for name, text in STATEMENTS:
            rewriting.keep(text)
            kinds = (("cold", rewriting.cold, _COLD_MS), ("cached", rewriting.cached, _CACHED_MS))
            for kind, run, limit in kinds:
                case = f"{name}, {kind}"
                contender = {OURS: _many(partial(run, text), 1 if kind == "cold" else _BATCH)}
                report.compare(case, contender, options.repeats * 30, warm_ups=5)
                found = report.median_ms(case, OURS) / limit
                report.judge(case, Promise(f"{limit:g} ms", 1.0), [found])
        transaction.rollback()
    report.notes.append(f"cached: each run is the mean of {_BATCH} look-ups")
    return report


def _no_times(request: PointRequest) -> TimePoint:
    raise AssertionError(request)


def _many(run: Callable[[], object], times: int) -> Callable[[], float]:
    def batch() -> None:
        for _ in range(times):
            run()

    return lambda: timed(batch) / times


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What the executor does for each statement before the store sees it."""

    cache: PlanCache
    transaction: Transaction
    settings: Settings

    def scan_info(self, table_id: int) -> TableScanInfo:
        """What the statement sees of a journal."""
        committed = self.transaction.snapshot
        return TableScanInfo(
            self.transaction.tiers(table_id, committed),
            self.transaction.is_pinned(table_id, committed),
        )

    def cold(self, text: str) -> StatementPlan:
        """Text to the store's SQL, with nothing remembered."""
        parsed = parse(text, "duckdb", self.settings.limits)[0]
        assert isinstance(parsed.statement, SqlStatement)
        context = RewriteContext(self.transaction.catalog, self.scan_info, form=PlanForm.OPTIMISTIC)
        plan = rewrite_statement(parsed.statement, context)
        for step in plan.steps:
            query = getattr(step, "query", None)
            if query is not None:
                render(query)
        return plan

    def keep(self, text: str) -> None:
        """Put a statement into the cache."""
        parsed = parse(text, "duckdb", self.settings.limits)
        self.cache.put_statements(self._key(text), parsed)
        plan = self.cold(text)
        scan_info = {table_id: self.scan_info(table_id) for table_id in plan.tables}
        self.cache.put_plan(self._key(text), CachedPlan(plan, self.transaction.catalog, scan_info))

    def cached(self, text: str) -> StatementPlan:
        """The plan of a statement seen before."""
        parsed = self.cache.cached_statements(self._key(text))
        plan = self.cache.cached_plan(
            self._key(text), self.transaction.catalog, self.scan_info, _no_times
        )
        assert parsed is not None
        assert plan is not None
        return plan

    def _key(self, text: str) -> Hashable:
        return (text, "duckdb", self.settings.schema, False, self.settings.limits)


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
