"""The application: its routes, and what goes for all of them. Everything of FastAPI is in here.

A request is looked at for Host, Origin and size before anything else; its sender logs in before
its body is read as what it should be. What goes wrong is answered as problem details.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.servers.control.door import ControlDoor
from gateway.servers.control.problems import KIND, http_problem, problem, status_of
from gateway.servers.control.routes import (
    audit,
    entities,
    events,
    instances,
    jobs,
    lineage,
    opendsr,
    policies,
    privacy,
    safe_mode,
    schedules,
)
from gateway.version import VERSION
from journal.model.errors import PalimpsestError

ROOT = "/api/v1"
AREAS = (
    entities.ROUTER,
    schedules.ROUTER,
    instances.ROUTER,
    jobs.ROUTER,
    policies.ROUTER,
    lineage.ROUTER,
    events.ROUTER,
    safe_mode.ROUTER,
    audit.ROUTER,
    privacy.ROUTER,
    *opendsr.ROUTERS,
)
"""The routers of all areas, in the order in which the description lists them."""
BODY_BYTES_MAX = 16 << 20
_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_ABOUT = """Governance of a Palimpsest store: declared entities, their instances, events, safe mode.

Errors are problem details (RFC 9457) with a code of docs/errors.md. GET answers have an ETag and
take If-None-Match; changes of one entity take If-Match. A POST with an Idempotency-Key is done
once: a repeat gets the first answer."""


def control_app(door: ControlDoor) -> FastAPI:
    """The application of a port."""
    app = FastAPI(
        title="Palimpsest control API",
        version=VERSION,
        description=_ABOUT,
        openapi_url=f"{ROOT}/openapi.json",
        # Their pages load programs from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.door = door
    for router in AREAS:
        app.include_router(router, prefix=ROOT)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_defect)
    app.add_middleware(_Guard, door=door)
    return app


async def _answer_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = http_problem(error.status_code, str(error.detail))
    return JSONResponse(body, error.status_code, error.headers, KIND)


async def _answer_defect(_request: Request, _error: Exception) -> Response:
    """What nobody expected: its traceback is in the log, and no part of it in the answer."""
    body = http_problem(500, "the server failed on the request; its log says more")
    return JSONResponse(body, 500, media_type=KIND)


class _Guard:
    """Looks at each request before its route does."""

    def __init__(self, app: ASGIApp, door: ControlDoor) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope)
        try:
            self._door.check_origin(request.headers, request.url.scheme)
        except PalimpsestError as error:
            status = 403 if status_of(error) == 400 else status_of(error)
            answer = JSONResponse(problem(error, status), status, media_type=KIND)
            return await answer(scope, receive, _with_headers(send))
        size = request.headers.get("content-length", "0")
        if not size.isdigit() or int(size) > BODY_BYTES_MAX:
            body = http_problem(413, f"a body may have at most {BODY_BYTES_MAX} bytes")
            return await JSONResponse(body, 413, media_type=KIND)(scope, receive, send)
        if request.method in _UNSAFE and "content-length" not in request.headers:
            if "transfer-encoding" in request.headers:
                body = http_problem(411, "a request with a body needs a Content-Length")
                return await JSONResponse(body, 411, media_type=KIND)(scope, receive, send)
        return await self._app(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Send:
    """Answers that browsers neither keep, nor take for a page, nor show in another one."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message["headers"],
                (b"cache-control", b"private, no-cache"),
                (b"x-content-type-options", b"nosniff"),
                (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
            ]
        await send(message)

    return sent
