"""What a store does with its parts of requests over several stores: take, show, hand over.

A part is a request of the store's own desk, with hashes of its own secret. Its external id is made
of the control store's and of the request there, so that whoever asks again gets the same part. A
part of somebody comes already verified and approved where the control store's desk has done that;
what this store's policy wants besides is asked for here.
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.privacy_desk import sealing
from gateway.privacy_desk.desk import Desk
from gateway.privacy_desk.desk_policy import DeskPolicy, PrivacyAction
from gateway.privacy_desk.desk_stores import known_types
from gateway.privacy_desk.erasing_steps import PlannedParts, planned_parts
from gateway.privacy_desk.exports import put_export, reached
from gateway.privacy_desk.part_sums import StoreStanding
from gateway.privacy_desk.states import PrivacyState, next_state
from gateway.privacy_desk.submission import (
    EXPORTED,
    Identity,
    NewRequest,
    add_sealed,
    first_event,
    identity_digests,
    with_forms,
)
from gateway.session.operations import Advance, operation
from gateway.session.typed_names import table_name
from journal.erasure.secret import lasting_secret
from journal.model.access import Privilege
from journal.model.lazy_dataclass import dataclass
from journal.model.replication import replica_source
from journal.model.schema import Table
from journal.records import privacy_rows as rows_of
from journal.records.catalog_format import get_meta
from journal.records.privacy_rows import PrivacyExport, PrivacyRequest
from journal.records.safe_mode_rows import check_not_safe

if TYPE_CHECKING:
    from gateway.session.session import Session

_STORE_ID = "id"


@dataclass(frozen=True, slots=True)
class RequestPart:
    """What a store is handed of one request; ``name`` is the external id that it has there."""

    name: str
    identities: tuple[Identity, ...]
    values: tuple[Identity, ...]
    regulation: str
    reason: str | None
    requested_by: str
    approved_by: str | None
    verified_by: str | None
    received_at: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True)
class PartTerms:
    """What all parts of a batch have in common."""

    action: PrivacyAction
    tables: tuple[str, ...]
    erases_past: bool


@dataclass(frozen=True, slots=True)
class TakenParts:
    """What a store made of the parts: of what it was asked the ``types`` and ``tables`` it knows.

    ``ids`` are its own of the requests there are now.
    """

    types: frozenset[str]
    tables: frozenset[str]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartFile:
    """The file that a store's desk wrote for a part."""

    id: str
    data: bytes
    rows: int
    expires_at: datetime


@operation
def take_parts(
    session: Session, _advance: Advance, terms: PartTerms, parts: Sequence[RequestPart]
) -> TakenParts:
    """Take parts of requests; what is here already is not taken twice.

    Of whom a part names only those are taken whose types tables here describe. It takes ADMIN: the
    parts say who has verified and approved them.
    """
    return take_own_parts(Desk(session, Privilege.ADMIN), terms, parts)


def take_own_parts(desk: Desk, terms: PartTerms, parts: Sequence[RequestPart]) -> TakenParts:
    """The same for the store whose desk hands the parts over, and has let whoever runs it."""
    forms = known_types(desk.session)
    tables = _tables_here(desk.session, terms)
    asked = {t for p in parts for kind, _ in p.identities for t in sealing.types_of(kind)}
    types = frozenset(asked & set(forms))
    if terms.tables and not tables:
        return TakenParts(types, frozenset(), ())
    with desk.writing() as records:
        check_not_safe(records, "to take parts of privacy requests")
        version, policy = desk.policy(records)
        secret = lasting_secret(desk.journal, records)
        here = rows_of.requests_called(records, [p.name for p in parts])
        named = _digests_here(here, rows_of.identities_of(records, [r.id for r in here]))
        made: list[PrivacyRequest] = []
        new, digests = [], []
        submission = uuid.uuid4().hex[:12]
        for part in parts:
            known = _identities_known(part, types)
            request = NewRequest(tuple(known), part.name, part.values)
            hashes = identity_digests(secret, request, forms)
            missing = [i for i, h in zip(known, hashes, strict=True) if h not in _of(named, part)]
            if not missing:
                continue
            request = replace(request, identities=tuple(missing))
            row = _request(part, terms, tables, policy, request, f"{submission}{len(made):05x}")
            detail = {**row.detail, "policy": version}
            if terms.action in EXPORTED:
                row = with_forms(row, secret, missing, forms)
                detail = {**row.detail, "policy": version}
            made.append(replace(row, submission=submission, detail=detail, updated_at=desk.now()))
            new.append(request)
            digests.append(identity_digests(secret, request, forms))
        extended = _extended(here, parts)
        for row in extended:
            rows_of.put_request(records, row)
        if made or extended:
            add_sealed(records, secret, made, new, digests)
            detail = {"action": terms.action.value, "requests": len(made), "policy": version}
            desk.note(records, "take", submission, {**detail, "extended": len(extended)})
            records.commit()
        else:
            records.rollback()
    return TakenParts(types, frozenset(tables), (*(r.id for r in here), *(r.id for r in made)))


@operation
def plan_parts(
    session: Session, _advance: Advance, terms: PartTerms, parts: Sequence[RequestPart]
) -> PlannedParts:
    """What executing parts here would come to; takes none of them."""
    desk = Desk(session)
    types, tables = frozenset(known_types(session)), _tables_here(session, terms)
    known = {p.name: _identities_known(p, types) for p in parts if tables or not terms.tables}
    named = {name: pairs for name, pairs in known.items() if pairs}
    if not named:
        return PlannedParts(0, (), (), 0, 0)
    with desk.reading() as records:
        _, policy = desk.policy(records)
    requests = [
        _request(p, terms, tables, policy, NewRequest(tuple(named[p.name])), p.name)
        for p in parts
        if p.name in named
    ]
    return planned_parts(desk, requests, named)


@operation
def parts_here(session: Session, _advance: Advance, names: Sequence[str]) -> StoreStanding:
    """How far the parts of some external ids are, with the receipts of their batches."""
    desk = Desk(session)
    with desk.reading() as records:
        store = get_meta(records, _STORE_ID) or ""
        found = rows_of.requests_called(records, names)
        batches = {b.id: b for b in rows_of.all_batches(records)}
    own = [batches[b] for b in dict.fromkeys(r.batch for r in found) if b in batches]
    states: dict[str, int] = {}
    for request in found:
        states[request.state] = states.get(request.state, 0) + 1
    uncovered: dict[str, str] = {}
    for batch in own:
        if batch.step == PrivacyState.PARTIAL:
            uncovered |= batch.detail.get("uncovered", {})
    return StoreStanding(
        store,
        states,
        tuple(b.id for b in own),
        tuple(r for b in own for r in b.detail.get("receipts", ())),
        uncovered,
        next((b.detail["waits_for"] for b in own if b.detail.get("waits_for")), ""),
        next((b.detail["error"] for b in own if b.detail.get("error")), None),
    )


@operation
def part_ids(session: Session, _advance: Advance, names: Sequence[str]) -> list[str]:
    """The store's own ids of the parts of some external ids."""
    with Desk(session).reading() as records:
        return [r.id for r in rows_of.requests_called(records, names)]


@operation
def part_files(session: Session, _advance: Advance, name: str) -> list[PartFile]:
    """The files of a part; raises FILE_ACCESS for one that lies on another machine."""
    return files_of_part(Desk(session, Privilege.ACCESS), name)


def files_of_part(desk: Desk, name: str) -> list[PartFile]:
    """The same for the store whose desk brings files together."""
    return [
        PartFile(e.id, reached(e).read_bytes(), e.rows, e.expires_at) for e in _exports(desk, name)
    ]


@operation
def follow_part_files(
    session: Session, _advance: Advance, name: str, path: str, moved_from: str | None, digest: str
) -> None:
    """Note that what was in the files of a part lies at ``path`` now, and remove all others.

    While it moves it lies at ``moved_from`` as well, and nothing is removed. From then on whatever
    removes the part's file, as an erasure of its person here, removes what is there.
    """
    place_files_of_part(Desk(session, Privilege.ACCESS), name, path, moved_from, digest)


def place_files_of_part(
    desk: Desk, name: str, path: str, moved_from: str | None, digest: str
) -> None:
    """The same for the store whose desk brings files together."""
    for export in _exports(desk, name):
        placed = replace(export, path=path, digest=digest, host=platform.node())
        left = [p for p in (export.path, export.moved_from) if p not in {None, path}]
        if moved_from is None and left:
            # Both are on record until the other is gone.
            put_export(desk.journal, replace(placed, moved_from=left[0]))
            for place in left:
                Path(str(place)).unlink(missing_ok=True)
        put_export(desk.journal, replace(placed, moved_from=moved_from))


def _exports(desk: Desk, name: str) -> list[PrivacyExport]:
    with desk.reading() as records:
        ids = [r.id for r in rows_of.requests_called(records, [name])]
        return [e for e in rows_of.exports_of(records, ids) if e.is_there]


def _tables_here(session: Session, terms: PartTerms) -> list[str]:
    """The tables of some terms that there are; a replica gets its right values of its source."""
    catalog, schema = session.catalog, session.settings.schema
    corrects = terms.action is PrivacyAction.RECTIFICATION
    return [
        name
        for name in terms.tables
        if isinstance(table := catalog.get(table_name(name, catalog, schema)), Table)
        and not (corrects and replica_source(table) is not None)
    ]


def _identities_known(part: RequestPart, types: frozenset[str]) -> list[Identity]:
    return [i for i in part.identities if types >= set(sealing.types_of(i[0]))]


def _extended(here: Sequence[PrivacyRequest], parts: Sequence[RequestPart]) -> list[PrivacyRequest]:
    """Open parts that were given more time since, with their new deadline."""
    due = {part.name: part.due_at for part in parts}
    return [
        replace(r, due_at=due[r.external_id])
        for r in here
        if r.external_id in due
        and r.due_at < due[r.external_id]
        and not PrivacyState(r.state).is_terminal
    ]


def _digests_here(
    here: Sequence[PrivacyRequest], named: Sequence[rows_of.SealedIdentity]
) -> dict[str, set[str]]:
    """By external id the hashes of whom its requests name."""
    names = {r.id: r.external_id or "" for r in here}
    found: dict[str, set[str]] = {}
    for one in named:
        found.setdefault(names[one.request], set()).add(one.digest)
    return found


def _of(named: Mapping[str, Collection[str]], part: RequestPart) -> Collection[str]:
    return named.get(part.name, ())


def _request(
    part: RequestPart,
    terms: PartTerms,
    tables: Sequence[str],
    policy: DeskPolicy,
    named: NewRequest,
    name: str,
) -> PrivacyRequest:
    """A part as a request of this store's desk, at the gate that it comes to."""
    event = first_event(
        policy,
        terms.action,
        verified=part.verified_by is not None,
        approved=part.approved_by is not None,
    )
    types: dict[str, int] = {}
    for kind, _ in named.identities:
        types[kind] = types.get(kind, 0) + 1
    options: dict[str, Any] = {"tables": list(tables)} if tables else {}
    if terms.erases_past:
        options["erases_past"] = True
    detail: dict[str, Any] = {"types": types, "part": True}
    if options:
        detail["options"] = options
    if part.verified_by is not None:
        detail["verified_by"] = part.verified_by
    return PrivacyRequest(
        id=name,
        submission="",
        external_id=part.name,
        idempotency_key=None,
        regulation=part.regulation,
        action=terms.action.value,
        state=next_state(PrivacyState.RECEIVED, event).value,
        reason=part.reason,
        requested_by=part.requested_by,
        approved_by=part.approved_by,
        received_at=part.received_at,
        due_at=part.due_at,
        updated_at=part.received_at,
        detail=detail,
    )
