"""Reads the desk: lists of requests, one request with its details, deadlines.

Reads only, but for waivers. Nothing here shows an identifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.privacy_desk import merged_exports
from gateway.privacy_desk.desk import Desk, find_request
from gateway.privacy_desk.desk_stores import DeskStores, stores_of
from gateway.privacy_desk.exports import drop_expired, move_export, reached, remove_exports
from gateway.privacy_desk.several_stores import part_name, with_parts
from gateway.privacy_desk.states import OPEN_STATES, PrivacyState
from gateway.privacy_desk.store_decisions import has_parts
from gateway.privacy_desk.store_parts import part_ids
from gateway.privacy_desk.submission import request_error
from gateway.session.known_words import check_word
from gateway.session.operations import Advance, operation
from journal.model.access import Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyExport, PrivacyRequest

if TYPE_CHECKING:
    from gateway.session.session import Session

_STATE = "state of a privacy request"


class Urgency(StrEnum):
    """How near the deadline of a request is."""

    OVERDUE = "OVERDUE"
    DUE_SOON = "DUE_SOON"
    IN_TIME = "IN_TIME"


@dataclass(frozen=True, slots=True)
class FollowedRequest:
    """A request with its batch and the file it has, if any."""

    request: PrivacyRequest
    batch: PrivacyBatch | None = None
    export: PrivacyExport | None = None

    def to_json(self) -> dict[str, Any]:
        """For people and scripts."""
        found = _plain(asdict(self.request))
        found["batch"] = None if self.batch is None else _plain(asdict(self.batch))
        found["export"] = None if self.export is None else _plain(asdict(self.export))
        return found


@dataclass(frozen=True, slots=True)
class DueRequest:
    """An open request, and how near its deadline is."""

    request: PrivacyRequest
    urgency: Urgency

    def to_json(self) -> dict[str, Any]:
        """For people and scripts."""
        return {"urgency": self.urgency.value, **_plain(asdict(self.request))}


@operation
def list_requests(
    session: Session,
    _advance: Advance,
    states: Sequence[str] = (),
    submission: str | None = None,
) -> list[PrivacyRequest]:
    """The requests in some states, or all; of one submission, if it is named.

    Raises SETTING_VALUE for what is no state, UNKNOWN_PRIVACY_REQUEST for no submission.
    """
    desk = Desk(session)
    wanted = dict.fromkeys(check_word(_STATE, state, PrivacyState) for state in states)
    with desk.reading() as records:
        found = rows_of.all_requests(records)
    if submission is not None:
        found = [r for r in found if r.submission == submission]
        if not found:
            raise PalimpsestError(
                Code.UNKNOWN_PRIVACY_REQUEST,
                f"there is no submission {submission}",
                advice="palimpsest privacy list --json has the submission of each request",
            )
    return [r for r in found if not wanted or r.state in wanted]


@operation
def show_request(session: Session, _advance: Advance, name: str) -> FollowedRequest:
    """One request, and how far its batch is."""
    desk = Desk(session)
    with desk.reading() as records:
        request = find_request(records, name)
        batches = {b.id: b for b in rows_of.all_batches(records)} if request.batch else {}
        exports = {e.request: e for e in rows_of.all_exports(records)}
    return FollowedRequest(request, batches.get(request.batch), exports.get(request.id))


@operation
def due_requests(
    session: Session, _advance: Advance, now: datetime | None = None
) -> list[DueRequest]:
    """The open requests, those first that are due first."""
    desk = Desk(session)
    at = now or desk.now()
    with desk.reading() as records:
        _, policy = desk.policy(records)
        found = [r for s in OPEN_STATES for r in rows_of.requests_in(records, s)]
    ordered = sorted(found, key=lambda r: (r.due_at, r.id))
    return [DueRequest(r, urgency(r.due_at, policy.warns_at(r.due_at), at)) for r in ordered]


def urgency(due: datetime, warns: datetime, now: datetime) -> Urgency:
    """How near a deadline is. Pure."""
    if now > due:
        return Urgency.OVERDUE
    return Urgency.DUE_SOON if now >= warns else Urgency.IN_TIME


@operation
def waive(
    session: Session, _advance: Advance, name: str, tables: Sequence[str], reason: str
) -> FollowedRequest:
    """Note that tables or files need not be searched for a request, and why; for its whole batch.

    Over several stores it may name a store, and tables as ``store:schema.table``, which are waived
    there too. Raises PRIVACY_REQUEST for what the request does not lack.
    """
    desk = Desk(session, Privilege.APPROVE)
    _waive_parts(desk, name, tables, reason)
    with desk.writing() as records:
        request = find_request(records, name)
        batch = next((b for b in rows_of.all_batches(records) if b.id == request.batch), None)
        lacking = {} if batch is None else _lacking(request, batch)
        unknown = [t for t in tables if t not in lacking]
        if batch is None or not lacking or unknown:
            raise request_error(
                f"request {request.id} does not wait for {', '.join(unknown or tables)}",
                f"it waits for {', '.join(lacking) or 'no table'}",
            )
        told = f"{reason} (by {desk.by})"
        waived = {**batch.detail.get("waived", {}), **dict.fromkeys(tables, told)}
        changed = replace(batch, detail={**batch.detail, "waived": waived}, updated_at=desk.now())
        rows_of.put_batch(records, changed)
        desk.note(records, "waive", batch.id, {"tables": list(tables), "reason": reason})
        records.commit()
    return FollowedRequest(request, changed)


def _lacking(request: PrivacyRequest, batch: PrivacyBatch) -> dict[str, str]:
    """What was not searched for a request, and stores that have not done their part."""
    if request.state == PrivacyState.PARTIAL:
        return dict(batch.detail.get("uncovered", {}))
    if PrivacyState(request.state).is_terminal:
        return {}
    stores = batch.detail.get("stores", {})
    done = [PrivacyState.COMPLETED.value]
    return {n: "it is not done" for n, one in stores.items() if list(one.get("states", ())) != done}


def _waive_parts(desk: Desk, name: str, tables: Sequence[str], reason: str) -> None:
    """Waive tables of other stores there; raises PROCESS_STORE for a store that is away."""
    with desk.reading() as records:
        request = find_request(records, name)
    by_store: dict[str, list[str]] = {}
    for table in tables if stores_of(request) else ():
        store, colon, inner = table.partition(":")
        if colon:
            by_store.setdefault(store, []).append(inner)
    for store, some in by_store.items():
        with DeskStores(desk.session) as sessions, sessions.session(store) as there:
            for part in there.perform(part_ids, [part_name(sessions.control, request.id)]):
                there.perform(waive, part, some, reason)


@operation
def list_exports(session: Session, _advance: Advance) -> list[PrivacyExport]:
    """The exports that are there, after those past their time were removed."""
    desk = Desk(session, Privilege.ACCESS)
    drop_expired(desk.journal, desk.now(), desk.by)
    with desk.reading() as records:
        return [e for e in rows_of.all_exports(records) if e.is_there]


@operation
def export_of(
    session: Session, _advance: Advance, name: str, target: str | None, *, gone: bool = False
) -> PrivacyExport:
    """The export of a request; moved to ``target``, or given up where it is ``gone`` for good.

    Raises PRIVACY_REQUEST where the request has none, FILE_ACCESS where it cannot be reached.
    """
    desk = Desk(session, Privilege.ACCESS)
    drop_expired(desk.journal, desk.now(), desk.by)
    with desk.reading() as records:
        request = find_request(records, name)
        found = {e.request: e for e in rows_of.all_exports(records) if e.is_there}
    export = found.get(request.id)
    if export is None:
        raise request_error(
            f"request {request.id} is {request.state}, and has no export",
            "palimpsest privacy run makes it; it expires, and goes when the person is erased",
        )
    if gone:
        (export,) = remove_exports(desk.journal, [export], desk.by, "given up")
    elif target is not None:
        export = _handed_over(desk, request, export, Path(target))
    else:
        reached(export)
    desk_note = {"export": export.id, "moved": target is not None, "gone": gone}
    with desk.writing() as records:
        desk.note(records, "export", request.id, desk_note)
        records.commit()
    return export


def _handed_over(
    desk: Desk, request: PrivacyRequest, export: PrivacyExport, target: Path
) -> PrivacyExport:
    """Hand a file over at another place; the stores that it came from know both meanwhile."""
    if not has_parts(request):
        return move_export(desk.journal, export, target)
    with desk.reading() as records:
        (batch,) = [b for b in rows_of.all_batches(records) if b.id == request.batch]
    names = with_parts(batch.detail["stores"])
    with DeskStores(desk.session) as sessions:
        called = part_name(sessions.control, request.id)
        there = replace(export, path=str(target.resolve()))
        merged_exports.follow(desk, sessions, called, names, there, str(reached(export)))
        moved = move_export(desk.journal, export, target)
        merged_exports.follow(desk, sessions, called, names, moved, None)
    return moved


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {n: v.isoformat() if isinstance(v, datetime) else v for n, v in found.items()}
