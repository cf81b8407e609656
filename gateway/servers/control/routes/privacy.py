"""The privacy desk over HTTP: submit, decide, run, read. No answer holds an identifier.

An Idempotency-Key of a header is refused here: the server would keep a hash of the body, which
names people. The field ``idempotency_key`` of a submission does the same by keyed hashes.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from gateway.privacy_desk import decisions, questions, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.sealing import join_parts
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.servers.control.door import refused
from gateway.servers.control.governed_route import KEY_HEADER, GovernedRoute, Handler, SessionOf
from gateway.servers.control.paging import Limit, Offset, Page, page_of
from gateway.servers.control.request_bodies import RequestBody, UtcMoment
from gateway.session.operations import Operation
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest


class PersonalRoute(GovernedRoute):
    """A route whose bodies name people: nothing of them is kept, not even a hash."""

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if KEY_HEADER in request.headers:
                # What goes on is the very request without the header.
                names = [(n, v) for n, v in request.scope["headers"] if n.decode() != KEY_HEADER]
                request.scope["headers"] = names
                request.scope["had_key"] = True
                request = Request(request.scope, request.receive)
            return await inner(request)

        return handle


ROUTER = APIRouter(prefix="/privacy", tags=["privacy desk"], route_class=PersonalRoute)


class IdentityBody(RequestBody):
    """A person's identifier, or the parts of one, all of which a row must have."""

    type: str = Field(max_length=200)
    value: str = Field(max_length=10_000)


class PersonBody(RequestBody):
    """One request of a submission."""

    identities: list[IdentityBody] = Field(min_length=1, max_length=1_000)
    is_composite: bool = False
    external_id: str | None = None
    values: dict[str, str] = Field(default_factory=dict)


class SubmissionBody(RequestBody):
    """Requests that ask the same."""

    action: PrivacyAction
    regulation: str = "GDPR"
    reason: str | None = None
    idempotency_key: str | None = None
    received_at: UtcMoment | None = None
    tables: list[str] = Field(default_factory=list)
    stores: list[str] = Field(default_factory=list)
    requests: list[PersonBody] = Field(min_length=1, max_length=100_000)


class RequestView(BaseModel):
    """A request; ``detail`` has counts and names of tables."""

    id: str
    submission: str
    external_id: str | None
    regulation: str
    action: str
    state: str
    reason: str | None
    requested_by: str
    approved_by: str | None
    received_at: datetime
    due_at: datetime
    updated_at: datetime
    batch: str
    detail: dict[str, Any]


class BatchView(BaseModel):
    """Requests that share a scan, and how far they are."""

    id: str
    action: str
    step: str
    requests: int
    made_at: datetime
    updated_at: datetime
    detail: dict[str, Any]


class DecisionBody(RequestBody):
    """Why somebody decides so; it names nobody."""

    reason: str | None = Field(None, max_length=2_000)


class Decision(StrEnum):
    """What can be decided about a request."""

    VERIFY = "verify"
    APPROVE = "approve"
    DENY = "deny"
    HOLD = "hold"
    RELEASE = "release"
    CANCEL = "cancel"


_OPERATIONS: dict[Decision, Operation[..., list[PrivacyRequest]]] = {
    Decision.VERIFY: decisions.verify_identity,
    Decision.APPROVE: decisions.approve,
    Decision.DENY: decisions.deny,
    Decision.HOLD: decisions.hold_requests,
    Decision.RELEASE: decisions.release_requests,
    Decision.CANCEL: decisions.cancel,
}


@ROUTER.post("/requests", status_code=201)
def submit_requests(
    request: Request, session: SessionOf, body: SubmissionBody
) -> list[RequestView]:
    """Take requests, all of them or none; nothing is done about them before a run."""
    refuse_key(request)
    terms = SubmissionTerms(
        *(body.action, body.regulation, body.reason, body.idempotency_key, body.received_at),
        tables=tuple(body.tables),
        stores=tuple(body.stores),
    )
    found = session.perform(submit, terms, [_new_request(one) for one in body.requests])
    return [_view(one) for one in found]


class RunBody(RequestBody):
    """Nothing: who sends ``dry_run``, which is for the command, must not have people erased."""


@ROUTER.get("/requests")
def list_requests(
    request: Request,
    session: SessionOf,
    state: Annotated[list[str] | None, Query(description="Only in these states.")] = None,
    submission: str | None = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[RequestView]:
    """The requests, in the order in which they came."""
    rows = session.perform(questions.list_requests, tuple(state or ()), submission)
    return Page[RequestView](**page_of(request, [_view(row) for row in rows], offset, limit))


@ROUTER.get("/requests/{name}")
def get_request(session: SessionOf, name: str) -> dict[str, Any]:
    """One request, with the receipts of its batch."""
    return session.perform(questions.show_request, name).to_json()


@ROUTER.post("/requests/{name}/{decision}")
def decide(
    request: Request, session: SessionOf, name: str, decision: Decision, body: DecisionBody
) -> RequestView:
    """Decide about a request; what makes no sense in its state changes nothing."""
    refuse_key(request)
    (found,) = session.perform(_OPERATIONS[decision], [name], body.reason)
    return _view(found)


@ROUTER.post("/run")
def run(request: Request, session: SessionOf, _body: RunBody | None = None) -> list[BatchView]:
    """Execute what waits; answers when that is done."""
    refuse_key(request)
    return [_batch(one) for one in session.perform(running.run)]


@ROUTER.get("/due")
def due(session: SessionOf) -> list[dict[str, Any]]:
    """Open requests, those first that are due first, with how near their deadlines are."""
    return [one.to_json() for one in session.perform(questions.due_requests)]


def refuse_key(request: Request) -> None:
    """Raise HTTP_REQUEST where the sender relies on a key that nothing keeps."""
    if request.scope.get("had_key"):
        raise refused(
            "a request that names people takes no Idempotency-Key",
            "send the field idempotency_key with a submission; simply repeat other requests",
        )


def _new_request(body: PersonBody) -> NewRequest:
    pairs = tuple((one.type, one.value) for one in body.identities)
    named = (join_parts(pairs),) if body.is_composite and len(pairs) > 1 else pairs
    return NewRequest(named, body.external_id, tuple(body.values.items()))


def _view(row: PrivacyRequest) -> RequestView:
    found = asdict(row)
    del found["idempotency_key"]
    return RequestView(**found)


def _batch(batch: PrivacyBatch) -> BatchView:
    return BatchView(**asdict(batch))
