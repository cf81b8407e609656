"""The audit log over HTTP, and whether it is whole. It takes ADMIN."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gateway.governance.administration import check_administrator
from gateway.procedures.requests import audit_check, audit_page_after
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from journal.model.version import to_datetime

ROUTER = APIRouter(prefix="/audit", tags=["audit"], route_class=GovernedRoute)


class AuditView(BaseModel):
    """One entry; ``hash`` is keyed, and covers the entry and the one before."""

    seq: int
    at: datetime
    actor: str
    action: str
    object: str
    detail: dict[str, Any]
    hash: str


class CheckView(BaseModel):
    """Whether the log is whole; ``head`` is the hash of its newest entry."""

    is_whole: bool
    problems: list[str]
    head: str | None


@ROUTER.get("")
def list_entries(
    session: SessionOf,
    after: Annotated[int, Query(ge=0, description="Entries behind this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[AuditView]:
    """Entries of the audit log behind a number, the oldest first."""
    check_administrator(session.session, "to read the audit log")
    rows = session.perform(audit_page_after, after, limit)
    return [
        AuditView(
            seq=row.seq,
            at=to_datetime(row.at),
            actor=row.actor,
            action=row.action,
            object=row.object,
            detail=json.loads(row.detail),
            hash=row.hash,
        )
        for row in rows
    ]


@ROUTER.get("/check")
def check_log(session: SessionOf, head: str | None = None) -> CheckView:
    """Whether the log is whole, and has a hash in it that somebody noted earlier."""
    check_administrator(session.session, "to check the audit log")
    found = session.perform(audit_check, head)
    return CheckView(
        is_whole=not found.problems, problems=list(found.problems), head=found.head or None
    )
