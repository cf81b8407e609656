"""Wraps each route: login, session, errors, ETags, and Idempotency-Keys.

    log in --> session --> key known? --> the route --> answer, ETag --> session closed

A route finds its session by ``SessionOf``, and neither opens nor closes one.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from gateway.servers.control import keyed_requests
from gateway.servers.control.door import ControlDoor, refused
from gateway.servers.control.problems import KIND, http_problem, problem, status_of
from gateway.session.operations import Operation, P, T, no_progress
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import coded, failures
from journal.model.spelling import spelling_hint

_LOG = logging.getLogger("palimpsest.control")
KEY_HEADER = "idempotency-key"
_JSON, _YAML = "application/json", "application/yaml"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ControlSession:
    """The session of a request; ``perform`` runs an operation as the sender may."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def perform(self, what: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation; raises what it raises, and errors of drivers as ours."""
        with failures():
            return what(self.session, no_progress, *args, **kwargs)


def _session_of(request: Request) -> ControlSession:
    found: ControlSession = request.state.control_session
    return found


SessionOf = Annotated[ControlSession, Depends(_session_of)]


class GovernedRoute(APIRoute):
    """A route of the control API; see the module's head."""

    takes_other_parameters = False
    """Whether the address may have parameters that the route does not know."""

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        inner = super().get_route_handler()
        known = [field.alias for field in self.dependant.query_params]

        async def handle(request: Request) -> Response:
            try:
                if not self.takes_other_parameters:
                    _check_parameters(request, known)
                return await _answer(request, inner)
            except RequestValidationError as error:
                found = [_field_error(dict(e)) for e in error.errors()]
                body = http_problem(422, "the request does not fit the description", errors=found)
                body |= {"code": Code.HTTP_REQUEST.value.code}
                return JSONResponse(body, 422, media_type=KIND)
            except Exception as error:
                ours = coded(error)
                if ours is None:
                    raise
                return _problem_answer(ours)

        return handle


async def _answer(request: Request, inner: Handler) -> Response:
    door: ControlDoor = request.app.state.door
    is_secure = request.url.scheme == "https"
    host = request.client.host if request.client is not None else ""
    caller = await run_in_threadpool(door.log_in, request.headers, host, is_secure=is_secure)
    _check_kind(request)
    session = await run_in_threadpool(door.open, caller)
    request.state.control_session = ControlSession(session)
    try:
        key = request.headers.get(KEY_HEADER)
        if request.method != "POST" or key is None:
            return _tagged(request, await inner(request))
        return await _answer_once(request, session, key, inner)
    finally:
        await run_in_threadpool(session.close)


async def _answer_once(request: Request, session: Session, key: str, inner: Handler) -> Response:
    """The answer to a request with a key; that of the first, where it was answered before."""
    asked = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    digest = hashlib.sha256(asked + await request.body()).hexdigest()
    known = await run_in_threadpool(keyed_requests.begin, session, key, digest)
    if known is not None:
        headers = {"Idempotency-Replayed": "true"}
        return Response(known.answer, known.status or 200, headers, known.kind)
    try:
        found = await inner(request)
    except BaseException:
        await run_in_threadpool(keyed_requests.forget, session, key)
        raise
    if not 200 <= found.status_code < 300:
        await run_in_threadpool(keyed_requests.forget, session, key)
        return found
    body = bytes(found.body).decode()
    await run_in_threadpool(
        keyed_requests.end, session, key, digest, found.status_code, found.media_type, body
    )
    return found


def _check_parameters(request: Request, known: Sequence[str]) -> None:
    """Raise HTTP_REQUEST for a parameter of the address that would have no effect."""
    for name in request.query_params:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there is none"
            raise refused(
                f"{name} is no parameter of this address", spelling_hint(name, known) + there
            )


def _check_kind(request: Request) -> None:
    """Raise HTTP_REQUEST for a body that a page of the web may send without asking."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = request.headers.get("content-length", "0") != "0"
    if has_body and kind not in {_JSON, _YAML}:
        raise refused(f"a body is {_JSON} or {_YAML}", f"send Content-Type: {_JSON}")


def _tagged(request: Request, answer: Response) -> Response:
    """An answer to GET with an ETag; 304 where the sender has the same already."""
    if request.method != "GET" or answer.status_code != 200:
        return answer
    tag = answer.headers.get("etag")
    if tag is None:
        tag = f'"{hashlib.sha256(bytes(answer.body)).hexdigest()[:32]}"'
        answer.headers["etag"] = tag
    given = request.headers.get("if-none-match", "")
    known = {text.strip().removeprefix("W/") for text in given.split(",")}
    return Response(status_code=304, headers={"etag": tag}) if tag in known else answer


def _problem_answer(error: PalimpsestError) -> Response:
    status = status_of(error)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="palimpsest"'
    if status == 503:
        headers["Retry-After"] = "5"
    if status >= 500:
        _LOG.warning("%s %s", error.code.value.code, error.message)
    return JSONResponse(problem(error, status), status, headers, KIND)


def _field_error(error: dict[str, Any]) -> dict[str, str]:
    place = ".".join(str(part) for part in error.get("loc", ()))
    message = str(error.get("msg", ""))
    words = re.findall(r"'([^']+)'", str(error.get("ctx", {}).get("expected", "")))
    near = spelling_hint(str(error.get("input", "")), words).strip()
    return {"field": place, "message": f"{message}; {near}" if near else message}
