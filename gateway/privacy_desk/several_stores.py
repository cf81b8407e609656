"""Requests over several stores: a batch of the control store's desk hands a part to each of them.

    PLANNED     nothing was handed over yet
    EXECUTING   each store takes its part, executes it, and tells how far it is, until all are done;
                then the files of their exports become one
    VERIFYING   what a store did not do leaves the batch PARTIAL

Each round of EXECUTING does all of it again for each store: a part that was taken before is found
by its external id, and one that is done stays so. So a process that is killed anywhere leaves
nothing that the next run does not find. While a store is asked no transaction is open here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateway.privacy_desk import merged_exports, sealing
from gateway.privacy_desk.batch_steps import identities_in, move, subjects_in, without_values
from gateway.privacy_desk.desk import Desk, Named
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.desk_stores import ALL, OWN, DeskStores, stores_meant, stores_of
from gateway.privacy_desk.erasing_steps import PlannedParts
from gateway.privacy_desk.exporting_steps import check_files
from gateway.privacy_desk.exports import drop_naming
from gateway.privacy_desk.part_sums import event_of, first_error, gaps_in, is_away
from gateway.privacy_desk.states import PrivacyEvent, PrivacyState
from gateway.privacy_desk.store_parts import (
    PartTerms,
    RequestPart,
    parts_here,
    plan_parts,
    take_own_parts,
    take_parts,
)
from gateway.privacy_desk.submission import REPLACED, request_error
from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

if TYPE_CHECKING:
    from gateway.session.operations import Operation

    Run = Operation[[Sequence[str]], list[PrivacyBatch]]

STOPPING = "stopped_by"
"""Where the detail of a request says that no store is to take a part of it any more."""
_EXPORTS = frozenset({PrivacyAction.ACCESS, PrivacyAction.PORTABILITY})


def is_over_stores(batch: PrivacyBatch) -> bool:
    """True for a batch whose requests are about several stores."""
    return "stores" in batch.detail


def part_name(control: str, request: str) -> str:
    """What a request of the desk of a store is called in the stores that have its parts."""
    return f"part {request} of {control}"


def step(desk: Desk, batch: PrivacyBatch, state: PrivacyState, run: Run) -> PrivacyBatch:
    """Take a batch through one step; ``run`` executes requests of a store's own desk."""
    match state:
        case PrivacyState.FINDING:
            return move(desk, batch, PrivacyEvent.PLAN)
        case PrivacyState.PLANNED:
            return move(desk, batch, PrivacyEvent.EXECUTE)
        case PrivacyState.EXECUTING:
            return _execute(desk, batch, run)
        case _:
            return _verify(desk, batch)


def planned(desk: Desk, requests: Sequence[PrivacyRequest], named: Named) -> PlannedParts:
    """What executing some requests would come to in all stores; raises for one that is away."""
    found: list[PlannedParts] = []
    with DeskStores(desk.session) as sessions:
        parts = _parts(sessions.control, requests, named)
        for name in stores_meant(desk.session, stores_of(requests[0])):
            with sessions.session(name) as store:
                one = store.perform(plan_parts, _terms(requests[0]), parts)
            tables = tuple(f"{name}:{table}" for table in one.tables)
            split = tuple(tuple(f"{name}:{t}" for t in part) for part in one.parts)
            found.append(replace(one, tables=tables, parts=split))
    return PlannedParts(
        sum(one.keys for one in found),
        tuple(table for one in found for table in one.tables),
        tuple(part for one in found for part in one.parts),
        sum(one.bytes_read for one in found),
        sum(one.bytes_written for one in found),
    )


def _terms(request: PrivacyRequest) -> PartTerms:
    options = request.detail.get("options", {})
    tables, erases_past = tuple(options.get("tables", ())), bool(options.get("erases_past"))
    return PartTerms(PrivacyAction(request.action), tables, erases_past)


def live_requests(desk: Desk, batch: PrivacyBatch) -> list[PrivacyRequest]:
    """The requests of a batch that were not stopped on the way."""
    with desk.reading() as records:
        return [r for r in rows_of.requests_of(records, batch.id) if r.state == batch.step]


def _execute(desk: Desk, batch: PrivacyBatch, run: Run) -> PrivacyBatch:
    requests = live_requests(desk, batch)
    if not requests:
        return move(desk, batch, PrivacyEvent.CANCEL)
    _, named = identities_in(desk, batch)
    if batch.action == PrivacyAction.ERASURE:
        # Files over several stores are on record here as well.
        drop_naming(desk.journal, subjects_in(named), desk.by)
    wanted = stores_of(requests[0])
    names = list(batch.detail.get("stores", ())) or stores_meant(desk.session, wanted)
    stores: dict[str, dict[str, Any]] = {}
    receipts: list[Mapping[str, Any]] = []
    with DeskStores(desk.session) as sessions:
        parts = _parts(sessions.control, requests, named)
        called = [part_name(sessions.control, r.id) for r in requests]
        for name in names:
            if name in batch.detail.get("waived", {}):
                stores[name] = {"waived": batch.detail["waived"][name]}
                continue
            handed = _HandedOver(desk, sessions, requests, parts, called, named)
            stores[name], its = handed.to(name, run)
            is_twin = any(_is_same(stores[name], one) for n, one in stores.items() if n != name)
            receipts += [] if is_twin else [{**r, "table": f"{name}:{r['table']}"} for r in its]
        event, waits = event_of(stores)
        if event is PrivacyEvent.VERIFY and batch.action in _EXPORTS:
            event, waits = _merged(desk, sessions, requests, stores)
    detail = {"stores": stores, "receipts": receipts, "waits_for": waits}
    going = {r.id: named[r.id] for r in requests if STOPPING not in r.detail}
    return _move_on(desk, batch, event, going, detail)


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one.get("store")) and one.get("store") == other.get("store")


def _merged(
    desk: Desk,
    sessions: DeskStores,
    requests: Sequence[PrivacyRequest],
    stores: Mapping[str, Mapping[str, Any]],
) -> tuple[PrivacyEvent | None, str]:
    """Bring the files of the parts together; the batch waits where a store is away."""
    with desk.reading() as records:
        _, policy = desk.policy(records)
    try:
        with failures():
            for one in requests:
                called = part_name(sessions.control, one.id)
                merged_exports.merge(desk, policy, sessions, one, called, with_parts(stores))
    except PalimpsestError as error:
        if not is_away(error):
            raise
        return None, error.message
    return PrivacyEvent.VERIFY, ""


def with_parts(stores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The stores that have parts of a batch, each once, whatever it is called besides."""
    found = {one["store"]: name for name, one in stores.items() if one.get("states")}
    return list(found.values())


def _move_on(
    desk: Desk,
    batch: PrivacyBatch,
    event: PrivacyEvent | None,
    named: Named,
    detail: dict[str, Any],
) -> PrivacyBatch:
    """The batch in the state that its parts make of it."""
    stores: dict[str, dict[str, Any]] = detail["stores"]
    told = {"stores": {n: one.get("states") or sorted(one) for n, one in stores.items()}}
    if event is None:
        return move(desk, batch, PrivacyEvent.EXECUTE, detail)
    if event is PrivacyEvent.VERIFY:
        unknown = _unknown(stores, named)
        if unknown is not None:
            error = {"code": unknown.code.value.code, "message": unknown.message}
            detail["error"] = {**error, "advice": unknown.advice}
            event = PrivacyEvent.FAIL
    if event is PrivacyEvent.FAIL:
        detail.setdefault("error", first_error(stores))
        detail["failed_step"] = PrivacyState.EXECUTING.value
    return move(desk, batch, event, detail, told)


def _unknown(stores: Mapping[str, Mapping[str, Any]], named: Named) -> PalimpsestError | None:
    """The error for a type of identifier that no store knows; a waived one may have."""
    if any("waived" in one for one in stores.values()):
        return None
    asked = {
        t
        for pairs in named.values()
        for kind, _ in pairs
        if not kind.startswith(REPLACED)
        for t in sealing.types_of(kind)
    }
    known = {t for one in stores.values() for t in one.get("types", ())}
    for kind in sorted(asked - known):
        return request_error(
            f"no table of these stores identifies people by {kind}",
            "onboard one: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
        )
    if not any(one.get("states") for one in stores.values()):
        return request_error(
            "none of these stores has one of the tables", "name tables that one of them has"
        )
    return None


class _HandedOver:
    """Parts of requests on their way to stores."""

    def __init__(
        self,
        desk: Desk,
        sessions: DeskStores,
        requests: Sequence[PrivacyRequest],
        parts: Sequence[RequestPart],
        called: Sequence[str],
        named: Named,
    ) -> None:
        self._desk = desk
        self._sessions = sessions
        self._parts = parts
        self._called = called
        self._values = {value for pairs in named.values() for _, value in pairs}
        self._terms = _terms(requests[0])

    def to(self, name: str, run: Run) -> tuple[dict[str, Any], Sequence[Mapping[str, Any]]]:
        """Hand a store its parts, let it execute them: how far they are, and its receipts."""
        try:
            with failures(), self._sessions.session(name) as store:
                if name == OWN:
                    taken = take_own_parts(self._desk, self._terms, self._parts)
                else:
                    taken = store.perform(take_parts, self._terms, self._parts)
                if taken.ids:
                    store.perform(run, list(taken.ids))
                there = store.perform(parts_here, self._called)
        except PalimpsestError as error:
            told = {"code": error.code.value.code}
            for part, text in (("message", error.recorded), ("advice", error.advice)):
                told[part] = without_values(text, self._values)
            return {("away" if is_away(error) else "error"): told}, ()
        found = there.to_json() | {"types": sorted(taken.types)}
        if not there.states:
            found["nothing"] = "it has none of the tables, or identifies nobody by these types"
        return found, there.receipts


def _parts(control: str, requests: Sequence[PrivacyRequest], named: Named) -> list[RequestPart]:
    found = []
    for one in requests:
        if STOPPING in one.detail:
            continue
        pairs = named[one.id]
        found.append(
            RequestPart(
                part_name(control, one.id),
                tuple(p for p in pairs if not p[0].startswith(REPLACED)),
                tuple(
                    (kind.removeprefix(REPLACED), value)
                    for kind, value in pairs
                    if kind.startswith(REPLACED)
                ),
                *(one.regulation, one.reason, one.requested_by, one.approved_by),
                *(one.detail.get("verified_by"), one.received_at, one.due_at),
            )
        )
    return found


def _verify(desk: Desk, batch: PrivacyBatch) -> PrivacyBatch:
    """Look whether all is done; the batch is PARTIAL while a store has not done its part."""
    requests = live_requests(desk, batch)
    with desk.reading() as records:
        _, policy = desk.policy(records)
    if batch.action in _EXPORTS:
        check_files(desk, [r.id for r in requests])
    were_named = bool(requests) and ALL not in stores_of(requests[0])
    waived = {**batch.detail.get("waived", {}), **dict.fromkeys(policy.waived, "by the policy")}
    gaps = gaps_in(batch.detail["stores"], were_named=were_named)
    left = {name: why for name, why in gaps.items() if name not in waived}
    event = PrivacyEvent.LEAVE_PART if left else PrivacyEvent.COMPLETE
    return move(desk, batch, event, {"uncovered": left}, {"uncovered": sorted(left)})
