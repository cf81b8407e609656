"""Takes submissions: one request or a file of 100,000, in one transaction of the records.

A submission is taken as a whole or not at all. Who is named is encrypted before anything is
written; what goes on record besides, the audit log and every error say how many and of which type.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName
from gateway.privacy_desk import sealing
from gateway.privacy_desk.desk import Desk
from gateway.privacy_desk.desk_policy import DeskPolicy, PrivacyAction
from gateway.privacy_desk.desk_stores import OWN, STORES, known_types, stores_meant, types_over
from gateway.privacy_desk.opendsr import LATEST
from gateway.privacy_desk.states import (
    OPEN_STATES,
    PrivacyEvent,
    PrivacyState,
    next_state,
)
from gateway.session.operations import Advance, single_operation
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import FormsByType
from journal.identity.identifiers import is_ambiguous
from journal.identity.normalisers import EXACT, Normaliser, common
from journal.model.access import Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyRequest, SealedIdentity
from journal.records.safe_mode_rows import check_not_safe

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.model.store_session import RecordSession, StoreSession

REQUESTS_MAX = 100_000
_NAMED_MAX = 1_000
"""So many identities one request may have."""
REPLACED = "value of "
"""What the types of sealed values begin with that a rectification writes, by column."""
CALLBACKS = "callbacks"
"""Where the detail of a request says who is to be told of its status."""
EXPORTED = frozenset({PrivacyAction.ACCESS, PrivacyAction.PORTABILITY})
"""The actions whose requests get a file."""

Identity = tuple[str, str]
"""Type and value; see ``sealing.join_parts`` for those of several parts."""


@dataclass(frozen=True, slots=True)
class NewRequest:
    """One request as somebody hands it in; ``values`` are those that a rectification writes."""

    identities: tuple[Identity, ...]
    external_id: str | None = None
    values: tuple[Identity, ...] = ()


@dataclass(frozen=True, slots=True)
class SubmissionTerms:
    """What all requests of a submission have in common.

    ``received_at`` is when the people asked, from which the deadline counts; None: now.
    ``erases_past`` lets a rectification erase the wrong values from every earlier version.
    ``callbacks`` are URLs to be told of each new status, by a version of OpenDSR; see
    ``privacy_desk.callbacks``. ``stores`` names profiles whose stores have a part each, see
    ``desk_stores``; none: those that the policy names.
    """

    action: PrivacyAction
    regulation: str = "GDPR"
    reason: str | None = None
    idempotency_key: str | None = None
    received_at: datetime | None = None
    tables: tuple[str, ...] = ()
    erases_past: bool = False
    callbacks: tuple[str, ...] = ()
    callback_version: str = LATEST
    stores: tuple[str, ...] = ()


@single_operation
def submit(
    session: Session,
    _advance: Advance,
    terms: SubmissionTerms,
    requests: Sequence[NewRequest],
) -> list[PrivacyRequest]:
    """Take requests; the same idempotency key again gives those that it gave before.

    Raises PRIVACY_REQUEST for one that names nobody, or a type that no table describes.
    """
    wanted = Privilege.ACCESS if terms.action in EXPORTED else Privilege.ERASE
    desk = Desk(session, wanted)
    terms = replace(terms, stores=_stores(desk, terms))
    named = [replace(r, identities=_folded(r.identities)) for r in requests]
    forms = _check(session, terms, named)
    with desk.writing() as records:
        check_not_safe(records, "to submit privacy requests")
        version, policy = desk.policy(records)
        secret = lasting_secret(desk.journal, records)
        digests = [identity_digests(secret, r, forms) for r in named]
        repeated = _repeated(records, terms, digests)
        if repeated is not None:
            records.rollback()
            return repeated
        made = _new_requests(desk, terms, policy, version, named)
        if terms.action in EXPORTED:
            made = [
                with_forms(request, secret, one.identities, forms)
                for request, one in zip(made, named, strict=True)
            ]
        made = _with_twins(records, made, digests)
        add_sealed(records, secret, made, named, digests)
        counts: dict[str, int] = {}
        for one in named:
            for kind, _ in one.identities:
                counts[kind] = counts.get(kind, 0) + 1
        duplicates = sum(r.state == PrivacyState.DUPLICATE for r in made)
        detail = {
            "action": terms.action.value,
            "regulation": terms.regulation,
            "types": counts,
            "requests": len(made),
            "duplicates": duplicates,
            "policy": version,
        }
        desk.note(records, "submit", made[0].submission, detail)
        desk.announce(records, EventName.REQUEST_RECEIVE, made[0].submission, detail)
        records.commit()
    return made


def first_event(policy: DeskPolicy, action: str, *, verified: bool, approved: bool) -> PrivacyEvent:
    """The gate that a request comes to next. Pure."""
    if not verified and action in policy.identity_checks:
        return PrivacyEvent.ASK_IDENTITY
    if not approved and action in policy.four_eyes:
        return PrivacyEvent.ASK_APPROVAL
    return PrivacyEvent.QUEUE


def _stores(desk: Desk, terms: SubmissionTerms) -> tuple[str, ...]:
    """The stores that requests are about, as they will name them; none: the desk's own alone.

    Raises PRIVILEGE for stores that the policy does not name, unless an administrator asks.
    """
    with desk.reading() as records:
        _, policy = desk.policy(records)
    wanted = tuple(dict.fromkeys(terms.stores or policy.stores))
    if wanted in {(), (OWN,)}:
        return ()
    if not {*stores_meant(desk.session, wanted)} <= {OWN, *_allowed(desk, policy)}:
        # Roles are of one store: whoever may erase here need not be known there.
        Desk(desk.session, Privilege.ADMIN)
    return wanted


def _allowed(desk: Desk, policy: DeskPolicy) -> list[str]:
    return stores_meant(desk.session, policy.stores)


def _folded(identities: Iterable[Identity]) -> tuple[Identity, ...]:
    return tuple(dict.fromkeys((fold(kind.strip()), value) for kind, value in identities))


def _check(
    session: Session, terms: SubmissionTerms, requests: Sequence[NewRequest]
) -> dict[str, tuple[Normaliser, ...]]:
    """Raise PRIVACY_REQUEST unless every request can be taken; the types there are."""
    if not 1 <= len(requests) <= REQUESTS_MAX:
        raise request_error(
            f"a submission has 1 to {REQUESTS_MAX:,} requests, this one {len(requests):,}",
            "submit several",
        )
    known = _types(session, terms, requests)
    for one in requests:
        if not 1 <= len(one.identities) <= _NAMED_MAX:
            count = len(one.identities)
            raise request_error(
                f"a request names 1 to {_NAMED_MAX:,} identifiers, one here {count:,}",
                "give type=value; a file of many people has a line for each",
            )
        for kind, value in one.identities:
            _check_pairs(sealing.parts_of(kind, value), known)
    if terms.erases_past and terms.action is not PrivacyAction.RECTIFICATION:
        raise request_error(
            f"--erase-past erases wrong values of a rectification, and this is {terms.action}",
            "leave --erase-past out",
        )
    if terms.action is PrivacyAction.RECTIFICATION:
        if len(terms.tables) != 1 or not all(r.values for r in requests):
            raise request_error(
                "a rectification needs one table, and the right values",
                "give --table NAME and --set column=value",
            )
    elif any(r.values for r in requests):
        raise request_error(f"{terms.action} takes no new values", "ask for a rectification")
    return known


def _types(
    session: Session, terms: SubmissionTerms, requests: Sequence[NewRequest]
) -> dict[str, tuple[Normaliser, ...]]:
    """The types that requests may name, with the normalisers of their columns.

    Over several stores there are none: the same person must have the same hash, whoever is away.
    """
    if not terms.stores:
        return known_types(session)
    found = types_over(session, stores_meant(session, terms.stores))
    wanted = {t for r in requests for kind, _ in r.identities for t in sealing.types_of(kind)}
    # The store that is away may know a type: that is found out when it has its part.
    return dict.fromkeys(wanted if found.away else found.types, (EXACT,))


def _check_pairs(pairs: Sequence[Identity], known: Mapping[str, Sequence[Normaliser]]) -> None:
    for kind, value in pairs:
        if kind not in known:
            raise request_error(
                f"no table identifies people by {kind}",
                "onboard one: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
            )
        if not value.strip() or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise request_error(
                f"an identifier of type {kind} is empty, or is not text",
                "write it as UTF-8, as the tables hold it; an empty value identifies nobody",
            )
        if is_ambiguous(value, known[kind]):
            raise request_error(
                f"a {kind} of a request has no country code, and tables hold numbers of several"
                " countries as this type",
                "write it with + and the country code: +41441234567",
            )


def identity_digests(secret: str, request: NewRequest, forms: FormsByType) -> list[str]:
    """The hashes of whom a request names, in their order: in the form that all columns have."""
    return [
        sealing.identity_digest(secret, kind, value, common(forms.get(kind, ())))
        for kind, value in request.identities
    ]


def with_forms(
    request: PrivacyRequest, secret: str, identities: Sequence[Identity], forms: FormsByType
) -> PrivacyRequest:
    """A request that gets a file, with what it takes to know its person in another spelling.

    Those are hashes in the form of each normaliser, unless all are plain: see ``exports``.
    """
    found: dict[str, list[str]] = {}
    for kind, value in identities:
        for normaliser in forms.get(kind, ()):
            digest = sealing.identity_digest(secret, kind, value, normaliser)
            found.setdefault(f"{kind}{normaliser.suffix}", []).append(digest)
    if all(n.is_plain for kind, _ in identities for n in forms.get(kind, ())):
        return request
    return replace(request, detail={**request.detail, sealing.FORMS: found})


def _repeated(
    records: RecordSession, terms: SubmissionTerms, digests: Sequence[Sequence[str]]
) -> list[PrivacyRequest] | None:
    """The requests that came under the same idempotency key; raises for one that asks otherwise."""
    if terms.idempotency_key is None:
        return None
    before = rows_of.requests_by_key(records, terms.idempotency_key)
    if not before:
        return None
    named = rows_of.identities_of(records, [r.id for r in before])
    same = {i.digest for i in named if not i.type.startswith(REPLACED)}
    if same != {d for some in digests for d in some} or before[0].action != terms.action:
        raise request_error(
            "this idempotency key was used for another submission",
            "choose another key; repeat the very same submission under the same one",
        )
    return before


def _new_requests(
    desk: Desk,
    terms: SubmissionTerms,
    policy: DeskPolicy,
    version: int,
    named: Sequence[NewRequest],
) -> list[PrivacyRequest]:
    now, regulation = desk.now(), terms.regulation.upper()
    received = terms.received_at or now
    due = policy.due_at(regulation, received)
    event = first_event(policy, terms.action, verified=False, approved=False)
    state = next_state(PrivacyState.RECEIVED, event)
    submission = uuid.uuid4().hex[:12]
    options: dict[str, Any] = {"tables": list(terms.tables)} if terms.tables else {}
    if terms.erases_past:
        options["erases_past"] = True
    if terms.stores:
        options[STORES] = list(terms.stores)
    made = []
    for number, one in enumerate(named):
        types: dict[str, int] = {}
        for kind, _ in one.identities:
            types[kind] = types.get(kind, 0) + 1
        detail = {"types": types, "policy": version, **({"options": options} if options else {})}
        if terms.callbacks:
            told = dict.fromkeys(terms.callbacks, "pending")
            detail[CALLBACKS] = {"told": told, "version": terms.callback_version}
        made.append(
            PrivacyRequest(
                id=f"{submission}{number:05x}",
                submission=submission,
                external_id=one.external_id,
                idempotency_key=terms.idempotency_key,
                regulation=regulation,
                action=terms.action.value,
                state=state.value,
                reason=terms.reason,
                requested_by=desk.by,
                approved_by=None,
                received_at=received,
                due_at=due,
                updated_at=now,
                detail=detail,
            )
        )
    return made


def _with_twins(
    records: RecordSession,
    made: Sequence[PrivacyRequest],
    digests: Sequence[Sequence[str]],
) -> list[PrivacyRequest]:
    """The requests; a DUPLICATE is one that asks the same for the same people as an open one."""
    action = made[0].action
    waiting = [
        r
        for state in OPEN_STATES
        for r in rows_of.requests_in(records, state)
        if r.action == action and r.detail.get("options") == made[0].detail.get("options")
    ]
    named: dict[str, set[str]] = {}
    ids = {r.id for r in waiting}
    if waiting:
        for one in rows_of.requests_naming(records, [d for some in digests for d in some]):
            if one.request in ids:
                named.setdefault(one.request, set()).add(one.digest)
    twins = {frozenset(found): request for request, found in named.items()}
    found = []
    for request, own in zip(made, digests, strict=True):
        # One that names more people than these is no twin.
        twin = twins.setdefault(frozenset(own), request.id)
        if twin != request.id and action != PrivacyAction.RECTIFICATION:
            state = next_state(PrivacyState.RECEIVED, PrivacyEvent.REPEAT)
            detail = {**request.detail, "duplicate_of": twin}
            request = replace(request, state=state.value, detail=detail)
        found.append(request)
    return found


def add_sealed(
    records: StoreSession,
    secret: str,
    made: Sequence[PrivacyRequest],
    named: Sequence[NewRequest],
    digests: Sequence[Sequence[str]],
) -> None:
    """Add requests with whom they name, encrypted; ``digests`` are the hashes of each."""
    seal = sealing.sealer(secret)
    sealed = []
    for request, one, own in zip(made, named, digests, strict=True):
        is_twin = request.state == PrivacyState.DUPLICATE
        for (kind, value), digest in zip(one.identities, own, strict=True):
            hidden = None if is_twin else seal(request.id, kind, value)
            sealed.append(SealedIdentity(request.id, kind, digest, hidden))
        for column, value in one.values:
            kind = f"{REPLACED}{column}"
            sealed.append(SealedIdentity(request.id, kind, "", seal(request.id, kind, value)))
    rows_of.add_requests(records, made)
    rows_of.add_identities(records, sealed)


def request_error(message: str, advice: str) -> PalimpsestError:
    """The error of what the desk cannot take."""
    return PalimpsestError(Code.PRIVACY_REQUEST, message, advice=advice)
