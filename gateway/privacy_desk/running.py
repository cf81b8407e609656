"""Runs the desk: puts queued requests into batches, and continues batches.

A run first goes on with what an earlier one left, then forms batches of the queue. One batch that
fails stops no other; it is FAILED at its step, and the next run begins that step anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName
from gateway.governance.safe_mode import refuse_if_safe
from gateway.privacy_desk import (
    erasing_steps,
    exporting_steps,
    rectifying_steps,
    restricting_steps,
    several_stores,
)
from gateway.privacy_desk.batch_steps import identities_in, move, without_values
from gateway.privacy_desk.batches import Estimate, form_batches, is_taken_up
from gateway.privacy_desk.desk import Desk, find_request
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.desk_stores import stores_of
from gateway.privacy_desk.sealing import opener
from gateway.privacy_desk.states import (
    OPEN_STATES,
    STEP_EVENTS,
    PrivacyEvent,
    PrivacyState,
    next_state,
)
from gateway.session.operations import Advance, operation
from journal.erasure import erasure_spec
from journal.erasure.requests import State
from journal.model.access import Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

if TYPE_CHECKING:
    from gateway.session.session import Session

_S = PrivacyState
_WORKED = frozenset({_S.FINDING, _S.PLANNED, _S.EXECUTING, _S.VERIFYING})
_WAITING = frozenset({_S.ON_HOLD, _S.AWAITING_BACKUP_EXPIRY, _S.FAILED, _S.PARTIAL})
UNFINISHED = _WORKED | _WAITING
"""The steps of batches that a run goes on with."""
_STEPS_MAX = 12
"""More steps than a batch can have in one run."""
_EXPORTS = frozenset({PrivacyAction.ACCESS, PrivacyAction.PORTABILITY})


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """What a batch of requests would do: nothing was written."""

    action: str
    requests: int
    keys: int
    tables: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    estimate: Estimate


@operation
def run(
    session: Session,
    advance: Advance,
    names: Sequence[str] = (),
    *,
    only_due: bool = False,
) -> list[PrivacyBatch]:
    """Execute what waits, of all requests or some: the batches as they are then.

    With ``only_due`` new batches are formed only where they are full, old or due soon, and those
    that wait or failed are left alone for a while; see ``is_taken_up``.
    """
    desk = Desk(session, Privilege.ERASE)
    refuse_if_safe(session, "to execute privacy requests")
    _warn(desk)
    chosen = _chosen(desk, names)
    batches = [b for b in _unfinished(desk) if chosen is None or _has(desk, b, chosen)]
    if only_due:
        batches = _taken_up(desk, batches)
    batches += _new_batches(desk, chosen, only_due=only_due)
    results = []
    for number, batch in enumerate(batches):
        results.append(_run_alone(desk, batch, advance))
        advance("privacy", number + 1, len(batches))
    return results


@operation
def plan(session: Session, _advance: Advance, names: Sequence[str] = ()) -> list[PlannedBatch]:
    """What ``run`` would form of the queue, with an estimate of each; writes nothing."""
    desk = Desk(session, Privilege.ERASE)
    chosen = _chosen(desk, names)
    with desk.reading() as records:
        _, policy = desk.policy(records)
    found = []
    for requests in _formed(desk, chosen, only_due=False):
        action = requests[0].action
        if action in {*_EXPORTS, PrivacyAction.RECTIFICATION}:
            estimate = Estimate.of(policy, 0, 0)
            found.append(PlannedBatch(action, len(requests), 0, (), (), estimate))
            continue
        unseal = opener(desk.journal.read_secret())
        with desk.reading() as records:
            sealed = rows_of.identities_of(records, [r.id for r in requests])
        named: dict[str, list[tuple[str, str]]] = {r.id: [] for r in requests}
        for one in sealed:
            if one.sealed is not None:
                value = unseal(one.request, one.type, one.sealed)
                named[one.request].append((one.type, value))
        find = several_stores.planned if stores_of(requests[0]) else erasing_steps.planned_parts
        would = find(desk, requests, named)
        estimate = Estimate.of(policy, would.bytes_read, would.bytes_written)
        found.append(
            PlannedBatch(action, len(requests), would.keys, would.tables, would.parts, estimate)
        )
    return found


def _warn(desk: Desk) -> None:
    """Record an event, once, of each open request that is overdue or due soon."""
    now = desk.now()
    with desk.writing() as records:
        _, policy = desk.policy(records)
        until = policy.warns_until(now)
        found = [r for state in OPEN_STATES for r in rows_of.requests_due(records, state, until)]
        near = [r for r in found if policy.warns_at(r.due_at) <= now and "warned" not in r.detail]
        for one in near:
            warned = {**one.detail, "warned": now.isoformat()}
            rows_of.put_request(records, replace(one, detail=warned))
            data = {"due_at": one.due_at.isoformat(), "action": one.action, "state": one.state}
            desk.announce(records, EventName.REQUEST_DUE, one.id, data)
        if near:
            records.commit()
        else:
            records.rollback()


def _chosen(desk: Desk, names: Sequence[str]) -> set[str] | None:
    if not names:
        return None
    with desk.reading() as records:
        exact = {r.id for r in rows_of.requests_by_ids(records, names)}
        return exact | {find_request(records, n).id for n in names if n not in exact}


def _unfinished(desk: Desk) -> list[PrivacyBatch]:
    with desk.reading() as records:
        return [b for b in rows_of.all_batches(records) if b.step in UNFINISHED]


def _taken_up(desk: Desk, batches: Sequence[PrivacyBatch]) -> list[PrivacyBatch]:
    if not batches:
        return []
    with desk.reading() as records:
        _, policy = desk.policy(records)
    held = {r.id for r in erasure_spec.requests(desk.journal) if r.state is State.ON_HOLD}
    return [
        b
        for b in batches
        if is_taken_up(
            *(b, policy, desk.now()),
            is_released=held.isdisjoint(b.detail.get("erasures", ())),
        )
    ]


def _has(desk: Desk, batch: PrivacyBatch, chosen: set[str]) -> bool:
    with desk.reading() as records:
        return any(r.id in chosen for r in rows_of.requests_of(records, batch.id))


def _formed(desk: Desk, chosen: set[str] | None, *, only_due: bool) -> list[list[PrivacyRequest]]:
    with desk.reading() as records:
        _, policy = desk.policy(records)
        queued = rows_of.requests_in(records, _S.QUEUED)
    queued = [r for r in queued if (r.id in chosen if chosen is not None else _is_own(r))]
    counts = {r.id: sum(r.detail.get("types", {}).values()) for r in queued}
    return form_batches(queued, counts, policy, desk.now(), all_due=not only_due)


def _is_own(request: PrivacyRequest) -> bool:
    """False for an export for another store's desk, which makes it where it can reach the file."""
    return request.action not in _EXPORTS or "part" not in request.detail


def _new_batches(desk: Desk, chosen: set[str] | None, *, only_due: bool) -> list[PrivacyBatch]:
    """Put queued requests into batches; those that somebody else took meanwhile stay theirs."""
    made = []
    for requests in _formed(desk, chosen, only_due=only_due):
        with desk.writing() as records:
            ids = rows_of.ids_in(records, _S.QUEUED)
            its = [r for r in requests if r.id in ids]
            if not its:
                records.rollback()
                continue
            now, action = desk.now(), its[0].action
            step = next_state(_S.QUEUED, PrivacyEvent.FIND)
            about: dict[str, Any] = {"stores": {}} if stores_of(its[0]) else {}
            batch = PrivacyBatch(
                *(uuid.uuid4().hex[:12], action, step.value, len(its), now, now), about
            )
            rows_of.put_batch(records, batch)
            rows_of.join_batch(records, [r.id for r in its], batch.id, step.value, now)
            detail = {"action": action, "requests": len(its), "from": "QUEUED", "to": step.value}
            desk.note(records, "step", batch.id, detail)
            records.commit()
        desk.formed[batch.id] = its
        made.append(batch)
    return made


def _run_alone(desk: Desk, batch: PrivacyBatch, advance: Advance) -> PrivacyBatch:
    """Take a batch as far as it goes, unless another process is at it."""
    with desk.journal.exclusive(f"privacy:{batch.id}") as is_mine:
        if not is_mine:
            return batch
        with desk.reading() as records:
            (batch,) = [b for b in rows_of.all_batches(records) if b.id == batch.id]
        batch = _begun_anew(desk, batch)
        for _ in range(_STEPS_MAX):
            before = batch
            if PrivacyState(batch.step) not in _WORKED:
                break
            try:
                with failures():
                    batch = _step(desk, batch, advance)
            except PalimpsestError as error:
                return _failed(desk, before, error)
            if batch.step == before.step:
                break
    return batch


def _begun_anew(desk: Desk, batch: PrivacyBatch) -> PrivacyBatch:
    """A batch that waits or failed, back in the step that it goes on with."""
    state = PrivacyState(batch.step)
    if state is _S.FAILED:
        failed = PrivacyState(batch.detail.get("failed_step", _S.FINDING.value))
        if failed is _S.VERIFYING and PrivacyAction(batch.action) is PrivacyAction.ERASURE:
            # Rows were found once more: they are searched for everywhere, and purged.
            again = {"error": None, "round": _next_round(batch), "searches_all": True}
            return move(desk, batch, PrivacyEvent.FIND, again)
        return move(desk, batch, STEP_EVENTS[failed], {"error": None})
    if state in {_S.ON_HOLD, _S.AWAITING_BACKUP_EXPIRY}:
        return move(desk, batch, PrivacyEvent.EXECUTE)
    if state is _S.PARTIAL:
        # A table may be described by now that was not: it is searched like the others.
        return move(desk, batch, PrivacyEvent.FIND, {"round": _next_round(batch)})
    return batch


def _next_round(batch: PrivacyBatch) -> int:
    return int(batch.detail.get("round", 1)) + 1


def _step(desk: Desk, batch: PrivacyBatch, advance: Advance) -> PrivacyBatch:
    state, action = PrivacyState(batch.step), PrivacyAction(batch.action)
    if several_stores.is_over_stores(batch):
        return several_stores.step(desk, batch, state, run)
    if action in _EXPORTS:
        return exporting_steps.step(desk, batch, state)
    if action is PrivacyAction.RESTRICTION:
        return restricting_steps.restrict(desk, batch, state)
    if action is PrivacyAction.RECTIFICATION:
        return rectifying_steps.rectify(desk, batch, state, advance)
    match state:
        case _S.FINDING:
            return erasing_steps.find(desk, batch)
        case _S.PLANNED:
            return move(desk, batch, PrivacyEvent.EXECUTE)
        case _S.EXECUTING:
            return erasing_steps.execute(desk, batch, advance)
        case _:
            return erasing_steps.verify(desk, batch)


def _failed(desk: Desk, batch: PrivacyBatch, error: PalimpsestError) -> PrivacyBatch:
    """The batch as FAILED, with the code of the error; its message may name what it must not."""
    if error.code is Code.PRIVILEGE:
        raise error
    _, named = identities_in(desk, batch)
    values = {value for pairs in named.values() for _, value in pairs}
    told = {"code": error.code.value.code}
    for part, text in (("message", error.recorded), ("advice", error.advice)):
        told[part] = without_values(text, values)
    detail: dict[str, Any] = {"failed_step": batch.step, "error": told}
    return move(desk, batch, PrivacyEvent.FAIL, detail, {"error": told["code"]})


def planned_object(planned: PlannedBatch) -> dict[str, Any]:
    """A planned batch for scripts."""
    return {**asdict(planned), "estimate": asdict(planned.estimate)}
