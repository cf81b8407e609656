"""Errors over HTTP: problem details (RFC 9457) with our code, and the status of each. Pure."""

from __future__ import annotations

from typing import Any

from journal.model.errors import Code, PalimpsestError

KIND = "application/problem+json"
_STATUS = {
    Code.PRIVILEGE: 403,
    Code.LOGIN: 401,
    Code.PASSWORD: 401,
    Code.UNKNOWN_ENTITY: 404,
    Code.UNKNOWN_INSTANCE: 404,
    Code.UNKNOWN_TABLE: 404,
    Code.UNKNOWN_PRIVACY_REQUEST: 404,
    Code.DUPLICATE_ENTITY: 409,
    Code.DEPENDENT_OBJECTS: 409,
    Code.DUPLICATE_ERASURE: 409,
    Code.SERIALIZATION: 409,
    Code.STALE_ENTITY: 412,
    Code.SAFE_MODE: 423,
    Code.NOT_SUPPORTED: 501,
    Code.HTTP_REQUEST: 400,
    Code.LOGIN_RATE: 429,
}
_BY_CLASS = {
    "08": 503, "57": 503, "53": 503, "58": 500, "XX": 500, "0A": 501, "28": 401, "40": 409,
    "55": 409, "25": 409,
}  # fmt: skip
_INVALID = 422


def status_of(error: PalimpsestError) -> int:
    """The status of an error: by its code, else by the class of its SQLSTATE."""
    found = _STATUS.get(error.code)
    return found if found is not None else _BY_CLASS.get(error.sqlstate[:2], _INVALID)


def problem(error: PalimpsestError, status: int) -> dict[str, Any]:
    """An error as the body of an answer."""
    info = error.code.value
    found = {
        "type": f"urn:palimpsest:error:{info.code}",
        "title": info.title,
        "status": status,
        "detail": error.message,
        "code": info.code,
        "sqlstate": error.sqlstate,
    }
    return {**found, "advice": error.advice} if error.advice else found


def http_problem(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """What is no error of ours, such as an address that there is not, in the same form."""
    return {"type": "about:blank", "title": detail, "status": status, "detail": detail, **more}
