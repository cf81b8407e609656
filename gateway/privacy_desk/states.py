"""The states of a request, and the state that each event leads to: one table. Pure.

    RECEIVED -> IDENTITY_UNVERIFIED -> PENDING_APPROVAL -> QUEUED
    QUEUED -> FINDING -> PLANNED -> EXECUTING -> VERIFYING -> COMPLETED, PARTIAL

RECEIVED passes by at once: the policy says which gate comes next. An event that makes no sense in a
state leaves it as it is. What failed goes on from the step that failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class PrivacyState(StrEnum):
    """Where a request stands."""

    RECEIVED = "RECEIVED"
    IDENTITY_UNVERIFIED = "IDENTITY_UNVERIFIED"
    PENDING_APPROVAL = "PENDING_APPROVAL"
    DENIED = "DENIED"
    DUPLICATE = "DUPLICATE"
    ON_HOLD = "ON_HOLD"
    QUEUED = "QUEUED"
    FINDING = "FINDING"
    PLANNED = "PLANNED"
    EXECUTING = "EXECUTING"
    VERIFYING = "VERIFYING"
    AWAITING_BACKUP_EXPIRY = "AWAITING_BACKUP_EXPIRY"
    COMPLETED = "COMPLETED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_terminal(self) -> bool:
        """True if nothing happens to it any more."""
        return not TRANSITIONS[self]


class PrivacyEvent(StrEnum):
    """What happens to a request."""

    ASK_IDENTITY = "ask identity"
    ASK_APPROVAL = "ask approval"
    QUEUE = "queue"
    REPEAT = "repeat"
    DENY = "deny"
    CANCEL = "cancel"
    HOLD = "hold"
    FIND = "find"
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    AWAIT_BACKUPS = "await backups"
    COMPLETE = "complete"
    LEAVE_PART = "leave part"
    FAIL = "fail"


_S, _E = PrivacyState, PrivacyEvent
_STOPPED: Mapping[PrivacyEvent, PrivacyState] = {_E.DENY: _S.DENIED, _E.CANCEL: _S.CANCELLED}
_BEFORE_WORK: Mapping[PrivacyEvent, PrivacyState] = {
    **_STOPPED,
    _E.HOLD: _S.ON_HOLD,
    _E.REPEAT: _S.DUPLICATE,
}
_ENDS: Mapping[PrivacyEvent, PrivacyState] = {
    _E.COMPLETE: _S.COMPLETED,
    _E.LEAVE_PART: _S.PARTIAL,
    _E.FAIL: _S.FAILED,
}

TRANSITIONS: Mapping[PrivacyState, Mapping[PrivacyEvent, PrivacyState]] = {
    _S.RECEIVED: {
        **_BEFORE_WORK,
        _E.ASK_IDENTITY: _S.IDENTITY_UNVERIFIED,
        _E.ASK_APPROVAL: _S.PENDING_APPROVAL,
        _E.QUEUE: _S.QUEUED,
    },
    _S.IDENTITY_UNVERIFIED: {
        **_BEFORE_WORK,
        _E.ASK_APPROVAL: _S.PENDING_APPROVAL,
        _E.QUEUE: _S.QUEUED,
    },
    _S.PENDING_APPROVAL: {**_BEFORE_WORK, _E.QUEUE: _S.QUEUED},
    _S.QUEUED: {**_BEFORE_WORK, _E.FIND: _S.FINDING},
    _S.ON_HOLD: {
        **_STOPPED,
        _E.ASK_IDENTITY: _S.IDENTITY_UNVERIFIED,
        _E.ASK_APPROVAL: _S.PENDING_APPROVAL,
        _E.QUEUE: _S.QUEUED,
        _E.EXECUTE: _S.EXECUTING,
    },
    _S.FINDING: {_E.PLAN: _S.PLANNED, _E.FAIL: _S.FAILED},
    _S.PLANNED: {**_STOPPED, _E.EXECUTE: _S.EXECUTING, _E.FAIL: _S.FAILED},
    _S.EXECUTING: {
        **_STOPPED,
        _E.VERIFY: _S.VERIFYING,
        _E.HOLD: _S.ON_HOLD,
        _E.AWAIT_BACKUPS: _S.AWAITING_BACKUP_EXPIRY,
        _E.FAIL: _S.FAILED,
    },
    _S.AWAITING_BACKUP_EXPIRY: {**_STOPPED, _E.EXECUTE: _S.EXECUTING, _E.FAIL: _S.FAILED},
    _S.VERIFYING: _ENDS,
    _S.PARTIAL: {_E.FIND: _S.FINDING, _E.VERIFY: _S.VERIFYING},
    _S.FAILED: {
        **_STOPPED,
        _E.FIND: _S.FINDING,
        _E.PLAN: _S.PLANNED,
        _E.EXECUTE: _S.EXECUTING,
        _E.VERIFY: _S.VERIFYING,
    },
    _S.DENIED: {},
    _S.DUPLICATE: {},
    _S.COMPLETED: {},
    _S.CANCELLED: {},
}
"""The next state, by state and event; what is not listed changes nothing."""

STEP_EVENTS: Mapping[PrivacyState, PrivacyEvent] = {
    _S.FINDING: _E.FIND,
    _S.PLANNED: _E.PLAN,
    _S.EXECUTING: _E.EXECUTE,
    _S.VERIFYING: _E.VERIFY,
}
"""What begins a step, and begins it anew after it failed."""
OPEN_STATES = frozenset(state for state, events in TRANSITIONS.items() if events)
"""The states of requests that somebody still has to answer."""


def next_state(state: PrivacyState, event: PrivacyEvent) -> PrivacyState:
    """The state after an event.

    >>> next_state(PrivacyState.COMPLETED, PrivacyEvent.CANCEL)
    <PrivacyState.COMPLETED: 'COMPLETED'>
    """
    return TRANSITIONS[state].get(event, state)
