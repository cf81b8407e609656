"""Decisions about requests: verify, approve, deny, hold, release, cancel.

What makes no sense in the state of a request changes nothing, and the answer is the request as it
is. Each decision is one transaction of the records, with its entry in the audit log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName
from gateway.privacy_desk import table_actions
from gateway.privacy_desk.desk import Desk, find_request
from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.privacy_desk.desk_stores import stores_meant
from gateway.privacy_desk.states import PrivacyEvent, PrivacyState, next_state
from gateway.privacy_desk.store_decisions import stop_parts
from gateway.privacy_desk.submission import first_event, request_error
from gateway.session.operations import Advance, operation
from journal.model.access import Privilege
from journal.model.duration import Duration
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PolicyRow, PrivacyRequest
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.model.store_session import StoreSession

_STOPS = frozenset({PrivacyState.DENIED, PrivacyState.CANCELLED})
_EVENTS = {
    "approve": EventName.REQUEST_APPROVE,
    "deny": EventName.REQUEST_DENY,
    "cancel": EventName.REQUEST_CANCEL,
}


@operation
def verify_identity(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Note that whoever asks is who they say; the request goes on to its next gate."""
    desk = Desk(session)

    def verified(request: PrivacyRequest, policy: DeskPolicy) -> PrivacyRequest:
        if request.state != PrivacyState.IDENTITY_UNVERIFIED:
            return request
        event = first_event(policy, request.action, verified=True, approved=False)
        return _after_event(request, event, {"verified_by": desk.by})

    return _each(desk, "verify", names, verified, reason)


@operation
def approve(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Let requests be executed; raises PRIVACY_REQUEST for whoever has submitted one."""
    desk = Desk(session, Privilege.APPROVE)

    def approved(request: PrivacyRequest, _policy: DeskPolicy) -> PrivacyRequest:
        if request.state != PrivacyState.PENDING_APPROVAL:
            return request
        if request.requested_by == desk.by:
            raise request_error(
                f"request {request.id} needs the approval of somebody else than its requester",
                f"somebody but {desk.by} approves it: palimpsest privacy approve --user NAME",
            )
        moved = _after_event(request, PrivacyEvent.QUEUE, {})
        return replace(moved, approved_by=desk.by)

    return _each(desk, "approve", names, approved, reason)


@operation
def deny(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Refuse requests that nobody executes yet, for a reason that their people are told."""
    if not (reason or "").strip():
        raise request_error("a denial needs a reason, which the requester gets", "give --reason")
    desk = Desk(session, Privilege.APPROVE)

    def denied(request: PrivacyRequest, _policy: DeskPolicy) -> PrivacyRequest:
        if request.batch:
            return request  # Its rows go with those of others, whatever is said about it now.
        return _after_event(request, PrivacyEvent.DENY, {"denied_by": desk.by})

    found = _each(desk, "deny", names, denied, reason)
    return [stop_parts(desk, one, deny, PrivacyEvent.DENY, reason) for one in found]


@operation
def hold_requests(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Keep requests from being executed, until they are released."""
    desk = Desk(session)

    def on_hold(request: PrivacyRequest, _policy: DeskPolicy) -> PrivacyRequest:
        return request if request.batch else _after_event(request, PrivacyEvent.HOLD, {})

    return _each(desk, "hold", names, on_hold, reason)


@operation
def release_requests(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Let requests that were held go on to their next gate."""
    desk = Desk(session)

    def released(request: PrivacyRequest, policy: DeskPolicy) -> PrivacyRequest:
        if request.state != PrivacyState.ON_HOLD or request.batch:
            return request
        event = first_event(
            policy,
            request.action,
            verified="verified_by" in request.detail,
            approved=request.approved_by is not None,
        )
        return _after_event(request, event, {})

    return _each(desk, "release", names, released, reason)


@operation
def cancel(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Cancel requests that no batch executes yet."""
    desk = Desk(session)

    def cancelled(request: PrivacyRequest, _policy: DeskPolicy) -> PrivacyRequest:
        if request.batch:
            return request  # Others share its scan; it cannot be told from them any more.
        return _after_event(request, PrivacyEvent.CANCEL, {"cancelled_by": desk.by})

    found = _each(desk, "cancel", names, cancelled, reason)
    return [stop_parts(desk, one, cancel, PrivacyEvent.CANCEL, reason) for one in found]


@operation
def extend(
    session: Session, _advance: Advance, names: Sequence[str], by: str, reason: str | None
) -> list[PrivacyRequest]:
    """Give requests more time, for a reason that their people are told: ``2 MONTHS``, say."""
    if not (reason or "").strip():
        raise request_error(
            "an extension needs a reason, which the requester gets", "give --reason"
        )
    desk, more = Desk(session), Duration.parse(by)

    def extended(request: PrivacyRequest, _policy: DeskPolicy) -> PrivacyRequest:
        if PrivacyState(request.state).is_terminal or "extended_by" in request.detail:
            return request
        detail = {**request.detail, "extended_by": str(more)}
        return replace(request, due_at=more.after(request.due_at), detail=detail)

    return _each(desk, "extend", names, extended, reason)


@operation
def change_policy(
    session: Session, _advance: Advance, settings: Mapping[str, str]
) -> tuple[int, DeskPolicy]:
    """The policy and its version, after some settings were changed; without any as it is.

    Raises PRIVACY_POLICY for a setting that cannot be, and changes none then.
    """
    if not settings:
        desk = Desk(session)
        with desk.reading() as records:
            return desk.policy(records)
    desk = Desk(session, Privilege.ADMIN)
    with desk.writing() as records:
        version, policy = desk.policy(records)
        changed = policy.changed(settings)
        if changed.actions != policy.actions:
            table_actions.resolve(committed_state(desk.journal), changed.actions)
        stores_meant(session, changed.stores)
        if changed == policy and version:
            return version, policy
        row = PolicyRow(version + 1, changed.to_json(), desk.by, desk.now())
        rows_of.add_policy(records, row)
        desk.note(records, "policy", f"version {row.version}", dict(settings))
        records.commit()
    return row.version, changed


def _after_event(
    request: PrivacyRequest, event: PrivacyEvent, detail: Mapping[str, Any]
) -> PrivacyRequest:
    state = PrivacyState(request.state)
    following = next_state(state, event)
    if following is state:
        return request
    return replace(request, state=following.value, detail={**request.detail, **detail})


def _each(
    desk: Desk,
    action: str,
    names: Sequence[str],
    change: Any,
    reason: str | None,
) -> list[PrivacyRequest]:
    """Change requests in one transaction; those that a change leaves as they are stay so."""
    results = []
    with desk.writing() as records:
        _, policy = desk.policy(records)
        for name in names:
            before = find_request(records, name)
            after: PrivacyRequest = change(before, policy)
            if after != before:
                after = _recorded(desk, records, action, before, after, reason)
            results.append(after)
        records.commit()
    return results


def _recorded(
    desk: Desk,
    records: StoreSession,
    action: str,
    before: PrivacyRequest,
    after: PrivacyRequest,
    reason: str | None,
) -> PrivacyRequest:
    after = replace(after, updated_at=desk.now(), reason=reason or before.reason)
    rows_of.put_request(records, after)
    if PrivacyState(after.state) in _STOPS:
        rows_of.forget_identities(records, [after.id])
    told = {"from": before.state, "to": after.state}
    desk.note(records, action, after.id, {**told, **({"reason": reason} if reason else {})})
    if action in _EVENTS:
        desk.announce(records, _EVENTS[action], after.id, told)
    return after
