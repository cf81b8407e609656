"""Runs the steps of a batch, one transaction each, with its people decrypted in memory.

The requests of a batch change their state together with it, in the transaction that has the entry
in the audit log. So a process that is killed leaves a batch at the beginning or the end of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gateway.governance.events import EventName
from gateway.privacy_desk import sealing
from gateway.privacy_desk.desk import Desk, Named
from gateway.privacy_desk.states import PrivacyEvent, PrivacyState, next_state
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

_DONE = frozenset({PrivacyState.COMPLETED, PrivacyState.CANCELLED})


def identities_in(desk: Desk, batch: PrivacyBatch) -> tuple[list[PrivacyRequest], Named]:
    """The requests of a batch, and whom they name, in memory for as long as the desk is."""
    if batch.id in desk.people:
        return desk.people[batch.id]
    with desk.reading() as records:
        requests = desk.formed.pop(batch.id, None) or rows_of.requests_of(records, batch.id)
        found = rows_of.identities_of(records, [r.id for r in requests])
    unseal = sealing.opener(desk.journal.read_secret())
    named: Named = {r.id: [] for r in requests}
    for one in found:
        if one.sealed is not None:
            named[one.request].append((one.type, unseal(one.request, one.type, one.sealed)))
    desk.people[batch.id] = (requests, named)
    return requests, named


def subjects_in(named: Named) -> dict[str, list[str]]:
    """The identities of one part each, by type, as the erasure machinery takes them."""
    subjects: dict[str, dict[str, None]] = {}
    for pairs in named.values():
        for kind, value in pairs:
            if not sealing.is_composite(kind) and " " not in kind:
                subjects.setdefault(kind, {})[value] = None
    return {kind: list(values) for kind, values in subjects.items()}


def without_values(text: str, values: Iterable[str]) -> str:
    """A message with whatever it quotes of some identifiers taken out. Pure."""
    for value in sorted(values, key=len, reverse=True):
        for form in (value, value.strip().lower()):
            if form and form in text:
                text = text.replace(form, "***")
    return text


def take_step(
    desk: Desk,
    batch: PrivacyBatch,
    state: PrivacyState,
    execute: Callable[[], Mapping[str, Any]],
    verify: Callable[[], None] = lambda: None,
) -> PrivacyBatch:
    """Take a batch through one step, where finding and planning come with the execution.

    ``execute`` gives the detail that the batch and the audit log keep; ``verify`` raises for what
    does not hold after it.
    """
    match state:
        case PrivacyState.FINDING:
            return move(desk, batch, PrivacyEvent.PLAN)
        case PrivacyState.PLANNED:
            return move(desk, batch, PrivacyEvent.EXECUTE)
        case PrivacyState.EXECUTING:
            detail = execute()
            return move(desk, batch, PrivacyEvent.VERIFY, detail, detail)
        case _:
            verify()
            return move(desk, batch, PrivacyEvent.COMPLETE)


def move(
    desk: Desk,
    batch: PrivacyBatch,
    event: PrivacyEvent,
    detail: Mapping[str, Any] | None = None,
    told: Mapping[str, Any] | None = None,
) -> PrivacyBatch:
    """A batch and its requests in their next state; ``told`` is for the audit log.

    An event that makes no sense leaves all as it is, but for the ``detail``.
    """
    state = PrivacyState(batch.step)
    following = next_state(state, event)
    now = desk.now()
    moved = replace(
        batch,
        step=following.value,
        updated_at=now,
        detail={**batch.detail, **(detail or {})},
    )
    with desk.writing() as records:
        rows_of.put_batch(records, moved)
        if following is not state:
            rows_of.move_batch(records, batch.id, state.value, following.value, now)
            what = {"from": state.value, "to": following.value, **(told or {})}
            desk.note(records, "step", batch.id, what)
        if following is PrivacyState.COMPLETED:
            done = {"action": batch.action, "requests": batch.requests}
            desk.announce(records, EventName.REQUEST_COMPLETE, batch.id, done)
        if following in _DONE:
            rows_of.forget_batch(records, batch.id)
            desk.people.pop(batch.id, None)
        records.commit()
    return moved
