"""``pg_cancel_backend`` and ``pg_terminate_backend``: stop statements, end sessions.

The catalog's engine gives the number that a call names; what is done to the session of that number
comes after, outside of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import pyarrow as pa
from sqlglot import exp

from gateway.activity.activity import Activity, ActivityReader, SessionActivity
from gateway.procedures.sessions import cancel_session, terminate_session
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError

_ACTS: dict[str, Callable[[Activity, SessionActivity, object], str]] = {
    "pg_cancel_backend": cancel_session,
    "pg_terminate_backend": terminate_session,
}


def signal_columns(query: exp.Expr) -> dict[int, str]:
    """The places among a query's columns that are calls of these functions, and their names.

    Raises NOT_SUPPORTED for a call that is no column by itself, as nobody could tell how often the
    engine would make it, and for one after a ``*``, which moves it to a place not known here.
    """
    calls = [c for c in query.find_all(exp.Anonymous) if c.name.lower() in _ACTS]
    if not calls:
        return {}
    shown = query.selects if isinstance(query, exp.Select) else []
    found = {
        place: value.unalias().name.lower()
        for place, value in enumerate(takewhile(lambda value: not value.is_star, shown))
        if any(value.unalias() is call for call in calls)
    }
    if len(found) < len(calls):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "pg_cancel_backend and pg_terminate_backend are called as columns of a SELECT only,"
            " and before any *",
            advice="write SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ..",
        )
    return found


def send_signals(session: Session, function: str, numbers: pa.ChunkedArray) -> pa.Array:
    """Cancel or end the sessions of these numbers; for each whether there was such a session.

    Raises PRIVILEGE for a session of another role, unless ``session`` holds ADMIN.
    """
    return pa.array(
        [_send(session, function, number) for number in numbers.to_pylist()], pa.bool_()
    )


def _send(session: Session, function: str, number: int | None) -> bool | None:
    if number is None:
        return None
    activity, settings = session.executor.activity, session.settings
    found = activity.get(number)
    if found is None:
        return False
    is_admin = session.catalog.rights_of(settings.role).is_admin
    if not ActivityReader(is_admin, settings.login_role).sees(found):
        raise PalimpsestError(
            Code.PRIVILEGE,
            f"permission denied to stop session {number}, which is of another role",
            advice="it takes ADMIN; a role stops its own sessions",
        )
    try:
        _ACTS[function](activity, session.activity, number)
    except PalimpsestError as error:
        if error.code is Code.NOT_SUPPORTED:
            return False  # The process itself, which no client's connection holds.
        raise
    return True
