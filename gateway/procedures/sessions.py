"""CALL system.cancel(id) and system.terminate(id): stops statements, ends sessions."""

from __future__ import annotations

from gateway.activity.activity import Activity, SessionActivity
from gateway.jobs.arguments import argument_error
from journal.model.errors import Code, PalimpsestError


def cancel_session(activity: Activity, own: SessionActivity, number: object) -> str:
    """Stop what a session runs: ``cancelled``, or ``idle`` where it ran nothing.

    Raises SETTING_VALUE for a number that is no other session's.
    """
    found = _other_session(activity, own, number)
    was_active = found.state == "active"
    watched = found.session()
    if watched is not None:
        watched.cancel()
    return "cancelled" if was_active else "idle"


def terminate_session(activity: Activity, own: SessionActivity, number: object) -> str:
    """End the connection of a session's client, whose transaction is rolled back.

    Raises SETTING_VALUE for a number that is no other session's, and NOT_SUPPORTED for a session of
    the process that has the warehouse open.
    """
    found = _other_session(activity, own, number)
    if found.terminate is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"session {found.id} has no connection: it is one of the process that has the"
            " warehouse open",
            advice=f"CALL system.cancel({found.id}) stops its statement; or end that process",
        )
    watched = found.session()
    found.terminate()
    if watched is not None:
        watched.cancel()
    return "terminated"


def _other_session(activity: Activity, own: SessionActivity, number: object) -> SessionActivity:
    """The session of the number that was given; raises SETTING_VALUE without one."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise argument_error(
            "the number of a session is needed",
            "SELECT id, state, statement FROM system.sessions lists them",
        )
    found = activity.get(number)
    if found is None:
        raise argument_error(
            f"there is no session {number}", "SELECT * FROM system.sessions lists those that are"
        )
    if found is own:
        raise argument_error(
            f"session {number} is your own", "name another; close the connection to end your own"
        )
    return found
