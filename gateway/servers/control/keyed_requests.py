"""Answers a repeated POST with the same Idempotency-Key from the records.

A key belongs to its sender for a day. Between the effect of a request and the record of its answer
a server may die; the repeat then runs the request again, which all of them bear: what was done
already is UNCHANGED, or refused as a duplicate.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from journal.model.errors import Code, PalimpsestError
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records.idempotency_rows import (
    KEPT_FOR,
    KeyedRequest,
    forget_keyed_request,
    keyed_request,
    put_keyed_request,
)

if TYPE_CHECKING:
    from gateway.session.session import Session

_KEY_MAX = 200
_ABANDONED_AFTER = timedelta(minutes=10)


def begin(session: Session, key: str, digest: str) -> KeyedRequest | None:
    """The answered request of a key; None after this one has begun under it.

    Raises HTTP_REQUEST for a key that stands for another request, or for one that still runs.
    """
    if not key or len(key) > _KEY_MAX:
        raise _bad_key(f"an Idempotency-Key has 1 to {_KEY_MAX} characters", "use a UUID")
    caller, now = _caller(session), to_datetime(session.journal.clock.now())
    with session.journal.exclusive_session() as records:
        known = keyed_request(records, caller, key)
        if known is not None and now - known.began_at < KEPT_FOR:
            if known.digest != digest:
                raise _bad_key(
                    "the Idempotency-Key was used for another request", "use a new key for this one"
                )
            if known.status is not None:
                return known
            if now - known.began_at < _ABANDONED_AFTER:
                raise PalimpsestError(
                    Code.SERIALIZATION,
                    "the request of this Idempotency-Key still runs",
                    advice="send it again in a while, for its answer",
                )
        put_keyed_request(records, KeyedRequest(caller, key, digest, now))
        records.commit()
    return None


def end(
    session: Session, key: str, digest: str, status: int, kind: str | None, answer: str
) -> None:
    """Keep the answer of a request."""
    caller, now = _caller(session), to_datetime(session.journal.clock.now())
    with session.journal.exclusive_session() as records:
        put_keyed_request(records, KeyedRequest(caller, key, digest, now, status, kind, answer))
        records.commit()


def forget(session: Session, key: str) -> None:
    """Let a key be free again, as its request was refused."""
    with session.journal.exclusive_session() as records:
        forget_keyed_request(records, _caller(session), key)
        records.commit()


def _caller(session: Session) -> str:
    return session.recorded_user or system_user()


def _bad_key(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.HTTP_REQUEST, message, advice=advice)
