"""Policies over HTTP: what tables say, and what holds for one of them. ALTER TABLE changes them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from gateway.servers.control.statement_rows import rows_of, rows_of_show

ROUTER = APIRouter(prefix="/policies", tags=["policies"], route_class=GovernedRoute)
_POLICIES = "SELECT * FROM system.policies ORDER BY ALL"


@ROUTER.get("")
def list_policies(session: SessionOf) -> list[dict[str, Any]]:
    """The policies of what the sender sees, as ``system.policies`` has them."""
    return rows_of(session.session, _POLICIES)


@ROUTER.get("/{table}")
def get_policy(session: SessionOf, table: str) -> list[dict[str, Any]]:
    """What holds for a table, and which scope decides each rule: SHOW EFFECTIVE POLICY."""
    return rows_of_show(session.session, "EFFECTIVE POLICY", table)
