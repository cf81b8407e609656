"""Rows about policies: what tables and wider scopes state, one row for each rule. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.system_views.source import SystemViewSource, tables_of
from journal.model.policy import policy_rows, stated_rules
from journal.model.policy_scope import ScopeKind


def stated_policy_rows(seen: SystemViewSource) -> Iterator[tuple[Any, ...]]:
    """Schema, table, rule, value and scope; a wider scope has no table."""
    for table in tables_of(seen):
        for name, value in policy_rows(table):
            yield (table.name.schema, table.name.name, name, value, ScopeKind.TABLE.value)
    for scope in sorted(seen.catalog.policies.values(), key=lambda scope: scope.nearness):
        schema = scope.name if scope.kind is ScopeKind.SCHEMA else None
        shown = str(scope) if scope.kind is ScopeKind.DATASET else scope.kind.value
        for name, value in stated_rules(scope.properties):
            yield (schema, None, name, value, shown)
