"""``CALL system.privacy_..``: the operations of the desk as statements, with rows as results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.privacy_desk import decisions, restricting_steps, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.request_files import identities_in_words
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, request_error, submit
from gateway.procedures.procedures import bind_arguments
from gateway.session.operations import no_progress
from gateway.session.outcome import StatementOutcome
from journal.records.privacy_rows import PrivacyRequest

if TYPE_CHECKING:
    from gateway.session.session import Session

_TERMS = (
    *("action", "subject", "regulation", "external_id", "idempotency_key", "reason", "table"),
    "stores",
)
_DECISIONS: Mapping[str, Callable[..., list[PrivacyRequest]]] = {
    "privacy_verify": decisions.verify_identity,
    "privacy_approve": decisions.approve,
    "privacy_deny": decisions.deny,
    "privacy_hold": decisions.hold_requests,
    "privacy_release": decisions.release_requests,
    "privacy_cancel": decisions.cancel,
    "privacy_lift": restricting_steps.lift,
}


def call_desk(session: Session, name: str, arguments: Mapping[str, Any]) -> StatementOutcome:
    """Run one of the procedures, by its name without the schema."""
    if name == "privacy_submit":
        return _submit(session, bind_arguments(f"system.{name}", arguments, _TERMS))
    if name == "privacy_run":
        given = bind_arguments(f"system.{name}", arguments, ("request",))
        names = [str(given["request"])] if given.get("request") else []
        return _batches(session, running.run(session, no_progress, names))
    if name == "privacy_policy":
        given = bind_arguments(f"system.{name}", arguments, ("setting", "value"))
        return _policy(session, given.get("setting"), given.get("value"))
    given = bind_arguments(f"system.{name}", arguments, ("request", "reason"))
    if not given.get("request"):
        raise request_error(f"system.{name} names no request", "CALL system.privacy_.. ('ID')")
    reason = None if given.get("reason") is None else str(given["reason"])
    found = _DECISIONS[name](session, no_progress, [str(given["request"])], reason)
    return _requests(session, found)


def _submit(session: Session, given: Mapping[str, Any]) -> StatementOutcome:
    known = [action.value for action in PrivacyAction]
    action = str(given.get("action", "")).lower()
    if action not in known or action == PrivacyAction.RECTIFICATION:
        raise request_error(
            f"system.privacy_submit takes no action {action or 'of no name'}",
            f"take {', '.join(k for k in known if k != PrivacyAction.RECTIFICATION)}",
        )
    texts = {n: None if given.get(n) is None else str(given[n]) for n in _TERMS}
    terms = SubmissionTerms(
        PrivacyAction(action),
        texts["regulation"] or "GDPR",
        texts["reason"],
        texts["idempotency_key"],
        tables=() if texts["table"] is None else (texts["table"],),
        stores=tuple(filter(None, (w.strip() for w in (texts["stores"] or "").split(",")))),
    )
    named = identities_in_words((), [texts["subject"] or ""])
    made = submit(session, no_progress, terms, [NewRequest(named, texts["external_id"])])
    return _requests(session, made)


def _policy(session: Session, setting: Any, value: Any) -> StatementOutcome:
    """The settings of the policy by name, after one was changed where one is given."""
    if (setting is None) != (value is None):
        raise request_error(
            "system.privacy_policy takes a setting and its value, or neither",
            "CALL system.privacy_policy(setting => 'actions.hr.people.email', value => 'hmac')",
        )
    wanted = {} if setting is None else {str(setting): str(value)}
    _, policy = decisions.change_policy(session, no_progress, wanted)
    shown = policy.to_dict()
    table = pa.table({
        "setting": pa.array(list(shown), pa.string()),
        "value": pa.array([json.dumps(v) for v in shown.values()], pa.string()),
    })  # fmt: skip
    return session.executor.table_outcome("CALL", table)


def _requests(session: Session, found: Sequence[PrivacyRequest]) -> StatementOutcome:
    rows = {
        "request": [r.id for r in found],
        "action": [r.action for r in found],
        "state": [r.state for r in found],
    }
    table = pa.table({n: pa.array(v, pa.string()) for n, v in rows.items()})
    due = pa.array([r.due_at for r in found], pa.timestamp("us", "UTC"))
    return session.executor.table_outcome("CALL", table.append_column("due_at", due))


def _batches(session: Session, found: Sequence[Any]) -> StatementOutcome:
    columns = {
        "batch": pa.array([b.id for b in found], pa.string()),
        "action": pa.array([b.action for b in found], pa.string()),
        "state": pa.array([b.step for b in found], pa.string()),
        "requests": pa.array([b.requests for b in found], pa.int64()),
        "waits_for": pa.array([b.detail.get("waits_for") or None for b in found], pa.string()),
    }
    return session.executor.table_outcome("CALL", pa.table(columns))
