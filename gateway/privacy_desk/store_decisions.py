"""Decisions about requests over several stores that reach their parts.

A part that is executed already cannot be taken back. Then the request goes on, no further store
takes a part of it, and it ends PARTIAL. Each store is asked by itself: where one is away, the same
decision again goes on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName
from gateway.privacy_desk.batch_steps import move
from gateway.privacy_desk.desk import Desk
from gateway.privacy_desk.desk_stores import DeskStores, stores_meant, stores_of
from gateway.privacy_desk.part_sums import STOPPED
from gateway.privacy_desk.several_stores import STOPPING, live_requests, part_name
from gateway.privacy_desk.states import PrivacyEvent, PrivacyState, next_state
from gateway.privacy_desk.store_parts import part_ids
from gateway.privacy_desk.submission import request_error
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

if TYPE_CHECKING:
    from gateway.session.operations import Operation

    Decide = Operation[[Sequence[str], str | None], list[PrivacyRequest]]

_S = PrivacyState
_STOPPABLE = frozenset({_S.PLANNED, _S.EXECUTING, _S.ON_HOLD, _S.AWAITING_BACKUP_EXPIRY, _S.FAILED})
_TOLD = {PrivacyEvent.CANCEL: EventName.REQUEST_CANCEL, PrivacyEvent.DENY: EventName.REQUEST_DENY}


def has_parts(request: PrivacyRequest) -> bool:
    """True for a request over several stores of which some may have their parts."""
    return bool(request.batch and stores_of(request))


def decide_parts(
    desk: Desk, request: PrivacyRequest, decide: Decide, reason: str | None
) -> list[PrivacyRequest]:
    """The parts of a request after each store decided so; raises PROCESS_STORE for one away."""
    found: list[PrivacyRequest] = []
    names = list(_batch_of(desk, request).detail.get("stores", ()))
    with DeskStores(desk.session) as sessions:
        called = part_name(sessions.control, request.id)
        for name in names or stores_meant(desk.session, stores_of(request)):
            with sessions.session(name) as store:
                ids = store.perform(part_ids, [called])
                found += store.perform(decide, ids, reason) if ids else []
    return found


def stop_parts(
    desk: Desk, request: PrivacyRequest, decide: Decide, event: PrivacyEvent, reason: str | None
) -> PrivacyRequest:
    """Stop the parts that nobody executes yet; the request ends with ``event`` where none is left.

    Raises PRIVACY_REQUEST while a run is at it.
    """
    if not has_parts(request) or PrivacyState(request.state) not in _STOPPABLE:
        return request
    with desk.journal.exclusive(f"privacy:{request.batch}") as is_mine:
        if not is_mine:
            raise request_error(
                f"request {request.id} is being executed",
                "ask again when that run has ended: palimpsest privacy show tells",
            )
        _put(desk, request, "stop", {STOPPING: desk.by}, {})
        parts = decide_parts(desk, request, decide, reason)
        if any(PrivacyState(part.state) not in STOPPED for part in parts):
            return _current(desk, request)
        request = _current(desk, request)
        state = PrivacyState(request.state)
        after = next_state(state, event)
        stopped = replace(request, state=after.value, reason=reason or request.reason)
        told = {"from": state.value, "to": after.value, **({"reason": reason} if reason else {})}
        stopped = _put(desk, stopped, event.value, {f"{after.value.lower()}_by": desk.by}, told)
        batch = _batch_of(desk, request)
        if not live_requests(desk, batch):
            move(desk, batch, PrivacyEvent.CANCEL)
    return stopped


def _put(
    desk: Desk, request: PrivacyRequest, action: str, detail: dict[str, Any], told: dict[str, Any]
) -> PrivacyRequest:
    changed = replace(request, detail={**request.detail, **detail}, updated_at=desk.now())
    with desk.writing() as records:
        rows_of.put_request(records, changed)
        desk.note(records, action, request.id, told)
        if PrivacyState(changed.state) in STOPPED:
            rows_of.forget_identities(records, [request.id])
            desk.announce(records, _TOLD[PrivacyEvent(action)], request.id, told)
        records.commit()
    return changed


def _current(desk: Desk, request: PrivacyRequest) -> PrivacyRequest:
    with desk.reading() as records:
        return rows_of.request_by_id(records, request.id) or request


def _batch_of(desk: Desk, request: PrivacyRequest) -> PrivacyBatch:
    with desk.reading() as records:
        (batch,) = [b for b in rows_of.all_batches(records) if b.id == request.batch]
    return batch
