"""Finds the plan of a statement in the cache, or has the statement rewritten.

The only module that has statements rewritten to be run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

from gateway.activity.activity import Activity
from gateway.lineage.ledger import LineageLedger
from gateway.session.definitions import describer, dropped_tables
from gateway.session.literal_templates import LiteralTemplates
from gateway.session.plan_cache import CachedPlan, PlanCache, has_locks, may_create_ids, plan_key
from gateway.session.request import StatementRequest
from gateway.session.roles import setting_text
from gateway.session.scan_info import scan_info_of
from gateway.session.time_points import TimePoints
from journal.model.plan import StatementKind, StatementPlan
from journal.model.point_rows import KeyLookup
from journal.records.entity_rows import entity_versions
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.transaction import Transaction
from rewriter.access.check import check_access, check_reached
from rewriter.access.visible_context import as_seen
from rewriter.context import RewriteContext, TableScanInfo
from rewriter.rewriter import rewrite_statement
from rewriter.statement import Show


class Planner:
    """Plans statements over the journals of one store; shared by its sessions.

    ``job_kinds`` names the jobs that a policy may schedule; ``activity`` is what statements on the
    sessions of the store read.
    """

    def __init__(
        self, journal: OpenJournal, job_kinds: Callable[[], Sequence[str]], activity: Activity
    ) -> None:
        self.activity = activity
        self._journal = journal
        self._job_kinds = job_kinds
        self.cache = PlanCache()
        self.templates = LiteralTemplates()
        self.lineage = LineageLedger(journal)

    def known_plan(
        self, statement: OpenStatement, request: StatementRequest, times: TimePoints
    ) -> CachedPlan | None:
        """The plan of a statement with what it was made of, if it was made before."""
        transaction, settings = statement.transaction, request.settings
        scan_info, find = scan_info_of(statement, {}), times.of(statement)
        key, catalog = _key(transaction, request), transaction.catalog
        setting = partial(setting_text, settings, catalog=catalog)
        return self.cache.cached_plan(key, catalog, scan_info, find, setting)

    def may_ask_once(self, transaction: Transaction, request: StatementRequest) -> bool:
        """True if a statement came to one query when it was planned last."""
        return self.cache.asks_once(_key(transaction, request))

    def key_lookups(
        self, transaction: Transaction, request: StatementRequest
    ) -> tuple[KeyLookup, ...]:
        """The rows that a statement looked up by their keys when it was planned last."""
        return self.cache.key_lookups(_key(transaction, request))

    def plan(
        self, statement: OpenStatement, request: StatementRequest, times: TimePoints
    ) -> StatementPlan:
        """The plan of a statement as it sees the journals, made now or before."""
        parsed, settings = request.parsed, request.settings
        transaction = statement.transaction
        seen: dict[int, TableScanInfo] = {}
        scan_info = scan_info_of(statement, seen)
        key = _key(transaction, request)
        find = times.of(statement)
        catalog = transaction.catalog
        text_of = partial(setting_text, settings, catalog=catalog, transaction=transaction)
        known = self.cache.cached_plan(key, transaction.catalog, scan_info, find, text_of)
        if known is not None:
            return known.plan
        seen.clear()
        shown: dict[str, str | None] = {}

        def setting(name: str) -> str | None:
            return shown.setdefault(name, text_of(name))

        context = RewriteContext(
            transaction.catalog,
            scan_info,
            dialect=request.dialect,
            path=settings.search_path,
            times=find,
            as_of=settings.as_of,
            describe=describer(statement, request.parameters),
            dropped=dropped_tables(statement),
            new_table_id=self._journal.counters.new_table_id() if may_create_ids(parsed) else 0,
            batch=request.batch is not None,
            form=request.form,
            capabilities=self._journal.capabilities,
            job_kinds=self._job_kinds,
            is_profile=self._is_profile,
            limits=settings.limits,
            query_settings=settings.query_settings,
            settings=setting,
            deferred=transaction.deferred,
            claims=_claims(transaction, request),
            role=settings.role,
            snapshot=transaction.snapshot.version,
            kinds=request.kinds,
            varied=statement.varied_columns,
        )
        rights = context.rights
        if rights.is_admin:
            plan = rewrite_statement(parsed.statement, context)
        else:
            reached = check_access(parsed.statement, context, request.stream_file)
            if isinstance(parsed.statement, Show):
                context = as_seen(context, rights)
            plan = rewrite_statement(parsed.statement, context)
            check_reached(plan, reached, context)
        if plan.kind is not StatementKind.DDL:
            catalogs = tuple(find(point).catalog for point in plan.points)
            entry = CachedPlan(
                plan, transaction.catalog, dict(seen), catalogs, tuple(shown.items())
            )
            self.cache.put_plan(key, entry)
        return plan

    def _is_profile(self, name: str) -> bool:
        with self._journal.reading_session() as records:
            versions = entity_versions(records, "profile", name)
        return bool(versions) and versions[-1].ended_at is None


def _key(transaction: Transaction, request: StatementRequest) -> Hashable:
    """Under what the plan of a statement is kept, in a transaction."""
    scope = transaction.plan_scope
    return plan_key(request, (scope, "claims") if _claims(transaction, request) else scope)


def _claims(transaction: Transaction, request: StatementRequest) -> bool:
    """True for a statement that claims the rows that it reads up to the end of a transaction."""
    can_wait = transaction.timing is not None and not request.explains
    return can_wait and has_locks(request.parsed)
