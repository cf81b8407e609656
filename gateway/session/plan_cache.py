"""Caches parsed statements and plans by their text.

A plan is good while the catalog it was made under is the same object and each table it reads still
looks the same (tiers with rows, pinned or not). A text has several plans, since its tables look
different in and out of transactions. Entries are dropped least recently used first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache

from gateway.config import Settings
from gateway.session.request import StatementRequest
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from journal.model.point_rows import KeyLookup
from journal.model.schema import CatalogSnapshot
from rewriter.context import ScanInfos, SettingValues, TableScanInfo, Times, no_settings
from rewriter.statement import (
    RefreshView,
    SqlStatement,
)
from rewriter.statements.access import CreateRole
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.parsing import Parsed

_ENTRIES_MAX = 1024
_PLANS_MAX = 8
"""Of one text."""


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A plan and its inputs."""

    plan: StatementPlan
    catalog: CatalogSnapshot
    scan_info: dict[int, TableScanInfo]
    catalogs: tuple[CatalogSnapshot, ...] = ()
    """Those at the plan's points in time, in their order."""
    settings: tuple[tuple[str, str | None], ...] = ()
    """What it shows of the session's settings, by name."""


class PlanCache:
    """Shared by all sessions of a warehouse."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[Hashable, list[Parsed]] = OrderedDict()
        self._plans: OrderedDict[Hashable, tuple[CachedPlan, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def cached_statements(self, key: Hashable) -> list[Parsed] | None:
        """The statements of a text seen before; their ASTs must not be changed."""
        with self._lock:
            found = self._parsed.get(key)
            if found is not None:
                self._parsed.move_to_end(key)
            return found

    def put_statements(self, key: Hashable, parsed: list[Parsed]) -> None:
        """Remember the statements of a text."""
        with self._lock:
            self._parsed[key] = parsed
            if len(self._parsed) > _ENTRIES_MAX:
                self._parsed.popitem(last=False)

    def is_bounded(self, key: Hashable) -> bool:
        """True when the plan made last for this key was bounded."""
        entries = self._plans.get(key)
        return entries is not None and entries[0].plan.bounded

    def asks_once(self, key: Hashable) -> bool:
        """True when the plan made last for this key was one query."""
        entries = self._plans.get(key)
        return entries is not None and entries[0].plan.asks_once

    def key_lookups(self, key: Hashable) -> tuple[KeyLookup, ...]:
        """The rows that the plan made last for this key looks up by their keys."""
        entries = self._plans.get(key)
        return () if entries is None else entries[0].plan.keyed

    def cached_plan(
        self,
        key: Hashable,
        catalog: CatalogSnapshot,
        scan_info: ScanInfos,
        times: Times,
        settings: SettingValues = no_settings,
    ) -> CachedPlan | None:
        """The plan made before, with what it was made of, if it would be made the same way now."""
        with self._lock:
            entries = self._plans.get(key)
            if entries is None:
                return None
            self._plans.move_to_end(key)
        found = (e for e in entries if _is_current(e, catalog, scan_info, times, settings))
        return next(found, None)

    def put_plan(self, key: Hashable, entry: CachedPlan) -> None:
        """Remember a plan."""
        with self._lock:
            before = self._plans.get(key, ())
            kept = [
                e for e in before if e.catalog is entry.catalog and e.scan_info != entry.scan_info
            ]
            self._plans[key] = (entry, *kept[: _PLANS_MAX - 1])
            self._plans.move_to_end(key)
            if len(self._plans) > _ENTRIES_MAX:
                self._plans.popitem(last=False)


def _is_current(
    entry: CachedPlan,
    catalog: CatalogSnapshot,
    scan_info: ScanInfos,
    times: Times,
    settings: SettingValues,
) -> bool:
    if any(settings(name) != value for name, value in entry.settings):
        return False
    if entry.catalog is not catalog:
        return False
    if any(scan_info(table_id) != scan for table_id, scan in entry.scan_info.items()):
        return False
    points = zip(entry.plan.points, entry.catalogs, strict=True)
    return all(times(point).catalog is then for point, then in points)


def plan_key(request: StatementRequest, own: object) -> Hashable:
    """Under what a plan is kept: what it depends on besides the catalog.

    ``own`` stands for the temporary relations that the session has, None for none.
    """
    found = request.cache.get(("key", own))
    if found is None:
        how = (request.batch is not None, request.form, own)
        said = (request.parsed.text, request.dialect, request.kinds)
        found = request.cache["key", own] = (*said, *how, _settings_token(request.settings))
    return found


def _settings_token(settings: Settings) -> object:
    """Stands for all settings that a plan may depend on wherever it is made."""
    found = settings.cache.get("plan")
    if found is None:
        path, query = settings.search_path, settings.query_settings
        found = _token_of((path, settings.as_of, query, settings.role, settings.limits))
        settings.cache["plan"] = found
    return found


@lru_cache(maxsize=_ENTRIES_MAX)
def _token_of(_settings: Hashable) -> object:
    """What no other settings have, and is sooner compared; the same ones may get another later."""
    return object()


def has_locks(parsed: Parsed) -> bool:
    """True for SELECT .. FOR UPDATE and its kin."""
    statement = parsed.statement
    return isinstance(statement, SqlStatement) and bool(statement.ast.args.get("locks"))


def may_create_ids(parsed: Parsed) -> bool:
    """True for statements that may need a new id, for a table, a layout or a counter."""
    statement = parsed.statement
    if isinstance(statement, SqlStatement):
        return statement.ast.key in {"create", "alter", "truncatetable"}
    if isinstance(statement, OwnStatement):
        return statement.makes_ids
    return isinstance(statement, CreateRole | RefreshView)
