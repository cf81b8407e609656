"""OpenDSR, by which consent platforms drive the desk: 2.0, and 1.0 that was called OpenGDPR.

    GET    /api/v1/opendsr/v2/discovery                         /v1/discovery
    POST   /api/v1/opendsr/v2/requests                          /v1/opengdpr_requests
    GET    /api/v1/opendsr/v2/requests/{subject_request_id}     /v1/opengdpr_requests/{..}
    DELETE /api/v1/opendsr/v2/requests/{subject_request_id}     /v1/opengdpr_requests/{..}

Answers are signed, as the specification demands, with the key in the file that
PALIMPSEST_OPENDSR_KEY names, for PALIMPSEST_OPENDSR_DOMAIN; without them nothing is answered. A
request with callbacks to places that are not listed is refused rather than taken and not called.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from gateway.privacy_desk import decisions, questions
from gateway.privacy_desk.callbacks import check_callbacks
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.desk_stores import offered_types
from gateway.privacy_desk.opendsr import (
    CANCELLED,
    LATEST,
    VERSIONS,
    OpenDsrVersion,
    Processor,
    processor,
    signed_headers,
    status_of_request,
)
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.servers.control.governed_route import SessionOf
from gateway.servers.control.routes.privacy import PersonalRoute, refuse_key
from journal.model.errors import PalimpsestError
from journal.records.privacy_rows import PrivacyRequest


class SubjectIdentity(BaseModel):
    """Whom a request is about."""

    identity_type: str
    identity_value: str
    identity_format: Literal["raw"]


class SubjectRequest(BaseModel):
    """A request by the specification, section 7.1; extensions are for other processors."""

    regulation: str = "gdpr"
    subject_request_id: UUID
    subject_request_type: Literal["access", "portability", "erasure"]
    subject_identities: list[SubjectIdentity] = Field(min_length=1)
    submitted_time: datetime
    api_version: str = LATEST
    status_callback_urls: list[str] = Field(default_factory=list, max_length=10)


class _OpenDsrRoute(PersonalRoute):
    """A route of the specification, whose addresses may have more than we know."""

    takes_other_parameters = True


def _router(version: OpenDsrVersion) -> APIRouter:
    """The paths of a version."""
    router = APIRouter(
        prefix=f"/opendsr/{version.major}",
        tags=[f"OpenDSR {version.number}"],
        route_class=_OpenDsrRoute,
    )
    one = f"/{version.requests}/{{subject_request_id}}"

    @router.get("/discovery")
    def discovery(session: SessionOf) -> Response:
        """What the processor supports: the types of identifiers that tables describe."""
        own, types = processor(), session.perform(offered_types)
        return _signed(own, version, _offered(own, version, types), 200)

    @router.post(f"/{version.requests}")
    async def take_request(request: Request, session: SessionOf) -> Response:
        """Take a request; the same subject_request_id again takes none."""
        refuse_key(request)
        own, data = processor(), await request.body()
        try:
            terms, new = _new_request(version, data)
            (made,) = await run_in_threadpool(session.perform, submit, terms, [new])
        except ValidationError as error:
            # What pydantic says quotes the values; the places of the fields do not.
            places = sorted({".".join(map(str, e["loc"])) or "body" for e in error.errors()})
            return _refusal([f"{place} is missing or cannot be taken" for place in places])
        except PalimpsestError as error:
            return _refusal([error.message])
        body = _common(own, version, made, str(new.external_id)) | {
            "received_time": made.updated_at.isoformat(),
            "encoded_request": base64.b64encode(data).decode(),
        }
        return _signed(own, version, body, 201)

    @router.get(one)
    def request_status(session: SessionOf, subject_request_id: UUID) -> Response:
        """How far a request is."""
        own, name = processor(), str(subject_request_id)
        view = session.perform(questions.show_request, name)
        request = view.request
        if twin := request.detail.get("duplicate_of"):
            request = session.perform(questions.show_request, twin).request
        status = {"request_status": status_of_request(request.state)}
        body = _common(own, version, request, name) | status
        rows = request.detail.get("result", {}).get("rows") if version.has_counts else None
        return _signed(own, version, body if rows is None else body | {"results_count": rows}, 200)

    @router.delete(one)
    async def cancel_request(
        request: Request, session: SessionOf, subject_request_id: UUID
    ) -> Response:
        """Cancel a request that is pending; 400 for one that is not any more."""
        own, name, data = processor(), str(subject_request_id), await request.body()
        (found,) = await run_in_threadpool(session.perform, decisions.cancel, [name], None)
        if status_of_request(found.state) != CANCELLED:
            return _refusal([f"the request is {found.state}, and can be cancelled no more"])
        body = _common(own, version, found, name) | {
            "received_time": found.updated_at.isoformat(),
            # That of the cancellation: what named people at first is not kept.
            "encoded_request": base64.b64encode(data).decode(),
        }
        return _signed(own, version, body, 202)

    return router


def _offered(own: Processor, version: OpenDsrVersion, types: Iterable[str]) -> dict[str, Any]:
    return {
        "api_version": version.number,
        "supported_identities": [{"identity_type": t, "identity_format": "raw"} for t in types],
        "supported_subject_request_types": ["access", "portability", "erasure"],
        "processor_certificate": own.certificate_url,
    }


def _new_request(version: OpenDsrVersion, data: bytes) -> tuple[SubmissionTerms, NewRequest]:
    """What a body asks for; raises ValidationError, or PRIVACY_REQUEST for its callbacks."""
    asked = SubjectRequest.model_validate_json(data)
    pairs = tuple((i.identity_type, i.identity_value) for i in asked.subject_identities)
    name, submitted = str(asked.subject_request_id), asked.submitted_time
    submitted = submitted if submitted.tzinfo is not None else submitted.replace(tzinfo=UTC)
    regulation = version.only_regulation or asked.regulation.upper()
    terms = SubmissionTerms(
        *(PrivacyAction(asked.subject_request_type), regulation, None),
        *(f"opendsr {name}", submitted),
        callbacks=tuple(dict.fromkeys(asked.status_callback_urls)),
        callback_version=version.number,
    )
    check_callbacks(terms.callbacks)
    return terms, NewRequest(pairs, name)


def _common(
    own: Processor, version: OpenDsrVersion, request: PrivacyRequest, name: str
) -> dict[str, Any]:
    return {
        "controller_id": own.controller_id,
        "expected_completion_time": request.due_at.isoformat(),
        "subject_request_id": name,
        "api_version": version.number,
    }


def _signed(own: Processor, version: OpenDsrVersion, body: dict[str, Any], status: int) -> Response:
    data = json.dumps(body).encode()
    return Response(data, status, signed_headers(own, version, data), "application/json")


def _refusal(messages: list[str]) -> Response:
    errors = [{"domain": "Validation", "reason": "InvalidRequest", "message": m} for m in messages]
    body = {"error": {"code": 400, "message": messages[0], "errors": errors}}
    return JSONResponse(body, 400)


ROUTERS = tuple(map(_router, VERSIONS.values()))
