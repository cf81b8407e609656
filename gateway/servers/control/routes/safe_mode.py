"""Safe mode over HTTP, and the version of the server with it."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from gateway.governance.safe_mode import begin_safe_mode, current_safe_mode, end_safe_mode
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from gateway.servers.control.request_bodies import RequestBody
from gateway.version import VERSION
from journal.records.safe_mode_rows import SafeModeRow

ROUTER = APIRouter(tags=["safe mode"], route_class=GovernedRoute)
_REASON_MAX = 1_000


class SafeModeView(BaseModel):
    """Whether safe mode is on, since when, by whom and why."""

    is_on: bool
    changed_at: datetime | None = None
    user: str | None = None
    reason: str | None = None


class SafeModeChange(RequestBody):
    """What safe mode is to be."""

    is_on: bool
    reason: str = Field("", max_length=_REASON_MAX)


class VersionView(BaseModel):
    """The version of the server, and whether the store is in safe mode."""

    version: str
    safe_mode: SafeModeView


@ROUTER.get("/version")
def get_version(session: SessionOf) -> VersionView:
    """The version of the server, and whether the store is in safe mode."""
    found = session.perform(current_safe_mode)
    return VersionView(version=VERSION, safe_mode=_view(found))


@ROUTER.get("/safe-mode")
def get_safe_mode(session: SessionOf) -> SafeModeView:
    """Whether the store is in safe mode."""
    return _view(session.perform(current_safe_mode))


@ROUTER.put("/safe-mode")
def put_safe_mode(session: SessionOf, change: SafeModeChange) -> SafeModeView:
    """Begin or end safe mode; a repeat changes nothing. It takes ADMIN."""
    if change.is_on:
        return _view(session.perform(begin_safe_mode, change.reason))
    return _view(session.perform(end_safe_mode))


def _view(row: SafeModeRow | None) -> SafeModeView:
    if row is None:
        return SafeModeView(is_on=False)
    return SafeModeView(
        is_on=row.is_on, changed_at=row.changed_at, user=row.user_name, reason=row.reason
    )
